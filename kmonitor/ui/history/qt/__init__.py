"""The page of all runs: filters, table, notes."""
