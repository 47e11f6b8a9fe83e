"""Charts as SVG, and the report of a run as one HTML file; knows no Qt."""
