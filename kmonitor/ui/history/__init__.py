"""All runs as a table: filters, order, selection."""
