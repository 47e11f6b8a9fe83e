"""The two charts of a study: a metric over the epochs of all folds, and peak memory per fold."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget
from typing_extensions import override

from kmonitor.ui.memory.batch_curve import AxisTick
from kmonitor.ui.studies.fold_charts import FoldMemoryBar, FoldMemoryState, FoldMetricState
from kmonitor.ui.theme.palettes import SIZES, Palette
from kmonitor.ui.theme.qt.theme import Theme

_LEFT_PX = 58
_BELOW_PX = 20
_ABOVE_PX = 8
_BESIDE_PX = 12
_MOST_BAR_PX = 22
_NUMBERED_FROM_PX = 18


class _Chart(QWidget):
    """Base class: axes, and space for a plot.

    Signals (main thread):
        resized: The size of the plot changed.
    """

    resized = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setMinimumHeight(110)
        theme.palette_changed.connect(self._on_theme_palette_changed)

    def plot_px(self) -> tuple[int, int]:
        """Width and height of the plot."""
        area = self._area()
        return int(max(1.0, area.width())), int(max(1.0, area.height()))

    @override
    def sizeHint(self) -> QSize:
        return QSize(260, 170)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()

    def _area(self) -> QRectF:
        width = self.width() - _LEFT_PX - _BESIDE_PX
        return QRectF(_LEFT_PX, _ABOVE_PX, width, self.height() - _ABOVE_PX - _BELOW_PX)

    def _begin(self) -> QPainter:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = self.font()
        font.setPixelSize(SIZES.meta_px)
        painter.setFont(font)
        return painter

    def _paint_y(self, painter: QPainter, ticks: Sequence[AxisTick]) -> None:
        area = self._area()
        colours = self._theme.palette
        for tick in ticks:
            y = area.bottom() - tick.at * area.height()
            painter.setPen(QColor(colours.border))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(QColor(colours.mute))
            room = QRectF(0, y - 8, _LEFT_PX - 6, 16)
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(room, side, tick.text)

    def _paint_empty(self, painter: QPainter, text: str) -> None:
        painter.setPen(QColor(self._theme.palette.mute))
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(QRectF(self.rect()).adjusted(8, 8, -8, -8), int(flags), text)

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self.update()


class FoldMetricChart(_Chart):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._metric_state = FoldMetricState()
        self._set_texts()

    def _set_texts(self) -> None:
        self.setAccessibleName(self.tr("Metric of all folds over epochs"))

    def show_state(self, state: FoldMetricState) -> None:
        if state is not self._metric_state:
            self._metric_state = state
            parts = (state.metric, state.value, state.text)
            self.setAccessibleDescription(", ".join(part for part in parts if part))
            self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        state = self._metric_state
        colours = self._theme.palette
        painter = self._begin()
        if not state.mean:
            self._paint_empty(painter, state.text)
            painter.end()
            return
        self._paint_y(painter, state.y_ticks)
        self._paint_x(painter, state.x_ticks)
        area = self._area()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(_with_alpha(colours.accent, colours.tint_alpha))
        upper = [_point_in(area, x, high) for x, _, high in state.band]
        lower = [_point_in(area, x, low) for x, low, _ in reversed(state.band)]
        painter.drawPolygon(QPolygonF([*upper, *lower]))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(_with_alpha(colours.sub, 0.45), 1))
        for line in state.folds:
            _draw(painter, [_point_in(area, *point) for point in line])
        painter.setPen(QPen(QColor(colours.accent), 2))
        _draw(painter, [_point_in(area, *point) for point in state.mean])
        painter.end()

    def _paint_x(self, painter: QPainter, ticks: Sequence[AxisTick]) -> None:
        area = self._area()
        painter.setPen(QColor(self._theme.palette.mute))
        metrics = painter.fontMetrics()
        free = -1.0
        for tick in ticks:
            width = metrics.horizontalAdvance(tick.text)
            left = area.left() + tick.at * area.width() - width / 2
            left = min(max(left, area.left() - 4), self.width() - width - 1.0)
            if left > free:
                painter.drawText(QPointF(left, self.height() - 5.0), tick.text)
                free = left + width + 6


class FoldMemoryChart(_Chart):
    """Paints a `FoldMemoryState`; a click opens the fold's run.

    Signals (main thread):
        opened: With the index of a fold.
    """

    opened = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._memory_state = FoldMemoryState()
        self.setMouseTracking(True)
        self._set_texts()

    def _set_texts(self) -> None:
        self.setAccessibleName(self.tr("Peak memory of each fold"))

    def show_state(self, state: FoldMemoryState) -> None:
        if state != self._memory_state:
            self._memory_state = state
            bars = "; ".join(bar.tooltip for bar in state.bars)
            self.setAccessibleDescription(f"{state.text}: {bars}"[:4000])
            self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        state = self._memory_state
        colours = self._theme.palette
        painter = self._begin()
        if not state.bars:
            self._paint_empty(painter, state.text)
            painter.end()
            return
        self._paint_y(painter, state.y_ticks)
        for at, bar in enumerate(state.bars):
            self._paint_bar(painter, at, bar, colours)
        if state.bound is not None:
            area = self._area()
            y = area.bottom() - state.bound * area.height()
            painter.setPen(QPen(QColor(colours.crit), 1.4, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        painter.end()

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        bar = self._bar_at(event.position().x())
        if bar is not None and event.button() == Qt.MouseButton.LeftButton:
            self.opened.emit(bar.fold)

    @override
    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            bar = self._bar_at(event.pos().x())
            QToolTip.showText(event.globalPos(), bar.tooltip if bar is not None else "", self)
            return True
        return super().event(event)

    def _bar_at(self, x: float) -> FoldMemoryBar | None:
        area = self._area()
        bars = self._memory_state.bars
        if not bars or not area.left() <= x < area.right():
            return None
        return bars[int((x - area.left()) / area.width() * len(bars))]

    def _paint_bar(self, painter: QPainter, at: int, bar: FoldMemoryBar, colours: Palette) -> None:
        area = self._area()
        state = self._memory_state
        slot = area.width() / len(state.bars)
        n_hues = 1 + state.has_vram
        wide = max(1.0, min(_MOST_BAR_PX, (slot * 0.74) / n_hues))
        left = area.left() + slot * (at + 0.5) - wide * n_hues / 2
        painter.setPen(Qt.PenStyle.NoPen)
        for hue, share in enumerate((bar.ram, bar.vram)[:n_hues]):
            if share is not None:
                colour = colours.crit if bar.is_over and hue == 0 else colours.series[hue]
                height = max(1.0, share * area.height())
                painter.setBrush(QColor(colour))
                box = QRectF(left + hue * wide, area.bottom() - height, wide - 1.0, height)
                painter.drawRoundedRect(box, 2, 2)
        every = max(1, -(-int(_NUMBERED_FROM_PX) // max(1, int(slot))))
        if at % every == 0:
            painter.setPen(QColor(colours.mute))
            room = QRectF(area.left() + slot * at - 20, area.bottom() + 3, slot + 40, 15)
            painter.drawText(room, Qt.AlignmentFlag.AlignCenter, str(bar.fold))


def _point_in(area: QRectF, x: float, y: float) -> QPointF:
    return QPointF(area.left() + x * area.width(), area.bottom() - y * area.height())


def _draw(painter: QPainter, points: Sequence[QPointF]) -> None:
    if len(points) == 1:
        painter.drawEllipse(points[0], 2.0, 2.0)
    else:
        painter.drawPolyline(QPolygonF(points))


def _with_alpha(colour: str, alpha: float) -> QColor:
    found = QColor(colour)
    found.setAlphaF(alpha)
    return found
