"""Page before the first run: first steps, and choices of theme and language."""

from collections.abc import Mapping

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from kmonitor.ui.shell.first_start import SNIPPET, FirstStartState
from kmonitor.ui.theme.qt.theme import Theme, role_label
from kmonitor.ui.widgets.buttons import FolderButton, SegmentedControl
from kmonitor.ui.widgets.keyboard import set_tab_order

_COPIED_MS = 1800
_TEXT_WIDTH = 480


class FirstStartPanel(QFrame):
    """Shows what kmonitor waits for, and the lines to add to a script.

    Signals (main thread):
        demo_requested: The user wants to see a demo training.
        connect_requested: The user wants to connect to a host.
        folder_requested: The user wants to see the runs of a folder.

    Attributes:
        choices: Theme, language and guide, at the page's foot.
        connect_button: Opens the dialog that connects to a host.
    """

    demo_requested = Signal()
    connect_requested = Signal()
    folder_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._theme = theme
        self._mark = QLabel()
        self._title = role_label("big")
        self._text = role_label("sub")
        self._snippet = role_label("snippet", SNIPPET)
        self._copy = QPushButton()
        self._demo = QPushButton()
        self.connect_button = QPushButton()
        self._folder = FolderButton()
        self._note = role_label("meta")
        self._about = role_label("meta")
        self.choices = FirstChoices()
        self._build()
        self._copy.clicked.connect(self._on_copy_clicked)
        self._demo.clicked.connect(self.demo_requested)
        self._folder.clicked.connect(self.folder_requested)
        self.connect_button.clicked.connect(self.connect_requested)
        theme.palette_changed.connect(self._on_theme_palette_changed)
        self._on_theme_palette_changed()
        self._set_texts()

    def _set_texts(self) -> None:
        self._about.setText(
            self.tr(
                "The first line imports the callback, and the second passes it to fit. It works "
                "with Keras 3 and tf_keras; your data stays on this machine."
            )
        )
        self._copy.setText(self.tr("Copy the two lines"))
        self._copy.setToolTip(self.tr("Copy both lines to the clipboard"))
        self._copy.setAccessibleName(self._copy.text())
        self._demo.setToolTip(
            self.tr("A real training run that takes about a minute, in its own process")
        )
        self.connect_button.setText(self.tr("Connect to a host\u2026"))
        self.connect_button.setToolTip(
            self.tr("Show the runs on another machine, over ssh (Ctrl+H)")
        )
        self.connect_button.setAccessibleName(self.connect_button.text())
        self._snippet.setAccessibleName(self.tr("Lines to add to your training script"))

    def show_state(self, state: FirstStartState) -> None:
        self._title.setText(state.title)
        self._text.setText(state.text)
        self._demo.setText(state.demo_button)
        self._demo.setEnabled(state.can_start_demo)
        self._demo.setAccessibleName(state.demo_button)
        self._note.setText(state.note)
        for label in (self._text, self._about, self._note):
            # A wrapped label that is centred would get the height of one line only.
            label.setFixedHeight(max(0, label.heightForWidth(_TEXT_WIDTH)))

    def _build(self) -> None:
        self._copy.setProperty("kind", "primary")
        self._snippet.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        centre = Qt.AlignmentFlag.AlignHCenter
        for label in (self._mark, self._title, self._text, self._about, self._note):
            label.setAlignment(centre)
        for label in (self._text, self._about, self._note):
            label.setWordWrap(True)
            label.setFixedWidth(_TEXT_WIDTH)
        self._lay_out()

    def _lay_out(self) -> None:
        centre = Qt.AlignmentFlag.AlignHCenter
        buttons = QHBoxLayout()
        buttons.setSpacing(10)
        buttons.addStretch(1)
        buttons.addWidget(self._copy)
        buttons.addWidget(self._demo)
        buttons.addWidget(self._folder)
        buttons.addWidget(self.connect_button)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 24, 24, 24)
        column.setSpacing(12)
        column.addStretch(3)
        for part in (self._mark, self._title, self._text, self._snippet, self._about):
            column.addWidget(part, 0, centre)
        column.addSpacing(4)
        column.addLayout(buttons)
        column.addWidget(self._note, 0, centre)
        column.addStretch(4)
        column.addWidget(self.choices, 0, centre)

    @Slot()
    def _on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText(SNIPPET)
        self._copy.setText(self.tr("Copied"))
        QTimer.singleShot(_COPIED_MS, self._on_copied_timeout)

    @Slot()
    def _on_copied_timeout(self) -> None:
        self._copy.setText(self.tr("Copy the two lines"))

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._mark.setPixmap(self._theme.pixmap("logo", "accent", 44, self))


class FirstChoices(QWidget):
    """One line at the foot of the page; the settings offer the same choices later.

    Signals (main thread):
        theme_chosen: "system", "dark" or "light".
        language_chosen: Name of the language in the settings.
        guide_requested: The guide's page for newcomers should open.
        keyboard_requested: The page of keys should open.
    """

    theme_chosen = Signal(str)
    language_chosen = Signal(str)
    guide_requested = Signal()
    keyboard_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = SegmentedControl(self._themes(), "")
        self._language: SegmentedControl | None = None
        self._languages: dict[str, str] = {}
        self._guide = QPushButton()
        self._keyboard = QPushButton()
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(10)
        self._row.addWidget(self._theme)
        for button, slot in (
            (self._guide, self.guide_requested),
            (self._keyboard, self.keyboard_requested),
        ):
            button.setProperty("kind", "filter")
            button.clicked.connect(slot)
            self._row.addWidget(button)
        self._theme.chosen.connect(self.theme_chosen)
        self._set_texts()

    def _set_texts(self) -> None:
        self._theme.rename(self._themes(), self.tr("Theme"))
        if self._language is not None:
            self._language.rename(self._language_titles(), self.tr("Language"))
        self._guide.setText(self.tr("Guide"))
        self._guide.setToolTip(self.tr("Getting started and more (F1)"))
        self._keyboard.setText(self.tr("Keyboard"))
        self._keyboard.setToolTip(self.tr("All keyboard shortcuts (?)"))
        for button in (self._guide, self._keyboard):
            button.setAccessibleName(button.text())

    def show_theme(self, theme: str) -> None:
        self._theme.choose(theme)

    def show_languages(self, languages: Mapping[str, str], chosen: str) -> None:
        """Set the languages to choose from, besides the system's.

        Args:
            languages: Name of each language in that language, by its name in the settings; may be
                empty.
        """
        if not languages:
            return
        if self._language is None:
            self._languages = dict(languages)
            self._language = SegmentedControl(self._language_titles(), self.tr("Language"))
            self._language.chosen.connect(self.language_chosen)
            self._row.insertWidget(1, self._language)
            set_tab_order(
                (*self._theme.buttons, *self._language.buttons, self._guide, self._keyboard)
            )
        self._language.choose(chosen)

    def _themes(self) -> dict[str, str]:
        return {
            "system": self.tr("System"),
            "dark": self.tr("Dark"),
            "light": self.tr("Light"),
        }

    def _language_titles(self) -> dict[str, str]:
        return {"system": self.tr("System"), **self._languages}
