"""From a picture and a size to frame and axes; the window and files lay charts out alike."""

from collections.abc import Callable
from typing import Final

from kmonitor.ui.plots.axes import Axis, x_axis
from kmonitor.ui.plots.chart_state import ChartPicture
from kmonitor.ui.plots.layout import spread_range, y_axis_of
from kmonitor.ui.plots.plot_frame import BOTTOM_PX, RIGHT_PX, TOP_PX, PlotFrame

LEAST_PLOT_PX: Final = 40.0


def lay_out(
    picture: ChartPicture,
    size: tuple[float, float],
    *,
    left: Callable[[Axis], float],
    room: Callable[[float], float],
) -> tuple[PlotFrame, Axis, Axis]:
    """Frame, horizontal and vertical axis.

    Args:
        picture: What is shown.
        size: Width and height of the whole, pixels.
        left: Margin that the labels of a vertical axis need, pixels.
        room: Of a width, how much the right end needs for names and dots, pixels.
    """
    height = max(size[1] - TOP_PX - BOTTOM_PX, LEAST_PLOT_PX)
    y_axis = y_axis_of(picture, height)
    margin = left(y_axis)
    width = max(size[0] - margin - RIGHT_PX, LEAST_PLOT_PX)
    lo, hi = spread_range(picture.x_range)
    at_end = room(width)
    x_hi = hi + (hi - lo) * at_end / (width - at_end)
    frame = PlotFrame(
        left=margin,
        top=TOP_PX,
        width=width,
        height=height,
        x_lo=lo,
        x_hi=x_hi,
        y_lo=y_axis.lo,
        y_hi=y_axis.hi,
        data_width=width - at_end,
    )
    return frame, x_axis(picture.x_kind, lo, x_hi, width_px=width), y_axis
