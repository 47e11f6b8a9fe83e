"""Menu of what happens at a limit."""
