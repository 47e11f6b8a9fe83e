"""Runs compared: the table of differences and curves in one chart."""
