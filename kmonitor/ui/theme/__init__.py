"""Colours and sizes, dark and light."""
