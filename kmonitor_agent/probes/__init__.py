"""Readings of process and device, each with its source or the reason of its absence."""
