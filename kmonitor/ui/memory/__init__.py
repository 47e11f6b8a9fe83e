"""Memory maps: layers, totals, what-if, model files."""
