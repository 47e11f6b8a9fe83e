"""Buttons that send commands to a run, and their confirmations."""
