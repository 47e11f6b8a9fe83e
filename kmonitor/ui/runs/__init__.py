"""Runs, their states, commands and readings."""
