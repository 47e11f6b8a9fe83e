"""A label of one line that shortens its text in the middle."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget
from typing_extensions import override


class ElidedLabel(QLabel):
    """Shows what fits, elided in the middle; the whole text is its tooltip and name."""

    def __init__(self, role: str, parent: QWidget | None = None, *, at_end: bool = False) -> None:
        super().__init__(parent)
        self.setProperty("role", role)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._mode = Qt.TextElideMode.ElideRight if at_end else Qt.TextElideMode.ElideMiddle

    @override
    def setText(self, text: str) -> None:
        if text != self.text():
            super().setText(text)
            self.setAccessibleName(text)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(24, self.fontMetrics().height() + 2)

    @override
    def sizeHint(self) -> QSize:
        width = self.fontMetrics().horizontalAdvance(self.text()) + 4
        return QSize(width, self.fontMetrics().height() + 2)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().windowText().color())
        painter.setFont(self.font())
        area = self.contentsRect()
        colour = self.palette().windowText().color()
        painter.setPen(colour)
        text = self.fontMetrics().elidedText(self.text(), self._mode, area.width())
        painter.drawText(area, self.alignment() | Qt.AlignmentFlag.AlignVCenter, text)
