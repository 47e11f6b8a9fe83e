"""The chart that the window embeds: a widget that shows a `ChartState`, and its tooltips."""

from PySide6.QtCore import QEvent, QPointF, QSize, QSizeF, Qt, Signal, Slot
from PySide6.QtGui import (
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget
from typing_extensions import override

from kmonitor.ui.plots.chart_state import ChartState, CrosshairCard, FlagState
from kmonitor.ui.plots.layout import zoomed
from kmonitor.ui.plots.qt.chart_view import ChartView
from kmonitor.ui.plots.qt.crosshair import CrosshairLayer
from kmonitor.ui.plots.qt.limit_handle import LimitDragControl, is_keyboard_focus
from kmonitor.ui.plots.qt.overlay import FLAG_HEIGHT_PX, placed_flags
from kmonitor.ui.plots.qt.scene import ChartColours, Scene, frame_rect, scene_for

_PAN_FROM_PX = 4.0
_ZOOM_STEP = 0.8
_WHEEL_NOTCH = 120.0
_CROSSHAIR_STEP_PX = 4.0
_NOTHING = ChartState(unit="bytes", x_kind="epochs", x_range=(0.0, 1.0))


class LiveChart(QWidget):
    """Shows a `ChartState`; decides nothing about runs, units or limits. Main thread only.

    It never requests a repaint by itself: `set_state` redraws changed parts, and costs almost
    nothing for an equal state. While the limit line is moved, it follows the pointer regardless of
    new states; after the drop the next state applies.

    Signals, all from the main thread:
        limit_dragged(value): The limit line is being moved; value in the chart's unit.
        limit_dropped(value): The line was released or set by keys; request this limit from the
            agent.
        crosshair_moved(x): The pointer (or a key) is at x of the horizontal axis.
        crosshair_left(): The pointer has left the plot.
        range_zoomed(lo, hi): Wheel, drag or keys request this horizontal range; the next state
            should have it as `x_range`.
        zoom_reset(): Double click or key 0 requests the whole range.
        flag_clicked(row): A flag was clicked; row id of its record in the hub.
        resized(): The plot's width changed; curves should be thinned to the new width.
    """

    limit_dragged = Signal(float)
    limit_dropped = Signal(float)
    crosshair_moved = Signal(float)
    crosshair_left = Signal()
    range_zoomed = Signal(float, float)
    zoom_reset = Signal()
    flag_clicked = Signal(int)
    resized = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._colours = ChartColours()
        self.chart_state = _NOTHING
        self._pan_from: QPointF | None = None
        self._pan_range = (0.0, 1.0)
        self.crosshair_x: float | None = None
        self._view = ChartView(self)
        self.crosshair = CrosshairLayer(self)
        self._limit = LimitDragControl(self)
        # Above the grip, which would cover its numbers; it takes no mouse events.
        self.crosshair.raise_()
        self.scene = scene_for(_NOTHING, QSizeF(380.0, 240.0), self._colours)
        self._limit.moved.connect(self._on_limit_moved)
        self._limit.dropped.connect(self.limit_dropped)
        self._limit.cancelled.connect(self._refresh)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(110, 100)

    def set_theme(self, colours: ChartColours) -> None:
        self._colours = colours
        self._refresh()

    def set_state(self, state: ChartState) -> None:
        """Show a state; one that looks like the last costs almost nothing."""
        is_dropped = self._limit.is_dropped
        is_same = state is self.chart_state or state.is_painted_like(self.chart_state)
        self.chart_state = state
        self._limit.set_state(state)
        if is_same and not is_dropped:
            return
        if state.title and state.title != self.accessibleName():
            self.setAccessibleName(state.title)
        self._refresh()

    def set_crosshair(self, x: float | None, card: CrosshairCard | None = None) -> None:
        """Draw the crosshair at x of the horizontal axis, or none."""
        self.crosshair_x = x
        self.crosshair.show_crosshair(x, card or CrosshairCard(""))

    def plot_width_px(self) -> int:
        """Width of `x_range` in pixels, which is the number of buckets to thin to."""
        return max(1, int(self.scene.frame.data_width))

    def is_limit_held(self) -> bool:
        """True if the limit line is being moved right now."""
        return self._limit.is_held

    @override
    def sizeHint(self) -> QSize:
        return QSize(520, 280)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._view.setGeometry(self.rect())
        self.crosshair.setGeometry(self.rect())
        self._refresh()
        self.resized.emit()

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            super().mousePressEvent(event)
        elif self._limit.is_near(event.position()):
            self._limit.grab(event.position().y())
        elif frame_rect(self.scene.frame).contains(event.position()):
            self._pan_from = event.position()
            self._pan_range = self.chart_state.x_range

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if not event.buttons() & Qt.MouseButton.LeftButton:
            self._hover(event.position())
        elif self._limit.is_held:
            self._limit.move(event.position().y())
        elif self._pan_from is not None:
            self._pan(event.position())

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            start, self._pan_from = self._pan_from, None
            self._limit.release()
            if start is not None and _is_click(start, event.position()):
                self._click(event.position())

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and not self._limit.is_held:
            self.zoom_reset.emit()

    @override
    def leaveEvent(self, event: QEvent) -> None:
        self.crosshair_left.emit()
        super().leaveEvent(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        self.crosshair.show_ring(is_shown=is_keyboard_focus(event))
        super().focusInEvent(event)

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.crosshair.show_ring(is_shown=False)
        self.crosshair_left.emit()
        super().focusOutEvent(event)

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        notches = event.angleDelta().y() / _WHEEL_NOTCH
        if notches:
            self._zoom(self.scene.frame.x_at(event.position().x()), _ZOOM_STEP**notches)
        event.accept()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Left:
                self._step_crosshair(-_CROSSHAIR_STEP_PX)
            case Qt.Key.Key_Right:
                self._step_crosshair(_CROSSHAIR_STEP_PX)
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self._zoom(self._middle(), _ZOOM_STEP)
            case Qt.Key.Key_Minus:
                self._zoom(self._middle(), 1.0 / _ZOOM_STEP)
            case Qt.Key.Key_0:
                self.zoom_reset.emit()
            case _:
                super().keyPressEvent(event)

    @override
    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            text = tooltip_at(self.scene, QPointF(event.pos()))
            if text:
                QToolTip.showText(event.globalPos(), text, self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    @Slot()
    def _refresh(self) -> None:
        state = self._limit.as_moved(self.chart_state)
        self.scene = scene_for(state, QSizeF(self.size()), self._colours)
        self._view.show_chart(self.scene)
        self.crosshair.show_scene(self.scene)
        self._limit.show_scene(self.scene)

    @Slot(float)
    def _on_limit_moved(self, value: float) -> None:
        self._refresh()
        self.limit_dragged.emit(value)

    def _hover(self, at: QPointF) -> None:
        near = self._limit.is_near(at)
        flag = None if near else flag_at(self.scene, at)
        hand = Qt.CursorShape.PointingHandCursor
        usual = hand if flag is not None and flag.row is not None else Qt.CursorShape.ArrowCursor
        self.setCursor(Qt.CursorShape.SizeVerCursor if near else usual)
        frame = self.scene.frame
        if frame.left <= at.x() <= frame.right:
            self.crosshair_moved.emit(frame.x_at(at.x()))
        else:
            self.crosshair_left.emit()

    def _click(self, at: QPointF) -> None:
        flag = flag_at(self.scene, at)
        if flag is not None and flag.row is not None:
            self.flag_clicked.emit(flag.row)

    def _pan(self, at: QPointF) -> None:
        start = self._pan_from
        frame = self.scene.frame
        if start is None or abs(at.x() - start.x()) < _PAN_FROM_PX:
            return
        shift = (start.x() - at.x()) / frame.width * (frame.x_hi - frame.x_lo)
        self.range_zoomed.emit(self._pan_range[0] + shift, self._pan_range[1] + shift)

    def _zoom(self, around: float, factor: float) -> None:
        lo, hi = zoomed(self.chart_state.x_range, around=around, factor=factor)
        self.range_zoomed.emit(lo, hi)

    def _middle(self) -> float:
        """Centre for zooming by keys: the crosshair, else the middle."""
        x = self.crosshair_x
        return sum(self.chart_state.x_range) / 2.0 if x is None else x

    def _step_crosshair(self, px: float) -> None:
        frame = self.scene.frame
        at = frame.right if self.crosshair_x is None else frame.x_px(self.crosshair_x)
        self.crosshair_moved.emit(frame.x_at(min(max(at + px, frame.left), frame.right)))


def _is_click(start: QPointF, end: QPointF) -> bool:
    """True if the pointer stayed at the place of the press."""
    return (end - start).manhattanLength() < _PAN_FROM_PX


def tooltip_at(scene: Scene, at: QPointF) -> str:
    """Tooltip of the flag or gap at a point; empty where there is none."""
    flag = flag_at(scene, at)
    if flag is not None:
        return flag.tooltip
    frame = scene.frame
    for gap in scene.chart_state.gaps:
        if frame.x_px(gap.x_from) <= at.x() <= frame.x_px(gap.x_to):
            return gap.text
    return ""


_NEAR_POLE_PX = 6.0
_BELOW_LABEL_PX = 4.0


def flag_at(scene: Scene, at: QPointF) -> FlagState | None:
    """The flag at a point, by its label or else the nearest pole; None if there is none."""
    frame = scene.frame
    near = list[tuple[float, FlagState]]()
    if not frame.top - _BELOW_LABEL_PX <= at.y() <= frame.bottom:
        return None
    for flag, position in reversed(placed_flags(scene)):
        is_high = at.y() <= frame.top + FLAG_HEIGHT_PX + _BELOW_LABEL_PX
        if position.width > 0.0 and is_high and position.span[0] <= at.x() <= position.span[1]:
            return flag
        if abs(at.x() - position.x) <= _NEAR_POLE_PX:
            near.append((abs(at.x() - position.x), flag))
    return min(near, key=_distance)[1] if near else None


def _distance(entry: tuple[float, FlagState]) -> float:
    return entry[0]
