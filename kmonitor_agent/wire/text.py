"""Text that the agent prints: sizes, and texts of a training without control characters.

The window writes sizes in the unit that its user chose (`ui/text/formats.py` of kmonitor).
"""

import unicodedata
from typing import Final

_STEP: Final = 1024.0
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


def binary_size(n_bytes: float, *, unit_of: float | None = None) -> str:
    """A size in the largest binary unit that leaves a number of 1 or more: "1.4 GiB".

    Args:
        unit_of: Size whose unit is used instead, bytes, for a comparison: "0.7 MiB of 26.9 MiB".
    """
    _, unit = _in_unit(n_bytes if unit_of is None else unit_of)
    size = n_bytes / _STEP**unit
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


def round_binary_size(n_bytes: float) -> str:
    """A size that somebody chose, as the window shows it: "551 MiB", "12 GiB", "1.5 GiB"."""
    size, unit = _in_unit(n_bytes)
    is_small = size < 99.95  # noqa: PLR2004 - three digits
    tenths = 1 if unit >= _UNITS.index("GiB") or (unit and is_small) else 0
    return f"{size:.{tenths}f}".removesuffix(".0") + f" {_UNITS[unit]}"


def _in_unit(n_bytes: float) -> tuple[float, int]:
    """A size and the index of its unit, so that no text says 1024 of a unit."""
    size = float(n_bytes)
    unit = 0
    while size >= _STEP - 0.5 and unit < len(_UNITS) - 1:
        size /= _STEP
        unit += 1
    return size, unit


def printable(text: str) -> str:
    """A text from a training without characters that move a cursor, colour, or reverse a line.

    A space of any width becomes an ordinary one, every other invisible character a replacement
    mark.
    """
    return "".join(c if c.isprintable() else _seen(c) for c in text)


def _seen(letter: str) -> str:
    return " " if unicodedata.category(letter) == "Zs" else "\N{REPLACEMENT CHARACTER}"
