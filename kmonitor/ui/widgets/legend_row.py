"""What the colours of a picture mean: a spot and a word each, in as many lines as they need."""

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from kmonitor.ui.theme.qt.theme import Look
from kmonitor.ui.theme.theme import SIZES

_SPOT_PX = 10
_GAP_PX = 14
_LINE_PX = 17


class LegendRow(QWidget):
    """Spots with their words; breaks into lines where there is no room."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._entries: tuple[tuple[str, int], ...] = ()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        look.palette_changed.connect(self._on_look_palette_changed)

    def show_entries(self, entries: Sequence[tuple[str, int]]) -> None:
        """Show these words with these hues; below 0: what nobody has."""
        if tuple(entries) != self._entries:
            self._entries = tuple(entries)
            self.setAccessibleName(", ".join(title for title, _ in entries))
            self.updateGeometry()
            self.update()

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        places = self._places(width)
        return places[-1].bottom() + 1 if places else 0

    @override
    def sizeHint(self) -> QSize:
        return QSize(120, self.heightForWidth(max(self.width(), 120)))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._font())
        colours = self._look.palette
        for (title, hue), box in zip(self._entries, self._places(self.width()), strict=True):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours.raised if hue < 0 else colours.series[hue]))
            painter.drawRoundedRect(box.left(), box.top() + 4, _SPOT_PX, _SPOT_PX, 3, 3)
            painter.setPen(QColor(colours.sub))
            words = box.adjusted(_SPOT_PX + 5, 0, 4, 0)
            painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, title)
        painter.end()

    def _font(self) -> QFont:
        font = self.font()
        font.setPixelSize(SIZES.meta_px)
        return font

    def _places(self, width: int) -> list[QRect]:
        metrics = QFontMetrics(self._font())
        places: list[QRect] = []
        x = y = 0
        for title, _ in self._entries:
            wide = _SPOT_PX + 5 + metrics.horizontalAdvance(title)
            if x and x + wide > width:
                x, y = 0, y + _LINE_PX
            places.append(QRect(x, y, wide, _LINE_PX))
            x += wide + _GAP_PX
        return places

    @Slot()
    def _on_look_palette_changed(self) -> None:
        self.update()
