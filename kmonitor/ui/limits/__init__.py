"""Limits in force and pending, as text and on charts."""
