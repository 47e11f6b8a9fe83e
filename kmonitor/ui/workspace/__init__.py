"""All that one window knows of its hubs, updated by their messages."""
