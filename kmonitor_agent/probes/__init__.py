"""Readings of process, control group, device, heap and step times, with their sources."""
