"""The pill at the end of the limit line: dragged with the mouse, moved with the keyboard."""

from PySide6.QtCore import QEvent, QLineF, QRectF, Qt, Signal
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

from kmonitor.ui.plots.qt.focus import came_by_keyboard
from kmonitor.ui.plots.qt.overlay import GRIP_HEIGHT_PX, GRIP_WIDTH_PX

_MARGIN_PX = 3
_STEPS = {
    Qt.Key.Key_Up: 2,
    Qt.Key.Key_Down: -2,
    Qt.Key.Key_PageUp: 20,
    Qt.Key.Key_PageDown: -20,
}


class LimitGrip(QWidget):
    """Says what the user wants of the limit line; holds no value itself.

    Signals, all from the main thread:
        grabbed(y): Pressed; y in the chart's pixels.
        moved(y): Dragged there, the button is held.
        released(): Let go: the value counts.
        stepped(n): A key: n quanta up, or down when negative.
        confirmed(): Enter: the value set by keys counts.
        cancelled(): Escape: back to the value before.
    """

    grabbed = Signal(float)
    moved = Signal(float)
    released = Signal()
    stepped = Signal(int)
    confirmed = Signal()
    cancelled = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._line, self._card = QColor(), QColor()
        self._focus = QColor()
        self._has_ring = False
        self.setFixedSize(
            int(GRIP_WIDTH_PX) + 2 * _MARGIN_PX, int(GRIP_HEIGHT_PX) + 2 * _MARGIN_PX
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.SizeVerCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.hide()

    def set_look(self, line: QColor, card: QColor, focus: QColor) -> None:
        """Colours of the pill's line, its inside and its focus ring."""
        if (line, card, focus) != (self._line, self._card, self._focus):
            self._line, self._card, self._focus = line, card, focus
            self.update()

    def stand_at(self, right: float, y: float) -> None:
        """Stand with the pill's right edge and middle there, in the chart's pixels."""
        self.move(round(right) - self.width() + _MARGIN_PX, round(y) - self.height() // 2)

    def announce(self, name: str, description: str) -> None:
        """Tell assistive technology what the line says now."""
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
        if key in _STEPS:
            self.stepped.emit(_STEPS[key])
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}:
            self.confirmed.emit()
        elif key == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        # A ring for those who came by keyboard; the mouse shows where it is by itself.
        self._has_ring = came_by_keyboard(event)
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
            _MARGIN_PX + 0.5, _MARGIN_PX + 1.5, -_MARGIN_PX - 0.5, -_MARGIN_PX - 1.5
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
