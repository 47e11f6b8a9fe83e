"""Layout of a chart: position of the plot in its widget, and the axes."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from kmonitor.ui.plots.axes import Axis, axis_between, log_axis, value_axis, x_axis
from kmonitor.ui.plots.chart_state import ChartState, CurveState, FloatArray

TOP_PX = 8.0
"""Margin above the plot: half a tick label, pixels."""

BOTTOM_PX = 22.0
"""Margin below the plot: one row of labels, pixels."""

RIGHT_PX = 4.0
"""Margin right of the plot, pixels."""

LEAST_PLOT_PX: Final = 40.0


@dataclass(frozen=True, slots=True)
class PlotFrame:
    """One plot area and the ranges that it shows.

    Attributes:
        left, top, width, height: Geometry of the plot in its picture, pixels.
        x_lo, x_hi: Horizontal range, including room for names at the right.
        y_lo, y_hi: Vertical range.
        data_width: Part of `width` that shows the picture's own range, pixels.
    """

    left: float
    top: float
    width: float
    height: float
    x_lo: float
    x_hi: float
    y_lo: float
    y_hi: float
    data_width: float

    @property
    def right(self) -> float:
        """Right edge, pixels."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Lower edge, pixels."""
        return self.top + self.height

    def x_px(self, x: float) -> float:
        """Position of a value of the horizontal axis, pixels."""
        return self.left + (x - self.x_lo) / (self.x_hi - self.x_lo) * self.width

    def y_px(self, y: float) -> float:
        """Position of a value of the vertical axis, pixels."""
        return self.bottom - (y - self.y_lo) / (self.y_hi - self.y_lo) * self.height

    def x_at(self, px: float) -> float:
        """The value of the horizontal axis at a pixel."""
        return self.x_lo + (px - self.left) / self.width * (self.x_hi - self.x_lo)

    def y_at(self, px: float) -> float:
        """The value of the vertical axis at a pixel, also beyond the plot."""
        return self.y_lo + (self.bottom - px) / self.height * (self.y_hi - self.y_lo)


def lay_out_chart(
    state: ChartState,
    size: tuple[float, float],
    *,
    left: Callable[[Axis], float],
    room: Callable[[float], float],
    top: float = TOP_PX,
) -> tuple[PlotFrame, Axis, Axis]:
    """Return the frame, the horizontal and the vertical axis of a chart.

    Args:
        size: Width and height of the whole chart, pixels.
        left: Returns the margin that the labels of a vertical axis need, pixels.
        room: Returns the part of a width needed at the right end for names and dots, pixels.
        top: Height of the space above the plot, pixels.
    """
    height = max(size[1] - top - BOTTOM_PX, LEAST_PLOT_PX)
    y_axis = y_axis_of(state, height)
    margin = left(y_axis)
    width = max(size[0] - margin - RIGHT_PX, LEAST_PLOT_PX)
    lo, hi = spread_range(state.x_range)
    at_end = room(width)
    x_hi = hi + (hi - lo) * at_end / (width - at_end)
    frame = PlotFrame(
        left=margin,
        top=top,
        width=width,
        height=height,
        x_lo=lo,
        x_hi=x_hi,
        y_lo=y_axis.lo,
        y_hi=y_axis.hi,
        data_width=width - at_end,
    )
    return frame, x_axis(state.x_kind, lo, x_hi, width_px=width), y_axis


def y_axis_of(state: ChartState, height_px: float) -> Axis:
    """Return the vertical axis that fits curves, limit and forecast.

    Args:
        height_px: Height of the plot, pixels.
    """
    if state.y_range is not None:
        lo, hi = spread_range(state.y_range)
        return axis_between(lo, hi, unit=state.unit, height_px=height_px)
    extremes = [e for curve in state.curves for e in _finite_extremes(curve.y)] or [0.0]
    if state.stack.layers:
        extremes.append(state.stack.highest)
    if state.is_log:
        return log_axis(min(extremes), max(extremes), height_px=height_px)
    limit = state.limit.value if state.limit is not None else None
    forecast = state.forecast
    if forecast is not None:
        end = forecast.y_at(state.x_range[1])
        extremes.append(end)
        if end >= forecast.limit:
            # Its text is above it.
            limit = max(limit or 0.0, forecast.limit)
    return value_axis(
        min(extremes), max(extremes), unit=state.unit, height_px=height_px, limit=limit
    )


def _finite_extremes(y: FloatArray) -> tuple[float, ...]:
    """Lowest and highest finite number; empty where there is none."""
    if not len(y):
        return ()
    found = float(np.fmin.reduce(y)), float(np.fmax.reduce(y))
    if math.isinf(found[0]) or math.isinf(found[1]):
        return _finite_extremes(y[np.isfinite(y)])
    return () if math.isnan(found[0]) else found


def spread_range(span: tuple[float, float]) -> tuple[float, float]:
    """The range, or one of width 1 if the range is empty: a chart needs a scale."""
    lo, hi = span
    return (lo, hi) if hi > lo else (lo, lo + 1.0)


def zoomed(span: tuple[float, float], *, around: float, factor: float) -> tuple[float, float]:
    """A range scaled to `factor` times its width around the fixed point `around`."""
    lo, hi = span
    return around - (around - lo) * factor, around + (hi - around) * factor


def last_finite_index(curve: CurveState, x_to: float) -> int:
    """Index of the last point up to `x_to` that is no gap; -1 for none."""
    index = int(np.searchsorted(curve.x, x_to, side="right")) - 1
    while index >= 0 and not math.isfinite(curve.y[index]):
        index -= 1
    return index


def mark_stride(px_a_mark: float, *, least_px: float = 3.0) -> int:
    """Stride of drawn marks: only each 2nd, 5th, 10th ... is drawn where all would merge."""
    strides = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    return next((n for n in strides if n * px_a_mark >= least_px), 2000)
