"""The status bar."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from kmonitor.desktop.controls.look import Look, role_label
from kmonitor.desktop.theme import SIZES
from kmonitor.presenters.connection import StatusPicture


class StatusPanel(QFrame):
    """Shows a `StatusPicture`."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("status")
        self.setFixedHeight(SIZES.status)
        self._look = look
        self._picture: StatusPicture | None = None
        self._dot = QLabel()
        self._link = role_label("meta")
        self._rate = role_label("meta")
        self._version = role_label("meta")
        row = QHBoxLayout(self)
        row.setContentsMargins(SIZES.padding, 0, SIZES.padding, 0)
        row.setSpacing(7)
        self._dot.setContentsMargins(0, 2, 0, 0)
        row.addWidget(self._dot)
        row.addWidget(self._link)
        row.addSpacing(12)
        row.addWidget(self._rate)
        row.addStretch(1)
        row.addWidget(self._version)
        look.palette_changed.connect(self._on_look_palette_changed)

    def show_picture(self, picture: StatusPicture) -> None:
        """Show this."""
        if picture == self._picture:
            return
        self._picture = picture
        self._link.setText(picture.link)
        self._link.setToolTip(picture.tooltip)
        self._rate.setText(picture.rate)
        self._version.setText(picture.version)
        self._on_look_palette_changed()

    @Slot()
    def _on_look_palette_changed(self) -> None:
        if self._picture is not None:
            self._dot.setPixmap(self._look.pixmap("dot", self._picture.tone, 12, self))
