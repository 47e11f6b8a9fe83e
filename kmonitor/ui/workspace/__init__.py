"""State of a window's hubs, updated by their messages."""
