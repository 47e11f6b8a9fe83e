"""A single chart of any content: its state, axes, layout, labels and thinning, without Qt.

The choice of charts, and their content, is in `kmonitor.ui.charts`.
"""
