"""Language of the window: English as in the code, or that of a catalogue."""

import logging
from typing import Final, Literal

from PySide6.QtCore import (
    QCoreApplication,
    QLibraryInfo,
    QLocale,
    QObject,
    QTranslator,
    Signal,
)
from PySide6.QtWidgets import QApplication

from kmonitor.base.installation import resource_path
from kmonitor.ui.settings.window_settings import LanguageName
from kmonitor.ui.text.language import PACKAGE, has_chinese_font, use_translation

_log = logging.getLogger(__name__)
Spoken = Literal["en", "zh_CN"]
_TITLES: Final[dict[Spoken, str]] = {
    "en": "English",
    "zh_CN": "\u7b80\u4f53\u4e2d\u6587 (Simplified Chinese)",
}
_WITHOUT_LETTERS: Final[dict[Spoken, str]] = {"zh_CN": "Chinese (Simplified)"}


def language_titles() -> dict[str, str]:
    """Each language by its own name, the same in every language, if fonts can display it."""
    letters = {} if has_chinese_font() is not False else _WITHOUT_LETTERS
    return {**_TITLES, **letters}


class LanguageController(QObject):
    """Owns the choice of the language; main thread only.

    The language stays the same while the window is open: texts are set when widgets are created.

    Signals (main thread):
        refused: The chosen language cannot be displayed; with the reason and the remedy, both in
            English.
    """

    refused = Signal(str, str)

    def __init__(self, app: QApplication, parent: QObject | None = None) -> None:
        """The language is English until `use_language` is called."""
        super().__init__(parent)
        self._app = app
        self._language: LanguageName = "system"
        self._spoken: Spoken = "en"
        self._translators: list[QTranslator] = []
        self.why_not: tuple[str, str] | None = None
        use_translation(_translate)

    @property
    def language(self) -> LanguageName:
        """Language that the user chose."""
        return self._language

    @property
    def current_language(self) -> Spoken:
        return self._spoken

    def use_language(self, name: str) -> None:
        """Set the language before the first widget exists; an unknown name means the system's."""
        self._spoken = self.choose(name)
        if self._spoken != "en":
            self._load(self._spoken)
            use_translation(_translate, self._spoken.replace("_", "-"))

    def choose(self, name: str) -> Spoken:
        """Store the language for the next start of the window; returns the one then used."""
        match name:
            case "en" | "zh_CN":
                self._language = name
            case _:
                self._language = "system"
        wanted = self._language if self._language != "system" else _language_of_system()
        self.why_not = _why_not(wanted)
        if self.why_not is None:
            return wanted
        _log.warning("%s %s", *self.why_not)
        self.refused.emit(*self.why_not)
        return "en"

    def stop(self) -> None:
        """Remove the translators from Qt."""
        for translator in self._translators:
            self._app.removeTranslator(translator)
            translator.deleteLater()
        self._translators = []
        use_translation(str)

    def _load(self, language: Spoken) -> None:
        for name, folder in (
            (f"qtbase_{language}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)),
            (f"kmonitor_{language}", _own_folder()),
        ):
            translator = QTranslator(self)
            if translator.load(name, folder):
                self._app.installTranslator(translator)
                self._translators.append(translator)
            else:
                _log.warning("the language file %s is missing from %r", name, folder)


def _translate(text: str) -> str:
    return QCoreApplication.translate("presenters", text)


def _own_folder() -> str:
    try:
        return str(resource_path("languages"))
    except FileNotFoundError:
        return ""


def _language_of_system() -> Spoken:
    for name in QLocale.system().uiLanguages():
        if name.startswith("zh-Hans") or name in {"zh-CN", "zh-SG"}:
            return "zh_CN"
        if name.startswith("en"):
            break
    return "en"


def _why_not(wanted: Spoken) -> tuple[str, str] | None:
    if wanted == "en" or has_chinese_font() is not False:
        return None
    return (
        "This machine has no font with Chinese characters, so the window stays in English.",
        f"Install one and restart kmonitor: sudo apt-get install {PACKAGE}",
    )
