"""Moving a chart's limit line: its value meanwhile, the grip at its end, and the owner of both.

A chart holds a `LimitDragControl`; `LimitDrag` knows no widget.
"""

from dataclasses import replace

from PySide6.QtCore import QEvent, QLineF, QObject, QPointF, QRectF, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QColor,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from kmonitor.ui.plots.axes import AIR_PX
from kmonitor.ui.plots.chart_state import ChartState, LimitLineState
from kmonitor.ui.plots.layout import PlotFrame
from kmonitor.ui.plots.qt.scene import GRIP_HEIGHT_PX, GRIP_WIDTH_PX, Scene, limit_y
from kmonitor.ui.text.formats import amount_text


class LimitDrag:
    """One move of the limit line, by mouse or keys, from its start until it is dropped.

    The scale stays as at the start, or the line would move away from the pointer.

    Attributes:
        value: Current value of the line, in the chart's unit, rounded to `quantum`.
    """

    def __init__(self, frame: PlotFrame, value: float, *, quantum: float) -> None:
        self.value = value
        self._frame = frame
        self._quantum = quantum
        self._offset_px = 0.0

    def grab(self, y_px: float) -> None:
        """Grab the line at this height; the line does not jump to the pointer."""
        line_px = min(max(self._frame.y_px(self.value), self._frame.top), self._frame.bottom)
        self._offset_px = line_px - y_px

    def move_to(self, y_px: float) -> None:
        """Follow the pointer, also beyond the top of the plot."""
        self._set(self._frame.y_at(y_px + self._offset_px))

    def step(self, n: int) -> None:
        """Move by `n` quanta."""
        self._set(self.value + n * self._quantum)

    def y_range(self) -> tuple[float, float]:
        """Range to show: that of the start, extended at the top if the line is above it."""
        frame = self._frame
        room = frame.height / max(frame.height - AIR_PX, 1.0)
        top = frame.y_lo + (self.value - frame.y_lo) * room
        return frame.y_lo, top if self.value > frame.y_hi else frame.y_hi

    def _set(self, value: float) -> None:
        # A limit at or below the axis' start would look like none.
        least = max(self._frame.y_lo, 0.0) + self._quantum
        self.value = max(least, round(value / self._quantum) * self._quantum)


_NEAR_LINE_PX = 5.0
_KEYS_SETTLE_MS = 700


class LimitDragControl(QObject):
    """Owns the grip and the value while the line is moved; main thread only.

    Signals, all from the main thread:
        moved(value): The line is being moved; the chart should redraw itself.
        dropped(value): The line was released at another value than before.
        cancelled(): The line returned to its old value; the chart should redraw itself.
    """

    moved = Signal(float)
    dropped = Signal(float)
    cancelled = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.is_held = False
        self._scene: Scene | None = None
        self._limit: LimitLineState | None = None
        self._drag: LimitDrag | None = None
        self._handle = LimitHandle(parent)
        self._settle = QTimer(self, singleShot=True, interval=_KEYS_SETTLE_MS)
        self._settle.timeout.connect(self.release)
        self._handle.grabbed.connect(self.grab)
        self._handle.moved.connect(self.move)
        self._handle.released.connect(self.release)
        self._handle.confirmed.connect(self.release)
        self._handle.stepped.connect(self._on_handle_stepped)
        self._handle.cancelled.connect(self._on_handle_cancelled)

    @property
    def is_dropped(self) -> bool:
        """True if the line was released and no new state was set since."""
        return self._drag is not None and not self.is_held

    def set_state(self, state: ChartState) -> None:
        """Take a new state; its limit applies unless the line is held."""
        self._limit = state.limit
        if not self.is_held:
            self._drag = None

    def as_moved(self, state: ChartState) -> ChartState:
        """The state with its limit line at the dragged value."""
        drag = self._drag
        if drag is None or state.limit is None:
            return state
        value = amount_text(drag.value, state.unit)
        text = self.tr("limit {value}").format(value=value)
        return replace(state.with_limit_value(drag.value, text), y_range=drag.y_range())

    def show_scene(self, scene: Scene) -> None:
        """Move the grip to the line."""
        self._scene = scene
        limit = scene.chart_state.limit
        y = limit_y(scene)
        colours = scene.colours
        if limit is None or y is None or not limit.is_draggable:
            self._handle.hide()
            return
        self._handle.set_colours(
            colours.colour(limit.colour), colours.colour("card"), colours.colour("accent")
        )
        self._handle.move_to(scene.frame.right, y)
        self._handle.announce(
            f"{scene.chart_state.title} {limit.text}".strip(),
            self.tr("Drag to move the limit, or use the Up and Down keys and Enter"),
        )
        self._handle.show()

    def is_near(self, at: QPointF) -> bool:
        """True if the line can be grabbed at this point."""
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
        """Grab the line at this height of the chart, pixels."""
        drag = self._begin()
        if drag is not None:
            drag.grab(y)

    @Slot(float)
    def move(self, y: float) -> None:
        """Move the held line to this height, pixels."""
        drag = self._drag
        if self.is_held and drag is not None:
            drag.move_to(y)
            self.moved.emit(drag.value)

    @Slot()
    def release(self) -> None:
        """Release the line and apply its value."""
        self._settle.stop()
        drag = self._drag
        limit = self._limit
        if not self.is_held or drag is None:
            return
        self.is_held = False
        if limit is not None and drag.value != limit.value:
            self.dropped.emit(drag.value)

    @Slot(int)
    def _on_handle_stepped(self, n: int) -> None:
        drag = self._begin()
        if drag is not None:
            drag.step(n)
            self._settle.start()
            self.moved.emit(drag.value)

    @Slot()
    def _on_handle_cancelled(self) -> None:
        self._settle.stop()
        self.is_held = False
        self._drag = None
        self.cancelled.emit()

    def _begin(self) -> LimitDrag | None:
        limit = self._draggable()
        scene = self._scene
        if limit is None or scene is None:
            return None
        if not self.is_held:
            self._drag = LimitDrag(scene.frame, limit.value, quantum=scene.y_axis.quantum)
            self.is_held = True
        return self._drag

    def _draggable(self) -> LimitLineState | None:
        return self._limit if self._limit is not None and self._limit.is_draggable else None


_HANDLE_MARGIN_PX = 3

_KEY_STEPS = {
    Qt.Key.Key_Up: 2,
    Qt.Key.Key_Down: -2,
    Qt.Key.Key_PageUp: 20,
    Qt.Key.Key_PageDown: -20,
}


class LimitHandle(QWidget):
    """The grip: emits the user's changes of the limit line; holds no value itself.

    Signals, all from the main thread:
        grabbed(y): Pressed; y in the chart's pixels.
        moved(y): Dragged to y with the button held.
        released(): The button was released; the value applies.
        stepped(n): A key moved the line by n quanta, down when negative.
        confirmed(): Enter: the value set by keys applies.
        cancelled(): Escape: the value before applies.
    """

    grabbed = Signal(float)
    moved = Signal(float)
    released = Signal()
    stepped = Signal(int)
    confirmed = Signal()
    cancelled = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._line = QColor()
        self._card = QColor()
        self._focus = QColor()
        self._has_ring = False
        self.setFixedSize(
            int(GRIP_WIDTH_PX) + 2 * _HANDLE_MARGIN_PX, int(GRIP_HEIGHT_PX) + 2 * _HANDLE_MARGIN_PX
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.SizeVerCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.hide()

    def set_colours(self, line: QColor, card: QColor, focus: QColor) -> None:
        """Set the colours of the pill's line, inside and focus ring."""
        if (line, card, focus) != (self._line, self._card, self._focus):
            self._line = line
            self._card = card
            self._focus = focus
            self.update()

    def move_to(self, right: float, y: float) -> None:
        """Move the pill's right edge and middle to this point, in the chart's pixels."""
        self.move(round(right) - self.width() + _HANDLE_MARGIN_PX, round(y) - self.height() // 2)

    def announce(self, name: str, description: str) -> None:
        """Announce the line's text to assistive technology."""
        if name != self.accessibleName():
            self.setAccessibleName(name)
            self.setAccessibleDescription(description)
            self.setToolTip(description)
            QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.NameChanged))

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.grabbed.emit(self._chart_y(event))
            event.accept()

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self.moved.emit(self._chart_y(event))
            event.accept()

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.released.emit()
            event.accept()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in _KEY_STEPS:
            self.stepped.emit(_KEY_STEPS[key])
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}:
            self.confirmed.emit()
        elif key == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        # A ring for those who came by keyboard; the mouse shows where it is by itself.
        self._has_ring = is_keyboard_focus(event)
        super().focusInEvent(event)

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._has_ring = False
        self.confirmed.emit()
        super().focusOutEvent(event)

    @override
    def event(self, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.HoverEnter, QEvent.Type.HoverLeave}:
            self.update()
        return super().event(event)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pill = QRectF(self.rect()).adjusted(
            _HANDLE_MARGIN_PX + 0.5,
            _HANDLE_MARGIN_PX + 1.5,
            -_HANDLE_MARGIN_PX - 0.5,
            -_HANDLE_MARGIN_PX - 1.5,
        )
        if self._has_ring:
            painter.setPen(QPen(self._focus, 2.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            ring = pill.adjusted(-2.5, -2.5, 2.5, 2.5)
            painter.drawRoundedRect(ring, ring.height() / 2, ring.height() / 2)
        painter.setPen(QPen(self._line, 1.4))
        painter.setBrush(self._line if self.underMouse() else self._card)
        painter.drawRoundedRect(pill, pill.height() / 2, pill.height() / 2)
        painter.setPen(QPen(self._card if self.underMouse() else self._line, 1.2))
        middle = pill.center()
        for y in (middle.y() - 1.75, middle.y() + 1.75):
            painter.drawLine(QLineF(middle.x() - 4.5, y, middle.x() + 4.5, y))

    def _chart_y(self, event: QMouseEvent) -> float:
        return float(self.mapToParent(event.position()).y())


_KEYBOARD_REASONS = {
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
    Qt.FocusReason.OtherFocusReason,
}


def is_keyboard_focus(event: QFocusEvent) -> bool:
    """True if the focus needs a ring, since it was not set by a click."""
    return event.reason() in _KEYBOARD_REASONS
