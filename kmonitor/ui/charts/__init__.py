"""Charts of the window: which there are, what they show of the selected runs, and their series.

How one chart is laid out and painted is in `kmonitor.ui.plots`.
"""
