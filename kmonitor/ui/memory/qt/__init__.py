"""The memory map: icicle, totals, what-if controls, model files."""
