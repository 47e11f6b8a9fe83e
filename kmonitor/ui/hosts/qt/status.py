"""The status bar."""

from PySide6.QtCore import QTimer, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from kmonitor.ui.hosts.connection_status import StatusPicture
from kmonitor.ui.theme.palettes import Tone
from kmonitor.ui.theme.qt.theme import Look, role_label, set_tone
from kmonitor.ui.theme.theme import SIZES
from kmonitor.ui.widgets.labels import ElidedLabel

_NOTE_MS = 15_000


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
        self._note = ElidedLabel("meta", at_end=True)
        self._note_timer = QTimer(self, singleShot=True, interval=_NOTE_MS)
        self._note_timer.timeout.connect(self._note.hide)
        self._note.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(SIZES.padding, 0, SIZES.padding, 0)
        row.setSpacing(7)
        self._dot.setContentsMargins(0, 2, 0, 0)
        row.addWidget(self._dot)
        row.addWidget(self._link)
        row.addSpacing(12)
        row.addWidget(self._rate)
        row.addWidget(self._note, 1)
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

    def show_note(self, text: str, *, tone: Tone = "warn") -> None:
        """Show for a while what went wrong, or what was done.

        Args:
            text: One line.
            tone: How loud.
        """
        self._note.setText(text)
        self._note.setToolTip(text)
        set_tone(self._note, tone)
        self._note.show()
        self._note_timer.start()

    @Slot()
    def _on_look_palette_changed(self) -> None:
        if self._picture is not None:
            self._dot.setPixmap(self._look.pixmap("dot", self._picture.tone, 12, self))
