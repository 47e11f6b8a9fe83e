"""Pages of the guide: reading order and search."""
