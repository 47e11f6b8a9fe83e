"""Where the hub stores history: one SQLite database, one writer, readers that never block it."""
