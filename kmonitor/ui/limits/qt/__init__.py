"""Menu of the actions at limits."""
