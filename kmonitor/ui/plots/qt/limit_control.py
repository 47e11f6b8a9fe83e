"""How a user moves a chart's limit line: one state for grip, line and keys."""

from dataclasses import replace

from PySide6.QtCore import QObject, QPointF, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from kmonitor.ui.plots.chart_state import ChartPicture, LimitPicture
from kmonitor.ui.plots.qt.backdrop import Scene
from kmonitor.ui.plots.qt.chart_layout import with_limit_value
from kmonitor.ui.plots.qt.limit_drag import LimitDrag
from kmonitor.ui.plots.qt.limit_handle import LimitGrip
from kmonitor.ui.plots.qt.overlay import limit_colour, limit_y
from kmonitor.ui.text.formats import amount_text

_NEAR_LINE_PX = 5.0
_KEYS_SETTLE_MS = 700


class LimitControl(QObject):
    """Owns the grip and the value under way; main thread only.

    Signals, all from the main thread:
        moved(value): The line is being moved; the chart should draw itself anew.
        dropped(value): It was let go elsewhere than it was taken.
        cancelled(): It went back; the chart should draw itself anew.
    """

    moved = Signal(float)
    dropped = Signal(float)
    cancelled = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.is_held = False
        self._scene: Scene | None = None
        self._limit: LimitPicture | None = None
        self._drag: LimitDrag | None = None
        self._grip = LimitGrip(parent)
        self._settle = QTimer(self, singleShot=True, interval=_KEYS_SETTLE_MS)
        self._settle.timeout.connect(self.release)
        self._grip.grabbed.connect(self.grab)
        self._grip.moved.connect(self.move)
        self._grip.released.connect(self.release)
        self._grip.confirmed.connect(self.release)
        self._grip.stepped.connect(self._on_grip_stepped)
        self._grip.cancelled.connect(self._on_grip_cancelled)

    @property
    def is_dropped(self) -> bool:
        """Whether the line was let go and no picture has come since."""
        return self._drag is not None and not self.is_held

    def take_picture(self, picture: ChartPicture) -> None:
        """A new picture: it counts, unless the line is in somebody's hand."""
        self._limit = picture.limit
        if not self.is_held:
            self._drag = None

    def as_moved(self, picture: ChartPicture) -> ChartPicture:
        """The picture with its line where it is being moved to."""
        drag = self._drag
        if drag is None or picture.limit is None:
            return picture
        value = amount_text(drag.value, picture.unit)
        text = self.tr("limit {value}").format(value=value)
        return replace(with_limit_value(picture, drag.value, text), y_range=drag.y_range())

    def show_scene(self, scene: Scene) -> None:
        """Put the grip where the line is."""
        self._scene = scene
        limit, y, colours = scene.picture.limit, limit_y(scene), scene.colours
        if limit is None or y is None or not limit.is_draggable:
            self._grip.hide()
            return
        self._grip.set_look(
            limit_colour(limit, scene), colours.colour("card"), colours.colour("accent")
        )
        self._grip.stand_at(scene.frame.right, y)
        self._grip.announce(
            f"{scene.picture.title} {limit.text}".strip(),
            self.tr("Drag to move the limit, or use the Up and Down keys and Enter"),
        )
        self._grip.show()

    def is_near(self, at: QPointF) -> bool:
        """Whether the line can be taken there."""
        scene = self._scene
        y = limit_y(scene) if scene is not None else None
        return (
            scene is not None
            and y is not None
            and self._draggable() is not None
            and abs(at.y() - y) <= _NEAR_LINE_PX
            and scene.frame.left <= at.x() <= scene.frame.right
        )

    @Slot(float)
    def grab(self, y: float) -> None:
        """Take hold of the line at this height of the chart, pixels."""
        drag = self._begin()
        if drag is not None:
            drag.grab(y)

    @Slot(float)
    def move(self, y: float) -> None:
        """Move what is held to this height, pixels."""
        drag = self._drag
        if self.is_held and drag is not None:
            drag.move_to(y)
            self.moved.emit(drag.value)

    @Slot()
    def release(self) -> None:
        """Let go: from here on the value counts."""
        self._settle.stop()
        drag, limit = self._drag, self._limit
        if not self.is_held or drag is None:
            return
        self.is_held = False
        if limit is not None and drag.value != limit.value:
            self.dropped.emit(drag.value)

    @Slot(int)
    def _on_grip_stepped(self, n: int) -> None:
        drag = self._begin()
        if drag is not None:
            drag.step(n)
            self._settle.start()
            self.moved.emit(drag.value)

    @Slot()
    def _on_grip_cancelled(self) -> None:
        self._settle.stop()
        self.is_held, self._drag = False, None
        self.cancelled.emit()

    def _begin(self) -> LimitDrag | None:
        limit, scene = self._draggable(), self._scene
        if limit is None or scene is None:
            return None
        if not self.is_held:
            self._drag = LimitDrag(scene.frame, limit.value, quantum=scene.y_axis.quantum)
            self.is_held = True
        return self._drag

    def _draggable(self) -> LimitPicture | None:
        return self._limit if self._limit is not None and self._limit.is_draggable else None
