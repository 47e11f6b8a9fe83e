"""Puts theme and language in force, wherever they are chosen, and shows them everywhere."""

import msgspec
from PySide6.QtCore import QObject, Signal, Slot

from kmonitor.ui.actions.action_panel import ConfirmPicture
from kmonitor.ui.guide.qt.help_controller import HelpController
from kmonitor.ui.settings.qt.language_controller import LanguageKeeper, language_titles
from kmonitor.ui.settings.qt.settings_controller import SettingsController
from kmonitor.ui.settings.window_settings import WindowSettings
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme_controller import ThemeKeeper
from kmonitor.ui.widgets.questions import QuestionBox, message_box


class ChoicesController(QObject):
    """Binds the header's menu, the page before the first run, and the settings; main thread only.

    Signals:
        settings_changed: Something to be remembered changed.
        reopening_requested: The window is to be closed and opened again.
    """

    settings_changed = Signal()
    reopening_requested = Signal()

    def __init__(
        self,
        window: MainWindow,
        theme: ThemeKeeper,
        language: LanguageKeeper,
        preferences: SettingsController,
        guide: HelpController,
    ) -> None:
        """Of the window that is its parent, which shows what is in force from now on."""
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._language = language
        self._guide = guide
        self._preferences = preferences
        preferences.attach_language(language)
        header, page = window.header, window.first_start.choices
        for part in (header, page, preferences):
            part.theme_chosen.connect(self.choose_theme)
            part.language_chosen.connect(self.choose_language)
        page.guide_requested.connect(self._on_page_guide_requested)
        page.keyboard_requested.connect(guide.open_keyboard)
        language.refused.connect(self._on_language_refused)
        self._show()

    def settings(self, base: WindowSettings) -> WindowSettings:
        """The settings with what is chosen now."""
        return msgspec.structs.replace(
            base, theme=self._theme.choice, language=self._language.language
        )

    @Slot(str)
    def choose_theme(self, theme: str) -> None:
        """Use this theme from now on: "system", "dark" or "light"."""
        self._theme.choose_named(theme)
        self._show()
        self.settings_changed.emit()

    @Slot(str)
    def choose_language(self, language: str) -> None:
        """Speak this language, by its name in the settings, once the window is opened again."""
        next_spoken = self._language.choose(language)
        self._show()
        self.settings_changed.emit()
        if next_spoken != self._language.spoken:
            box = QuestionBox(self._offer(), self._window, is_dangerous=False)
            box.accepted.connect(self.reopening_requested)
            box.open()

    def _offer(self) -> ConfirmPicture:
        return ConfirmPicture(
            self.tr("The language changes when the window is opened again."),
            self.tr("That takes a second, and no run notices. Open it again now?"),
            self.tr("Open again"),
            self.tr("Later"),
        )

    def _show(self) -> None:
        theme, language = self._theme.choice, self._language.language
        self._window.header.show_theme(theme)
        self._window.header.show_language(language)
        self._window.first_start.choices.show_theme(theme)
        self._window.first_start.choices.show_languages(language_titles(), language)
        self._preferences.refresh()

    @Slot()
    def _on_page_guide_requested(self) -> None:
        self._guide.open_page("getting-started.md")

    @Slot(str, str)
    def _on_language_refused(self, what: str, remedy: str) -> None:
        message_box(what, remedy, self._window).open()
