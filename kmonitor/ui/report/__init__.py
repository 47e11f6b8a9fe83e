"""A run or a study as one HTML file, a chart as SVG; the same state that the window shows."""
