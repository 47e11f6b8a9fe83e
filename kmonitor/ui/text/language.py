"""Translation of texts that are made without Qt, and whether a font for Chinese is installed."""

import ctypes
from collections.abc import Callable
from typing import Final


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
    """The same text, marked for translation: from a table, `tr` translates it where it is shown.

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
    _translator.translate = translate
    _translator.tag = tag


PACKAGE: Final = "fonts-wqy-microhei"
"""The small Debian package with one; `fonts-noto-cjk` has every weight."""

_FONTCONFIG: Final = "libfontconfig.so.1"


class _FontSet(ctypes.Structure):
    """FcFontSet of fontconfig.h; only the count is read."""

    _fields_ = (("nfont", ctypes.c_int),)


def has_chinese_font() -> bool | None:
    """Whether fontconfig knows a font for Chinese; None if there is no fontconfig."""
    try:
        library = ctypes.CDLL(_FONTCONFIG)
    except OSError:
        return None
    library.FcNameParse.restype = ctypes.c_void_p
    library.FcObjectSetCreate.restype = ctypes.c_void_p
    library.FcFontList.restype = ctypes.POINTER(_FontSet)
    wanted = ctypes.c_void_p(library.FcNameParse(b":lang=zh"))
    fields = ctypes.c_void_p(library.FcObjectSetCreate())
    found = library.FcFontList(None, wanted, fields)
    if not found:
        return None
    number = int(found.contents.nfont)
    library.FcFontSetDestroy(found)
    library.FcObjectSetDestroy(fields)
    library.FcPatternDestroy(wanted)
    return number > 0
