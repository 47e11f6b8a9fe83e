"""What stands in for a chart until charts are loaded."""

from PySide6.QtCore import QLineF, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from kmonitor.ui.theme.qt.theme import Look

_LINES = 5


class Skeleton(QWidget):
    """Faint grid lines where the chart will be."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(110, 100)
        look.palette_changed.connect(self._on_look_palette_changed)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QPen(QColor(self._look.palette.border), 1))
        step = (self.height() - 30) / (_LINES - 1)
        for line in range(_LINES):
            y = round(8 + line * step) + 0.5
            painter.drawLine(QLineF(42, y, self.width() - 4, y))

    @Slot()
    def _on_look_palette_changed(self) -> None:
        self.update()
