"""Verdicts from series: growth, leaks, slowdowns, stalls, diagnosis and forecast."""
