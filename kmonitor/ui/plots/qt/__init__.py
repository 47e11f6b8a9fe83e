"""Painting and pointing in one chart.

Curves, limit line, crosshair. The only importer of pyqtgraph.
"""
