"""Where the app's language enters texts that are made without Qt."""

from collections.abc import Callable


class _Translator:
    """Holds the one translation function of this process; main thread only."""

    def __init__(self) -> None:
        self.translate: Callable[[str], str] = str
        self.tag = "en"


_translator = _Translator()


def tr(text: str) -> str:
    """A text in the user's language; named fields in braces are filled in afterwards.

    Args:
        text: The English source, as a literal so that the translator's tools find it; or one
            from a table, where it was marked by `later`.
    """
    return _translator.translate(text)


def later(text: str) -> str:
    """The same text: it stands in a table, and `tr` translates it where it is shown.

    Args:
        text: The English source, as a literal.
    """
    return text


def language_tag() -> str:
    """What the language in force is called in a document: "en", "zh-CN"."""
    return _translator.tag


def use_translation(translate: Callable[[str], str], tag: str = "en") -> None:
    """Translate with this function from now on; the window passes Qt's.

    Args:
        translate: Gives a text in the language.
        tag: What the language is called in a document.
    """
    _translator.translate, _translator.tag = translate, tag
