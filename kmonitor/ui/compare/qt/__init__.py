"""Runs side by side: legend and table."""
