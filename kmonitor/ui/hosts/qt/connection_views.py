"""The bar above the charts when something is wrong."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from kmonitor.ui.hosts.connection_status import BannerPicture
from kmonitor.ui.theme.qt.theme import Look, role_label


class Banner(QFrame):
    """Shows a `BannerPicture`, or nothing.

    Signals (main thread):
        retry_requested: The button was pressed.
        close_requested: The user has read it.
        toggled: It came or went.
    """

    retry_requested = Signal()
    close_requested = Signal()
    toggled = Signal()

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
        self._close = QToolButton()
        self._build()
        self._button.clicked.connect(self.retry_requested)
        self._close.clicked.connect(self.close_requested)
        look.palette_changed.connect(self._on_look_palette_changed)
        self._set_texts()
        self.hide()

    def _set_texts(self) -> None:
        self._close.setToolTip(self.tr("Close this message"))
        self._close.setAccessibleName(self.tr("Close this message"))

    @property
    def is_up(self) -> bool:
        """Whether something is wrong."""
        return self._picture is not None

    def show_picture(self, picture: BannerPicture | None) -> None:
        """Show this, or hide."""
        if picture == self._picture:
            return
        is_toggled = (picture is None) != (self._picture is None)
        self._picture = picture
        self.setVisible(picture is not None)
        if is_toggled:
            self.toggled.emit()
        if picture is None:
            return
        self._title.setText(picture.title)
        self._text.setText(picture.text)
        self._button.setText(picture.button)
        self._button.setAccessibleName(picture.button)
        self._button.setVisible(bool(picture.button))
        self._close.setVisible(picture.can_close)
        self.setAccessibleName(f"{picture.title} {picture.text}")
        self._on_look_palette_changed()

    def _build(self) -> None:
        # Title above text: side by side a long title leaves the text one word a line.
        words = QVBoxLayout()
        words.setSpacing(2)
        self._title.setWordWrap(True)
        words.addWidget(self._title)
        words.addWidget(self._text)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 9, 10, 9)
        row.setSpacing(10)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        row.addWidget(self._button, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._close, 0, Qt.AlignmentFlag.AlignTop)

    @Slot()
    def _on_look_palette_changed(self) -> None:
        if self._picture is not None:
            self._icon.setPixmap(self._look.pixmap(self._picture.icon, "crit", 18, self))
            self._close.setIcon(self._look.icon("close"))
