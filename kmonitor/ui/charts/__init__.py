"""Charts of the window: their kinds, their content for the selected runs, and their series.

The layout and painting of one chart are in `kmonitor.ui.plots`.
"""
