"""Verdicts and forecasts as text, with their evidence."""
