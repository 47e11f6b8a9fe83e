"""The bar above the charts when something is wrong."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from kmonitor.desktop.controls.look import Look, role_label
from kmonitor.presenters.connection import BannerPicture


class Banner(QFrame):
    """Shows a `BannerPicture`, or nothing.

    Signals (main thread):
        retry_requested: The button was pressed.
    """

    retry_requested = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")
        self._look = look
        self._picture: BannerPicture | None = None
        self._icon = QLabel()
        self._title = role_label("strong")
        self._text = role_label("body")
        self._text.setWordWrap(True)
        self._button = QPushButton()
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 9, 10, 9)
        row.setSpacing(10)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._title)
        row.addWidget(self._text, 1)
        row.addWidget(self._button)
        self._button.clicked.connect(self.retry_requested)
        look.palette_changed.connect(self._on_look_palette_changed)
        self.hide()

    def show_picture(self, picture: BannerPicture | None) -> None:
        """Show this, or hide."""
        if picture == self._picture:
            return
        self._picture = picture
        self.setVisible(picture is not None)
        if picture is None:
            return
        self._title.setText(picture.title)
        self._text.setText(picture.text)
        self._button.setText(picture.button)
        self._button.setAccessibleName(picture.button)
        self._button.setVisible(bool(picture.button))
        self.setAccessibleName(f"{picture.title} {picture.text}")
        self._on_look_palette_changed()

    @Slot()
    def _on_look_palette_changed(self) -> None:
        if self._picture is not None:
            self._icon.setPixmap(self._look.pixmap(self._picture.icon, "crit", 18, self))
