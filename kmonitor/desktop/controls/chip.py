"""A chip: a fact of few words in a rounded box."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from kmonitor.desktop.controls.look import Look, set_tone
from kmonitor.presenters.header import ChipPicture


class Chip(QFrame):
    """Shows one `ChipPicture`."""

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
        self.setToolTip(picture.tooltip)
        self.setAccessibleName(picture.text)
        self.setAccessibleDescription(picture.tooltip)
        set_tone(self, picture.tone)
        self._draw_icon()

    @Slot()
    def _on_look_palette_changed(self) -> None:
        self._draw_icon()

    def _draw_icon(self) -> None:
        picture = self._picture
        self._icon.setVisible(bool(picture and picture.icon))
        if picture and picture.icon:
            self._icon.setPixmap(self._look.pixmap(picture.icon, picture.tone, 13, self))
