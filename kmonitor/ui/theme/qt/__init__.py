"""Palette, icons, fonts and style sheet applied to widgets."""
