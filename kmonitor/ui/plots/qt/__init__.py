"""Painting and pointing in one chart; alone imports pyqtgraph."""
