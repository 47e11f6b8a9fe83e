"""Where a curve runs through a band of the plot, so that words need not stand on it."""

from itertools import pairwise

import numpy as np

from kmonitor.ui.plots.chart_state import CurvePicture
from kmonitor.ui.plots.labels import Span
from kmonitor.ui.plots.plot_frame import PlotFrame


def spans_in_band(curve: CurvePicture, frame: PlotFrame, band: Span) -> list[Span]:
    """From and to, horizontally, of each part of a curve in a band.

    Args:
        curve: Its points.
        frame: Of the plot.
        band: Upper and lower edge, pixels.
    """
    if len(curve.x) < 2:  # noqa: PLR2004 - a line has two ends
        return []
    x = frame.left + (curve.x - frame.x_lo) / (frame.x_hi - frame.x_lo) * frame.width
    y = frame.bottom - (curve.y - frame.y_lo) / (frame.y_hi - frame.y_lo) * frame.height
    upper, lower = np.minimum(y[:-1], y[1:]), np.maximum(y[:-1], y[1:])
    # Where a value is missing neither holds.
    meets = (upper <= band[1]) & (lower >= band[0])
    edges = np.flatnonzero(np.diff(np.concatenate(([False], meets, [False]))))
    return [(float(x[a]), float(x[b])) for a, b in list(pairwise(edges))[::2]]
