"""A chip: a fact of few words in a rounded box."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget
from typing_extensions import override

from kmonitor.ui.shell.header import ChipPicture
from kmonitor.ui.theme.qt.theme import Look, set_tone


class Chip(QFrame):
    """Shows one `ChipPicture`.

    Signals:
        clicked: With the chip's key, where a click opens something.
    """

    clicked = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chip")
        self._look = look
        self._picture: ChipPicture | None = None
        self._icon = QLabel()
        self._text = QLabel()
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 5, 10, 5)
        row.setSpacing(6)
        row.addWidget(self._icon)
        row.addWidget(self._text)
        look.palette_changed.connect(self._on_look_palette_changed)

    def show_picture(self, picture: ChipPicture) -> None:
        """Show this from now on."""
        if picture == self._picture:
            return
        self._picture = picture
        self._text.setText(picture.text)
        told = f"{picture.text}\n{picture.tooltip}" if picture.brief else picture.tooltip
        self.setToolTip(told)
        self.setAccessibleName(picture.text)
        self.setAccessibleDescription(picture.tooltip)
        set_tone(self, picture.tone)
        opens = picture.opens
        self.setCursor(Qt.CursorShape.PointingHandCursor if opens else Qt.CursorShape.ArrowCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if opens else Qt.FocusPolicy.NoFocus)
        self._draw_icon()

    def be_brief(self, *, is_brief: bool) -> None:
        """Say it in fewer words, or in all; the name stays whole."""
        if self._picture is not None:
            self._text.setText(self._picture.brief if is_brief else self._picture.text)

    def width_of(self, *, is_brief: bool) -> int:
        """How wide it is in these words, pixels."""
        if self._picture is None:
            return 0
        words = self._picture.brief if is_brief else self._picture.text
        metrics = self._text.fontMetrics()
        shown = metrics.horizontalAdvance(self._text.text())
        return self.sizeHint().width() - shown + metrics.horizontalAdvance(words)

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self._open()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}:
            self._open()
        else:
            super().keyPressEvent(event)

    def _open(self) -> None:
        if self._picture is not None and self._picture.opens:
            self.clicked.emit(self._picture.key)

    @Slot()
    def _on_look_palette_changed(self) -> None:
        self._draw_icon()

    def _draw_icon(self) -> None:
        picture = self._picture
        self._icon.setVisible(bool(picture and picture.icon))
        if picture and picture.icon:
            self._icon.setPixmap(self._look.pixmap(picture.icon, picture.tone, 13, self))
