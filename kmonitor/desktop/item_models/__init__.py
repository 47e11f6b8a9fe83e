"""Item models: what Qt's views show, changed by inserts and removals only."""
