"""The evidence of a verdict in a window."""
