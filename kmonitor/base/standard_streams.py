"""Standard streams that are missing (`>&-`, a service) or cannot encode a text (LANG=C)."""

import codecs
import io
import os
import sys
from typing import Any, Final

_ESCAPES: Final = "kmonitor-escapes"

_STREAMS: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def fill_standard_streams() -> None:
    """Open missing streams on the null device, so that a later file cannot take their number."""
    for number, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
            setattr(sys, name, os.fdopen(opened, mode, encoding="utf-8", errors="replace"))


def escape_what_cannot_be_encoded() -> None:
    r"""Make output in ASCII or Latin-1 write `\uXXXX` instead of raising `UnicodeEncodeError`.

    The same escapes are valid within JSON strings.
    """
    codecs.register_error(_ESCAPES, _escaped)
    stream: Any
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and _raises(stream):
            stream.reconfigure(errors=_ESCAPES)


def _raises(stream: Any) -> bool:
    # In the C locale bytes of names come back as they were, and all else is refused.
    is_unicode = codecs.lookup(stream.encoding).name.startswith("utf-")
    return stream.errors == "strict" or (stream.errors == "surrogateescape" and not is_unicode)


def _escaped(exc: UnicodeError) -> tuple[str, int]:
    if not isinstance(exc, UnicodeEncodeError):
        raise exc
    units = exc.object[exc.start : exc.end].encode("utf-16-be", "surrogatepass")
    pairs = zip(units[::2], units[1::2], strict=True)
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in pairs), exc.end
