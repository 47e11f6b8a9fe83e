"""What is told about the thing under the pointer."""

from PySide6.QtCore import QPointF

from kmonitor.desktop.plots.backdrop import Scene
from kmonitor.desktop.plots.overlay import FLAG_HEIGHT_PX, placed_flags

_NEAR_POLE_PX = 4.0


def text_at(scene: Scene, at: QPointF) -> str:
    """The tooltip of the flag or gap there; empty where there is nothing to tell."""
    frame = scene.frame
    for flag, place in reversed(placed_flags(scene)):
        on_label = place.width > 0.0 and (
            place.span[0] <= at.x() <= place.span[1]
            and frame.top <= at.y() <= frame.top + FLAG_HEIGHT_PX
        )
        if on_label or abs(at.x() - place.x) <= _NEAR_POLE_PX:
            return flag.tooltip
    for gap in scene.picture.gaps:
        if frame.x_px(gap.x_from) <= at.x() <= frame.x_px(gap.x_to):
            return gap.text
    return ""
