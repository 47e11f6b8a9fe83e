"""Numbers, sizes, times and messages as text, in the chosen language."""
