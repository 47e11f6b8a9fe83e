"""From a picture and a size to a scene: axes, margins, room for names."""

from dataclasses import replace

from PySide6.QtCore import QSizeF

from kmonitor.desktop.plots.backdrop import Scene, left_margin
from kmonitor.desktop.plots.chart_colours import ChartColours
from kmonitor.desktop.plots.overlay import GRIP_WIDTH_PX, name_width
from kmonitor.presenters.axis_ticks import x_axis
from kmonitor.presenters.chart_axes import spread_range, y_axis_of
from kmonitor.presenters.chart_picture import ChartPicture
from kmonitor.presenters.plot_frame import BOTTOM_PX, RIGHT_PX, TOP_PX, PlotFrame

_LEAST_PLOT_PX = 40.0
_DOT_ROOM_PX = 6.0
_MOST_NAMES_PART = 0.3


def scene_for(picture: ChartPicture, size: QSizeF, colours: ChartColours) -> Scene:
    """Everything in its place for a widget of this size."""
    height = max(size.height() - TOP_PX - BOTTOM_PX, _LEAST_PLOT_PX)
    y_axis = y_axis_of(picture, height)
    left = left_margin(y_axis, colours)
    width = max(size.width() - left - RIGHT_PX, _LEAST_PLOT_PX)
    lo, hi = spread_range(picture.x_range)
    room = min(_room_for_ends(picture, width, colours), _MOST_NAMES_PART * width)
    x_hi = hi + (hi - lo) * room / (width - room)
    frame = PlotFrame(
        left=left,
        top=TOP_PX,
        width=width,
        height=height,
        x_lo=lo,
        x_hi=x_hi,
        y_lo=y_axis.lo,
        y_hi=y_axis.hi,
        data_width=width - room,
    )
    return Scene(
        picture=picture,
        frame=frame,
        x_axis=x_axis(picture.x_kind, lo, x_hi, width_px=width),
        y_axis=y_axis,
        colours=colours,
    )


def with_limit_value(picture: ChartPicture, value: float, text: str) -> ChartPicture:
    """The same picture with its limit line elsewhere, while it is dragged."""
    if picture.limit is None:
        return picture
    return replace(picture, limit=replace(picture.limit, value=value, text=text))


def _room_for_ends(picture: ChartPicture, width: float, colours: ChartColours) -> float:
    """How much of the width names and newest dots need beyond the range, pixels."""
    lo, hi = spread_range(picture.x_range)
    room, limit = 0.0, picture.limit
    # The grip beside the newest dot, not on it.
    has_grip = limit is not None and limit.is_draggable
    least = GRIP_WIDTH_PX + _DOT_ROOM_PX + 2.0 if has_grip else _DOT_ROOM_PX
    ends = [
        (float(curve.x[-1]), max(least, name_width(curve, colours)))
        for curve in picture.curves
        if len(curve.x)
    ]
    if picture.forecast is not None and picture.forecast.x_meets <= hi:
        ends.append((picture.forecast.x_meets, least))
    for x, wanted in ends:
        part = (min(x, hi) - lo) / (hi - lo)
        # The line's end is at `part` of what is left after the room itself.
        if part > 0.0:
            room = max(room, width - (width - wanted) / part)
    return room
