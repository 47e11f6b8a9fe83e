"""From a picture and a size to a scene: axes, margins, room for names."""

from dataclasses import replace

from PySide6.QtCore import QSizeF

from kmonitor.ui.plots.chart_frame import lay_out
from kmonitor.ui.plots.chart_state import ChartPicture
from kmonitor.ui.plots.layout import spread_range
from kmonitor.ui.plots.qt.backdrop import Scene, left_margin
from kmonitor.ui.plots.qt.chart_colours import ChartColours
from kmonitor.ui.plots.qt.overlay import GRIP_WIDTH_PX, name_width

_DOT_ROOM_PX = 6.0
_MOST_NAMES_PART = 0.3


def scene_for(picture: ChartPicture, size: QSizeF, colours: ChartColours) -> Scene:
    """Everything in its place for a widget of this size."""
    frame, across, upwards = lay_out(
        picture,
        (size.width(), size.height()),
        left=lambda axis: left_margin(axis, colours),
        room=lambda width: min(_room_for_ends(picture, width, colours), _MOST_NAMES_PART * width),
    )
    return Scene(picture=picture, frame=frame, x_axis=across, y_axis=upwards, colours=colours)


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
