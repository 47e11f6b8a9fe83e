"""What is told about the thing under the pointer."""

from PySide6.QtCore import QPointF

from kmonitor.ui.plots.chart_state import FlagPicture
from kmonitor.ui.plots.qt.backdrop import Scene
from kmonitor.ui.plots.qt.overlay import FLAG_HEIGHT_PX, placed_flags

_NEAR_POLE_PX = 6.0
_BELOW_LABEL_PX = 4.0


def flag_at(scene: Scene, at: QPointF) -> FlagPicture | None:
    """The flag there, by its label or else by the nearest pole; None beside all."""
    frame, near = scene.frame, list[tuple[float, FlagPicture]]()
    if not frame.top - _BELOW_LABEL_PX <= at.y() <= frame.bottom:
        return None
    for flag, place in reversed(placed_flags(scene)):
        is_high = at.y() <= frame.top + FLAG_HEIGHT_PX + _BELOW_LABEL_PX
        if place.width > 0.0 and is_high and place.span[0] <= at.x() <= place.span[1]:
            return flag
        if abs(at.x() - place.x) <= _NEAR_POLE_PX:
            near.append((abs(at.x() - place.x), flag))
    return min(near, key=_distance)[1] if near else None


def text_at(scene: Scene, at: QPointF) -> str:
    """The tooltip of the flag or gap there; empty where there is nothing to tell."""
    flag = flag_at(scene, at)
    if flag is not None:
        return flag.tooltip
    frame = scene.frame
    for gap in scene.picture.gaps:
        if frame.x_px(gap.x_from) <= at.x() <= frame.x_px(gap.x_to):
            return gap.text
    return ""


def _distance(entry: tuple[float, FlagPicture]) -> float:
    return entry[0]
