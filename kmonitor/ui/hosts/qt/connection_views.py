"""Views of the connection: the banner above the charts, and the status bar."""

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from kmonitor.ui.hosts.connection_status import BannerState, StatusBarState
from kmonitor.ui.theme.palettes import SIZES, Tone
from kmonitor.ui.theme.qt.theme import Theme, role_label, set_tone
from kmonitor.ui.widgets.labels import ElidedLabel


class Banner(QFrame):
    """Shows a `BannerState`, or nothing.

    Signals (main thread):
        retry_requested: The button was pressed.
        close_requested: The user closed the banner.
        toggled: The banner appeared or disappeared.
    """

    retry_requested = Signal()
    close_requested = Signal()
    toggled = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")
        self._theme = theme
        self._banner_state: BannerState | None = None
        self._icon = QLabel()
        self._title = role_label("strong")
        self.text = role_label("body")
        self.text.setWordWrap(True)
        self.retry_button = QPushButton()
        self.close_button = QToolButton()
        self._build()
        self.retry_button.clicked.connect(self.retry_requested)
        self.close_button.clicked.connect(self.close_requested)
        theme.palette_changed.connect(self._on_theme_palette_changed)
        self._set_texts()
        self.hide()

    def _set_texts(self) -> None:
        self.close_button.setToolTip(self.tr("Close this message"))
        self.close_button.setAccessibleName(self.tr("Close this message"))

    @property
    def is_up(self) -> bool:
        return self._banner_state is not None

    def show_state(self, state: BannerState | None) -> None:
        """Show this state; None hides the banner."""
        if state == self._banner_state:
            return
        is_toggled = (state is None) != (self._banner_state is None)
        self._banner_state = state
        self.setVisible(state is not None)
        if is_toggled:
            self.toggled.emit()
        if state is None:
            return
        self._title.setText(state.title)
        self.text.setText(state.text)
        self.retry_button.setText(state.button)
        self.retry_button.setAccessibleName(state.button)
        self.retry_button.setVisible(bool(state.button))
        self.close_button.setVisible(state.can_close)
        self.setAccessibleName(f"{state.title} {state.text}")
        self._on_theme_palette_changed()

    def _build(self) -> None:
        # Title above text: side by side a long title leaves the text one word a line.
        text_column = QVBoxLayout()
        text_column.setSpacing(2)
        self._title.setWordWrap(True)
        text_column.addWidget(self._title)
        text_column.addWidget(self.text)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 9, 10, 9)
        row.setSpacing(10)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(text_column, 1)
        row.addWidget(self.retry_button, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        if self._banner_state is not None:
            self._icon.setPixmap(self._theme.pixmap(self._banner_state.icon, "crit", 18, self))
            self.close_button.setIcon(self._theme.icon("close"))


_NOTE_MS = 15_000


class StatusBar(QFrame):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("status")
        self.setFixedHeight(SIZES.status)
        self._theme = theme
        self._bar_state: StatusBarState | None = None
        self._dot = QLabel()
        self.link = role_label("meta")
        self._rate = role_label("meta")
        self._version = role_label("meta")
        self.note = ElidedLabel("meta", at_end=True)
        self._note_timer = QTimer(self, singleShot=True, interval=_NOTE_MS)
        self._note_timer.timeout.connect(self.note.hide)
        self.note.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(SIZES.padding, 0, SIZES.padding, 0)
        row.setSpacing(7)
        self._dot.setContentsMargins(0, 2, 0, 0)
        row.addWidget(self._dot)
        row.addWidget(self.link)
        row.addSpacing(12)
        row.addWidget(self._rate)
        row.addWidget(self.note, 1)
        row.addStretch(1)
        row.addWidget(self._version)
        theme.palette_changed.connect(self._on_theme_palette_changed)

    def show_state(self, state: StatusBarState) -> None:
        if state == self._bar_state:
            return
        self._bar_state = state
        self.link.setText(state.link)
        self.link.setToolTip(state.tooltip)
        self._rate.setText(state.rate)
        self._version.setText(state.version)
        self._on_theme_palette_changed()

    def show_note(self, text: str, *, tone: Tone = "warn") -> None:
        """Show a failure or a result for a while."""
        self.note.setText(text)
        self.note.setToolTip(text)
        set_tone(self.note, tone)
        self.note.show()
        self._note_timer.start()

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        if self._bar_state is not None:
            self._dot.setPixmap(self._theme.pixmap("dot", self._bar_state.tone, 12, self))
