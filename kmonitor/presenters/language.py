"""Where the app's language enters texts that are made without Qt."""

from collections.abc import Callable


class _Translator:
    """Holds the one translation function of this process; main thread only."""

    def __init__(self) -> None:
        self.translate: Callable[[str], str] = str


_translator = _Translator()


def tr(text: str) -> str:
    """A text in the user's language; named fields in braces are filled in afterwards.

    Args:
        text: The English source, as a literal so that the translator's tools find it.
    """
    return _translator.translate(text)


def use_translation(translate: Callable[[str], str]) -> None:
    """Translate with this function from now on; the window passes Qt's."""
    _translator.translate = translate
