"""Verdicts and forecasts in words, with their evidence."""
