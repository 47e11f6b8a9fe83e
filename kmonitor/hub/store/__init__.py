"""What the hub keeps: one SQLite database, one writer, and readers that never block it."""
