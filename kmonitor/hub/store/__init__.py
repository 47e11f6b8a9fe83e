"""Storage of the history: one SQLite database, one writer, readers that never block it."""
