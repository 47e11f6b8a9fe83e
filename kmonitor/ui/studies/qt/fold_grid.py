"""A study's folds as a grid: one cell each, with its state; a click or Enter opens its run."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget
from typing_extensions import override

from kmonitor.ui.studies.study_page import FoldCell
from kmonitor.ui.theme.palettes import SIZES, Palette
from kmonitor.ui.theme.qt.theme import Theme, icon_pixmap

_GAP_PX = 4
_LEAST_PX = 34
_MOST_PX = 120
_HEIGHT_PX = 40
_MOST_LINES = 4
_LOW_PX = 14
_ICON_PX = 13
_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class FoldGrid(QWidget):
    """Paints `FoldCell`s in as many lines as needed; arrow keys move between folds.

    Signals (main thread):
        opened: With the index of the fold that the user wants to see.
    """

    opened = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._cells: tuple[FoldCell, ...] = ()
        self._at = 0
        self._room_px = 300
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.palette_changed.connect(self._on_theme_palette_changed)
        self._set_texts()

    def _set_texts(self) -> None:
        self.setAccessibleName(self.tr("Folds"))

    def show_cells(self, cells: Sequence[FoldCell]) -> None:
        shown = tuple(cells)
        if shown == self._cells:
            return
        is_resized = len(shown) != len(self._cells)
        self._cells = shown
        self._at = min(self._at, max(0, len(shown) - 1))
        self._describe()
        if is_resized:
            self.fit(self._room_px)
        self.update()

    def box(self, at: int) -> QRectF:
        per_line, width, height = self._grid(self.width())
        line, column = divmod(at, per_line)
        return QRectF(1 + column * (width + _GAP_PX), 1 + line * (height + _GAP_PX), width, height)

    def cell_at(self, x: float, y: float) -> FoldCell | None:
        found = (cell for at, cell in enumerate(self._cells) if self.box(at).contains(x, y))
        return next(found, None)

    def fit(self, room_px: int) -> None:
        """Set the height to as many lines as the cells need in this width.

        Args:
            room_px: Width that is available whether or not the page scrolls; otherwise the scroll
                bar would appear and disappear forever.
        """
        self._room_px = room_px
        per_line, _, height = self._grid(room_px)
        lines = max(1, -(-len(self._cells) // per_line))
        self.setFixedHeight(lines * (int(height) + _GAP_PX) - _GAP_PX + 2)
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(300, self.height())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = self.font()
        font.setPixelSize(SIZES.meta_px)
        painter.setFont(font)
        for at, cell in enumerate(self._cells):
            box = self.box(at)
            if box.intersects(QRectF(event.rect())):
                self._paint_cell(painter, cell, box, self._theme.palette)
        if self.hasFocus() and self._cells:
            painter.setPen(QPen(QColor(self._theme.palette.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(self.box(self._at), 6, 6)
        painter.end()

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        cell = self.cell_at(event.position().x(), event.position().y())
        if cell is not None and event.button() == Qt.MouseButton.LeftButton:
            self._go(cell.fold)
            self.opened.emit(cell.fold)

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        cell = self.cell_at(event.position().x(), event.position().y())
        is_open = cell is not None and bool(cell.run)
        shape = Qt.CursorShape.PointingHandCursor if is_open else Qt.CursorShape.ArrowCursor
        self.setCursor(shape)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if not self._cells:
            super().keyPressEvent(event)
        elif key in _STEPS:
            self._go(min(max(self._at + _STEPS[key], 0), len(self._cells) - 1))
        elif key in _ENTER:
            self.opened.emit(self._at)
        else:
            super().keyPressEvent(event)

    @override
    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            cell = self.cell_at(event.pos().x(), event.pos().y())
            QToolTip.showText(
                event.globalPos(), cell.description if cell is not None else "", self
            )
            return True
        return super().event(event)

    def _go(self, at: int) -> None:
        self._at = at
        self._describe()
        self.update()

    def _describe(self) -> None:
        at = self._at
        self.setAccessibleDescription(self._cells[at].description if at < len(self._cells) else "")

    def _grid(self, width: int) -> tuple[int, float, float]:
        """Cells per line, their width and height; cells are lower if there are very many."""
        n = max(1, len(self._cells))
        room = max(1, width - 2)
        sure = max(1, self._room_px - 2)
        fit = max(1, int((sure + _GAP_PX) // (_LEAST_PX + _GAP_PX)))
        if n > fit * _MOST_LINES:
            per_line = max(1, int((sure + _GAP_PX) // (_LOW_PX + _GAP_PX)))
            return per_line, _LOW_PX, _LOW_PX
        lines = -(-n // fit)
        per_line = -(-n // lines)
        wide = (room + _GAP_PX) / per_line - _GAP_PX
        return per_line, min(_MOST_PX, wide), _HEIGHT_PX

    def _paint_cell(
        self, painter: QPainter, cell: FoldCell, box: QRectF, colours: Palette
    ) -> None:
        tone = QColor(colours.tone(cell.tone))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.raised))
        painter.drawRoundedRect(box, 5, 5)
        if cell.share > 0.0:
            fill = QColor(tone)
            fill.setAlphaF(0.16 if cell.is_estimate else 0.28)
            painter.setBrush(fill)
            part = QRectF(box.left(), box.top(), max(4.0, box.width() * cell.share), box.height())
            painter.drawRoundedRect(part, 5, 5)
        if box.height() < _HEIGHT_PX:
            painter.setBrush(tone)
            painter.drawRoundedRect(box.adjusted(4, 4, -4, -4), 2, 2)
            return
        scale = painter.device().devicePixelRatioF()
        middle = box.center().x()
        icon = icon_pixmap(cell.icon, tone.name(), _ICON_PX, scale)
        painter.drawPixmap(int(middle - _ICON_PX / 2), int(box.top() + 5), icon)
        painter.setPen(QColor(colours.text if cell.tone != "mute" else colours.mute))
        text_box = QRectF(box.left(), box.bottom() - 19, box.width(), 16)
        # The number is that of the script; a second try shows beside it.
        text = f"{cell.fold}\u2009\u21bb" if cell.has_more else str(cell.fold)
        painter.drawText(text_box, Qt.AlignmentFlag.AlignCenter, text)

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self.update()
