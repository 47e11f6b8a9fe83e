"""Painting and pointer handling of one chart; the only package that imports pyqtgraph."""
