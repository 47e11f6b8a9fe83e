"""Finds the texts that the window says, and keeps their translations."""
