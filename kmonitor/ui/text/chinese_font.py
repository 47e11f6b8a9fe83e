"""Whether this machine has a font for Chinese letters, which the bundled typeface lacks."""

import ctypes
from typing import Final

PACKAGE: Final = "fonts-wqy-microhei"
"""The small Debian package with one; `fonts-noto-cjk` has every weight."""

_LIBRARY: Final = "libfontconfig.so.1"


class _FontSet(ctypes.Structure):
    """FcFontSet of fontconfig.h; only the count is read."""

    _fields_ = (("nfont", ctypes.c_int),)


def has_chinese_font() -> bool | None:
    """Whether fontconfig knows a font for Chinese; None where nobody can be asked."""
    try:
        library = ctypes.CDLL(_LIBRARY)
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
