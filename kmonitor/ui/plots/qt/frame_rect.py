"""A plot's place as Qt's rectangle."""

from PySide6.QtCore import QRectF

from kmonitor.ui.plots.plot_frame import PlotFrame


def frame_rect(frame: PlotFrame) -> QRectF:
    """The plot area in its widget."""
    return QRectF(frame.left, frame.top, frame.width, frame.height)
