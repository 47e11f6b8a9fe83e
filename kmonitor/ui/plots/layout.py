"""What of a picture decides how its axes are laid out."""

import math
from typing import Final

import numpy as np

from kmonitor.ui.plots.axes import Axis, axis_between, log_axis, value_axis
from kmonitor.ui.plots.chart_state import ChartPicture, CurvePicture, FloatArray

_LEAST_MARK_GAP_PX: Final = 3.0


def y_axis_of(picture: ChartPicture, height_px: float) -> Axis:
    """The vertical axis that holds curves, limit and forecast.

    Args:
        picture: What is shown.
        height_px: Height of the plot, pixels.
    """
    if picture.y_range is not None:
        lo, hi = spread_range(picture.y_range)
        return axis_between(lo, hi, unit=picture.unit, height_px=height_px)
    extremes = [e for curve in picture.curves for e in _extremes(curve.y)] or [0.0]
    if picture.is_log:
        return log_axis(min(extremes), max(extremes), height_px=height_px)
    limit = picture.limit.value if picture.limit is not None else None
    forecast = picture.forecast
    if forecast is not None:
        end = forecast.y_at(picture.x_range[1])
        extremes.append(end)
        if end >= forecast.limit:
            # Its words stand above it.
            limit = max(limit or 0.0, forecast.limit)
    return value_axis(
        min(extremes), max(extremes), unit=picture.unit, height_px=height_px, limit=limit
    )


def _extremes(y: FloatArray) -> tuple[float, ...]:
    """The lowest and the highest number; none where there is none."""
    if not len(y):
        return ()
    found = float(np.fmin.reduce(y)), float(np.fmax.reduce(y))
    if math.isinf(found[0]) or math.isinf(found[1]):
        return _extremes(y[np.isfinite(y)])
    return () if math.isnan(found[0]) else found


def spread_range(span: tuple[float, float]) -> tuple[float, float]:
    """The range, or one of width 1 where it is empty: a chart needs a scale."""
    lo, hi = span
    return (lo, hi) if hi > lo else (lo, lo + 1.0)


def last_there(curve: CurvePicture, x_to: float) -> int:
    """Index of the last point up to there that is no gap; -1 for none."""
    index = int(np.searchsorted(curve.x, x_to, side="right")) - 1
    while index >= 0 and not math.isfinite(curve.y[index]):
        index -= 1
    return index


def mark_stride(px_a_mark: float) -> int:
    """Of marks so far apart only each 2nd, 5th, 10th ... is drawn, or they merge into a bar."""
    strides = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    return next((n for n in strides if n * px_a_mark >= _LEAST_MARK_GAP_PX), 2000)
