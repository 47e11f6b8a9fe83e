"""The curve of the peak over the batch, with the device's limit."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from kmonitor.ui.memory.what_if import BatchCurve
from kmonitor.ui.theme.palettes import Palette
from kmonitor.ui.theme.qt.theme import Look
from kmonitor.ui.theme.theme import SIZES

_LEFT_PX = 56
_BELOW_PX = 18
_ABOVE_PX = 8
_BESIDE_PX = 10


class CurveView(QWidget):
    """Paints a `BatchCurve`."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._curve = BatchCurve()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        look.palette_changed.connect(self._on_look_palette_changed)
        self._set_texts()

    def _set_texts(self) -> None:
        self.setAccessibleName(self.tr("Peak over batch"))

    def show_curve(self, curve: BatchCurve) -> None:
        """Show this curve."""
        if curve != self._curve:
            self._curve = curve
            self.setAccessibleDescription(curve.description)
            self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(220, 142)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        curve, colours = self._curve, self._look.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = self.font()
        font.setPixelSize(SIZES.meta_px)
        painter.setFont(font)
        area = QRectF(
            _LEFT_PX,
            _ABOVE_PX,
            self.width() - _LEFT_PX - _BESIDE_PX,
            self.height() - _ABOVE_PX - _BELOW_PX,
        )
        self._paint_axes(painter, area, colours)
        if curve.band:
            upper = [_place(area, x, high) for x, _, high in curve.band]
            lower = [_place(area, x, low) for x, low, _ in reversed(curve.band)]
            tint = QColor(colours.accent)
            tint.setAlphaF(colours.tint_alpha)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(tint)
            painter.drawPolygon(QPolygonF([*upper, *lower]))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(colours.accent), 1.6))
        painter.drawPolyline(QPolygonF([_place(area, x, y) for x, y in curve.line]))
        self._paint_limit(painter, area, colours)
        _spots(painter, [_place(area, x, y) for x, y in curve.measured], colours.ok, colours.card)
        batch = [_place(area, *curve.batch)] if curve.batch is not None else []
        _spots(painter, batch, colours.text, colours.card)
        painter.end()

    def _paint_axes(self, painter: QPainter, area: QRectF, colours: Palette) -> None:
        painter.setPen(QColor(colours.border))
        painter.drawLine(area.bottomLeft(), area.bottomRight())
        metrics = painter.fontMetrics()
        for tick in self._curve.y_ticks:
            y = area.bottom() - tick.at * area.height()
            painter.setPen(QColor(colours.border))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(QColor(colours.mute))
            room = QRectF(0, y - 8, _LEFT_PX - 6, 16)
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(room, side, tick.text)
        painter.setPen(QColor(colours.mute))
        for tick in self._curve.x_ticks:
            width = metrics.horizontalAdvance(tick.text)
            x = area.left() + tick.at * area.width() - width / 2
            left = min(max(x, area.left() - 4), self.width() - width - 1.0)
            painter.drawText(QPointF(left, self.height() - 4.0), tick.text)

    def _paint_limit(self, painter: QPainter, area: QRectF, colours: Palette) -> None:
        limit = self._curve.limit
        if limit is None:
            return
        y = area.bottom() - limit * area.height()
        painter.setPen(QPen(QColor(colours.crit), 1.4, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))

    @Slot()
    def _on_look_palette_changed(self) -> None:
        self.update()


def _place(area: QRectF, x: float, y: float) -> QPointF:
    return QPointF(area.left() + x * area.width(), area.bottom() - y * area.height())


def _spots(painter: QPainter, places: Sequence[QPointF], colour: str, rim: str) -> None:
    painter.setPen(QPen(QColor(rim), 1.5))
    painter.setBrush(QColor(colour))
    for place in places:
        painter.drawEllipse(place, 4.5, 4.5)
