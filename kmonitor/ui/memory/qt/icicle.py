"""The memory map as an icicle: models above their layers, each layer as wide as its memory."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QBrush,
    QColor,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QToolTip, QWidget
from typing_extensions import override

from kmonitor.ui.memory.layers import HUES, PARTS, MapTile
from kmonitor.ui.theme.palettes import SIZES, Palette
from kmonitor.ui.theme.qt.theme import Theme

_ROW_PX = 21
_LEAST_PX = 60
_LABEL_FROM_PX = 46
_SEEN_FROM_PX = 0.4
_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}


class Icicle(QWidget):
    """Paints `MapTile`s; arrow keys go from layer to layer.

    Signals (main thread):
        chosen: With the path of the chosen layer.
    """

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.tiles: tuple[MapTile, ...] = ()
        self.path = ""
        self.setMinimumHeight(100)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        theme.palette_changed.connect(self._on_theme_palette_changed)
        self._set_texts()

    def _set_texts(self) -> None:
        self.setAccessibleName(self.tr("Memory by layer"))

    def show_tiles(self, tiles: Sequence[MapTile]) -> None:
        self.tiles = tuple(tiles)
        self._describe()
        self.update()

    def choose(self, path: str) -> None:
        """Highlight this layer; emits nothing."""
        if path != self.path:
            self.path = path
            self._describe()
            self.update()

    def tile_at(self, x: float, y: float) -> MapTile | None:
        found = [tile for tile in self.tiles if self.box_of(tile).contains(x, y)]
        return found[-1] if found else None

    @override
    def sizeHint(self) -> QSize:
        return QSize(400, 190)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        painter = QPainter(self)
        colours = self._theme.palette
        font = self.font()
        font.setPixelSize(SIZES.meta_px)
        painter.setFont(font)
        for tile in self.tiles:
            box = self.box_of(tile)
            if box.width() >= _SEEN_FROM_PX:
                self._paint_tile(painter, tile, box, colours)
        chosen = next((t for t in self.tiles if t.parts and t.path == self.path), None)
        if chosen is not None:
            painter.setPen(QPen(QColor(colours.text), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.box_of(chosen).adjusted(1, 1, -1, -1))
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        painter.end()

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        tile = self.tile_at(event.position().x(), event.position().y())
        if tile is not None and tile.parts:
            self._choose(tile)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _STEPS.get(Qt.Key(event.key()))
        layers = [tile for tile in self.tiles if tile.parts]
        if step is None or not layers:
            super().keyPressEvent(event)
            return
        at = next((n for n, tile in enumerate(layers) if tile.path == self.path), None)
        start = (-1 if step > 0 else len(layers)) if at is None else at
        self._choose(layers[min(max(start + step, 0), len(layers) - 1)])

    @override
    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            tile = self.tile_at(event.pos().x(), event.pos().y())
            QToolTip.showText(event.globalPos(), tile.tooltip if tile is not None else "", self)
            return True
        return super().event(event)

    def _choose(self, tile: MapTile) -> None:
        self.choose(tile.path)
        self.chosen.emit(tile.path)

    def _describe(self) -> None:
        chosen = next((t for t in self.tiles if t.parts and t.path == self.path), None)
        shown = chosen if chosen is not None else self.tiles[0] if self.tiles else None
        self.setAccessibleDescription(shown.tooltip.replace("\n", ", ") if shown else "")

    def box_of(self, tile: MapTile) -> QRectF:
        width = self.width() - 2
        above = max((t.level for t in self.tiles if not t.parts), default=0) + 1
        # Deep nesting leaves the layers their room.
        row = min(_ROW_PX, max(4.0, (self.height() - _LEAST_PX) / above))
        top = 1 + tile.level * row
        height = self.height() - 1 - top if tile.parts else row
        return QRectF(1 + tile.start * width, top, (tile.end - tile.start) * width, height)

    def _paint_tile(self, painter: QPainter, tile: MapTile, box: QRectF, colours: Palette) -> None:
        gap = 1.0 if box.width() > 3 else 0.0  # noqa: PLR2004 - a gap would be most of it
        inner = box.adjusted(0, 0, -gap, -1)
        if not tile.parts:
            painter.fillRect(inner, QColor(colours.hover))
            _paint_label(painter, tile.label, inner, colours.text)
            return
        total = sum(tile.parts)
        bottom = inner.bottom()
        for part, n_bytes in zip(PARTS, tile.parts, strict=True):
            height = inner.height() * n_bytes / total
            area = QRectF(inner.left(), bottom - height, inner.width(), height)
            painter.fillRect(area, QColor(colours.series[HUES[part]]))
            bottom -= height
        if tile.is_hatched:
            painter.fillRect(inner, QBrush(QColor(colours.card), Qt.BrushStyle.BDiagPattern))
        if inner.width() >= _LABEL_FROM_PX:
            # Dark on every hue of both palettes would not do: a band of its own carries it.
            band = QRectF(inner.left(), inner.top(), inner.width(), 17)
            background = QColor(colours.card)
            background.setAlphaF(0.82)
            painter.fillRect(band, background)
            _paint_label(painter, tile.label, band, colours.text)

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self.update()


def _paint_label(painter: QPainter, text: str, box: QRectF, colour: str) -> None:
    if box.width() < _LABEL_FROM_PX:
        return
    room = box.adjusted(5, 0, -3, 0)
    shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, int(room.width()))
    painter.setPen(QColor(colour))
    painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, shown)
