"""Translation of texts without Qt, and a check for an installed font for Chinese."""

import ctypes
from collections.abc import Callable
from typing import Final


class _Translator:
    """Holds the translation function of this process; main thread only."""

    def __init__(self) -> None:
        self.translate: Callable[[str], str] = str
        self.tag = "en"


_translator = _Translator()


def tr(text: str) -> str:
    """Translate a text into the user's language; named fields in braces are filled in afterwards.

    Args:
        text: English source, as a literal so that the translation tools find it; or a text from a
            table, marked there by `later`.
    """
    return _translator.translate(text)


def later(text: str) -> str:
    """Mark a text in a table for translation; `tr` translates it where it is shown.

    Args:
        text: English source, as a literal.
    """
    return text


def language_tag() -> str:
    """Language tag of the language in force, for documents: "en", "zh-CN"."""
    return _translator.tag


def use_translation(translate: Callable[[str], str], tag: str = "en") -> None:
    """Set the translation function; the window passes Qt's.

    Args:
        translate: Returns a text in the language.
        tag: Language tag for documents.
    """
    _translator.translate = translate
    _translator.tag = tag


PACKAGE: Final = "fonts-wqy-microhei"
"""Small Debian package with a Chinese font; `fonts-noto-cjk` has every weight."""

_FONTCONFIG: Final = "libfontconfig.so.1"


class _FontSet(ctypes.Structure):
    """FcFontSet of fontconfig.h; only the count is used."""

    _fields_ = (("nfont", ctypes.c_int),)


def has_chinese_font() -> bool | None:
    """True if fontconfig has a font for Chinese; None if there is no fontconfig."""
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
