"""A bar of adjacent parts, with marks and a bracket for an interval."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from kmonitor.ui.memory.totals import BarPart, TotalsMark
from kmonitor.ui.theme.palettes import SIZES, Palette
from kmonitor.ui.theme.qt.theme import Theme

_BAR_PX = 20
_BRACKET_PX = 7
_LABEL_PX = 15


class StackedBar(QWidget):
    """Paints its parts from left to right; its accessible text is its description."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._parts: Sequence[BarPart] = ()
        self._marks: Sequence[TotalsMark] = ()
        self._span = (0.0, 0.0)
        self._reach = 1.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.palette_changed.connect(self._on_theme_palette_changed)

    def show_parts(
        self,
        parts: Sequence[BarPart],
        *,
        reach: float,
        marks: Sequence[TotalsMark] = (),
        span: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Show these parts.

        Args:
            reach: Length of the whole bar, bytes.
            span: Interval to draw below the bar; (0, 0): none.
        """
        self._parts = tuple(parts)
        self._marks = tuple(marks)
        self._span = span
        self._reach = max(reach, 1.0)
        self.updateGeometry()
        self.update()

    @override
    def sizeHint(self) -> QSize:
        above = _LABEL_PX if self._marks else 0
        below = _BRACKET_PX + 2 if self._span[1] else 0
        return QSize(160, above + _BAR_PX + below)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = self._theme.palette
        top = _LABEL_PX if self._marks else 0
        bar = QRectF(0, top, self.width(), _BAR_PX)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.raised))
        painter.drawRoundedRect(bar, 5, 5)
        self._paint_parts(painter, bar, colours)
        self._paint_span(painter, bar, colours)
        self._paint_marks(painter, bar, colours)
        painter.end()

    def _x(self, n_bytes: float) -> float:
        return min(1.0, n_bytes / self._reach) * (self.width() - 1)

    def _paint_parts(self, painter: QPainter, bar: QRectF, colours: Palette) -> None:
        at = 0.0
        for part in self._parts:
            left = self._x(at)
            right = self._x(at + part.n_bytes)
            at += part.n_bytes
            if part.hue < 0:
                continue
            colour = QColor(colours.series[part.hue])
            box = QRectF(left, bar.top(), max(1.0, right - left - 1), bar.height())
            painter.fillRect(box, colour)
            if part.is_transient:
                painter.fillRect(box, _stripes(QColor(colours.card)))

    def _paint_span(self, painter: QPainter, bar: QRectF, colours: Palette) -> None:
        low, high = self._span
        if not high:
            return
        y = bar.bottom() + 2
        painter.setPen(QPen(QColor(colours.sub), 1))
        left = self._x(low)
        right = self._x(high)
        painter.drawLine(int(left), int(y + 4), int(right), int(y + 4))
        for x in (left, right):
            painter.drawLine(int(x), int(y), int(x), int(y + _BRACKET_PX))

    def _paint_marks(self, painter: QPainter, bar: QRectF, colours: Palette) -> None:
        font = painter.font()
        font.setPixelSize(SIZES.meta_px)
        painter.setFont(font)
        right_edge = -1.0
        for mark in sorted(self._marks, key=lambda each: each.n_bytes):
            if mark.n_bytes > self._reach:
                continue
            x = self._x(mark.n_bytes)
            painter.setPen(QPen(QColor(colours.tone(mark.tone)), 2))
            painter.drawLine(int(x), int(bar.top() - 3), int(x), int(bar.bottom()))
            width = painter.fontMetrics().horizontalAdvance(mark.title)
            left = min(max(0.0, x - width / 2), self.width() - width)
            if left > right_edge:
                painter.drawText(int(left), int(bar.top() - 5), mark.title)
                right_edge = left + width + 6

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self.update()


def _stripes(colour: QColor) -> QBrush:
    colour.setAlphaF(0.35)
    return QBrush(colour, Qt.BrushStyle.BDiagPattern)
