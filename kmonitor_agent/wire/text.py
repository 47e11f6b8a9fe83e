"""A number of bytes as people read it."""

from typing import Final

_STEP: Final = 1024.0
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


def bytes_text(n_bytes: float) -> str:
    """A size in the largest binary unit that leaves a number of 1 or more: "1.4 GiB"."""
    size, unit = float(n_bytes), 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size /= _STEP
        unit += 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"
