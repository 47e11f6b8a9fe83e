"""Amounts with units as people type them: `30d`, `20GiB`, `500 MB`."""

import re
from collections.abc import Mapping
from typing import Final

BYTES: Final = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "k": 2**10,
    "m": 2**20,
    "g": 2**30,
    "t": 2**40,
}
"""Bytes of a unit, in small letters."""

_FORM: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")


def amount_from(text: str, units: Mapping[str, int], *, bare: int | None) -> float | None:
    """The amount that was typed; None: it is none.

    Args:
        text: A number and perhaps a unit.
        units: What one of each is, in small letters.
        bare: What one is without a unit; None: only 0 goes without.
    """
    found = _FORM.fullmatch(text.strip())
    unit = found[2].lower() if found else ""
    if found is None or (unit and unit not in units):
        return None
    one = units[unit] if unit else bare
    if one is None:
        return None if float(found[1]) else 0.0
    return float(found[1]) * one
