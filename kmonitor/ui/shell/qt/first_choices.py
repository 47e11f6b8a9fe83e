"""What a newcomer may choose before the first run: theme, language, and where to read on."""

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from kmonitor.ui.widgets.segments import Segments
from kmonitor.ui.widgets.tab_order import tab_along


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
        self._theme = Segments(self._themes(), "")
        self._language: Segments | None = None
        self._languages: dict[str, str] = {}
        self._guide = QPushButton()
        self._keyboard = QPushButton()
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(10)
        self._row.addWidget(self._theme)
        for button, told in (
            (self._guide, self.guide_requested),
            (self._keyboard, self.keyboard_requested),
        ):
            button.setProperty("kind", "filter")
            button.clicked.connect(told)
            self._row.addWidget(button)
        self._theme.chosen.connect(self.theme_chosen)
        self._set_texts()

    def _set_texts(self) -> None:
        self._theme.rename(self._themes(), self.tr("Theme"))
        if self._language is not None:
            self._language.rename(self._spoken(), self.tr("Language"))
        self._guide.setText(self.tr("Guide"))
        self._guide.setToolTip(self.tr("The first steps, and more (F1)"))
        self._keyboard.setText(self.tr("Keyboard"))
        self._keyboard.setToolTip(self.tr("Every key (?)"))
        for button in (self._guide, self._keyboard):
            button.setAccessibleName(button.text())

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
            self._languages = dict(languages)
            self._language = Segments(self._spoken(), self.tr("Language"))
            self._language.chosen.connect(self.language_chosen)
            self._row.insertWidget(1, self._language)
            tab_along((*self._theme.buttons, *self._language.buttons, self._guide, self._keyboard))
        self._language.choose(chosen)

    def _themes(self) -> dict[str, str]:
        return {
            "system": self.tr("As the system"),
            "dark": self.tr("Dark"),
            "light": self.tr("Light"),
        }

    def _spoken(self) -> dict[str, str]:
        return {"system": self.tr("As the system"), **self._languages}
