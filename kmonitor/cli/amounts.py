"""Durations and sizes as people type them: `30d`, `12h`, `20GiB`."""

import re
from typing import Final

from kmonitor.cli.statuses import Misuse

_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_BYTES: Final = {
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
_FORM: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")


def seconds_from(text: str, option: str) -> float:
    """A duration, seconds; a bare number is days.

    Raises:
        Misuse: It is none.
    """
    return _amount(text, _SECONDS, 86400, f"{option} {text}: write a time, such as 30d or 12h")


def bytes_from(text: str, option: str) -> int:
    """A size, bytes; a bare number is bytes.

    Raises:
        Misuse: It is none.
    """
    return int(_amount(text, _BYTES, 1, f"{option} {text}: write a size, such as 20GiB or 500MB"))


def _amount(text: str, units: dict[str, int], bare: int, what: str) -> float:
    found = _FORM.fullmatch(text.strip())
    unit = found[2].lower() if found else ""
    if found is None or (unit and unit not in units):
        raise Misuse(f"{what}.")
    return float(found[1]) * (units[unit] if unit else bare)
