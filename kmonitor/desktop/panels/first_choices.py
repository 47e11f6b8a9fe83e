"""What a newcomer may choose before the first run: theme, language, and where to read on."""

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from kmonitor.desktop.controls.segments import Segments


class FirstChoices(QWidget):
    """One quiet line at the page's foot; the same choices stand in the settings later.

    Signals (main thread):
        theme_chosen: "system", "dark" or "light".
        language_chosen: As the language's name stands in the settings.
        guide_requested: The guide's page for newcomers is wanted.
        keyboard_requested: The page of keys is.
    """

    theme_chosen = Signal(str)
    language_chosen = Signal(str)
    guide_requested = Signal()
    keyboard_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = Segments(
            {
                "system": self.tr("As the system"),
                "dark": self.tr("Dark"),
                "light": self.tr("Light"),
            },
            self.tr("Theme"),
        )
        self._language: Segments | None = None
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(10)
        self._row.addWidget(self._theme)
        for title, tip, told in (
            (self.tr("Guide"), self.tr("The first steps, and more (F1)"), self.guide_requested),
            (self.tr("Keyboard"), self.tr("Every key (?)"), self.keyboard_requested),
        ):
            button = QPushButton(title)
            button.setProperty("kind", "filter")
            button.setAccessibleName(title)
            button.setToolTip(tip)
            button.clicked.connect(told)
            self._row.addWidget(button)
        self._theme.chosen.connect(self.theme_chosen)

    def show_theme(self, theme: str) -> None:
        """Show which theme is in force."""
        self._theme.choose(theme)

    def show_languages(self, languages: Mapping[str, str], chosen: str) -> None:
        """Offer these languages besides the system's.

        Args:
            languages: What each is called in itself, by its name in the settings; may be empty.
            chosen: Which is in force.
        """
        if not languages:
            return
        if self._language is None:
            choices = {"system": self.tr("As the system"), **languages}
            self._language = Segments(choices, self.tr("Language"))
            self._language.chosen.connect(self.language_chosen)
            self._row.insertWidget(1, self._language)
        self._language.choose(chosen)
