"""A switch: on or off, at once."""

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget
from typing_extensions import override

from kmonitor.ui.theme.qt.theme import Look


class Switch(QAbstractButton):
    """A checkable button that looks like a switch with its text beside it."""

    def __init__(self, look: Look, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.setText(text)
        self.setCheckable(True)
        self.setAccessibleName(text)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        look.palette_changed.connect(self._on_look_palette_changed)

    @override
    def sizeHint(self) -> QSize:
        return QSize(48 + self.fontMetrics().horizontalAdvance(self.text()), 26)

    @override
    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        colours = self._look.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(2, self.height() / 2 - 9, 32, 18)
        is_lit = self.isChecked() and self.isEnabled()
        painter.setPen(QPen(QColor(colours.accent if is_lit else colours.mute), 1))
        painter.setBrush(QColor(colours.accent if is_lit else colours.raised))
        painter.drawRoundedRect(track, 9, 9)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.on_accent if is_lit else colours.mute))
        left = track.right() - 15.5 if self.isChecked() else track.left() + 2.5
        painter.drawEllipse(QRectF(left, track.top() + 2.5, 13, 13))
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 6, 6)
        painter.setPen(QColor(colours.text if self.isEnabled() else colours.mute))
        text_area = self.rect().adjusted(43, 0, 0, 0)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(text_area, flags, self.text())

    @Slot()
    def _on_look_palette_changed(self) -> None:
        self.update()
