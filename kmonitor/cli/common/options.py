"""Durations and sizes as people type them: `30d`, `12h`, `20GiB`."""

from collections.abc import Mapping
from typing import Final

from kmonitor.cli.common.statuses import Misuse
from kmonitor.ui.text.amounts import BYTES, amount_from

_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def seconds_from(text: str, option: str) -> float:
    """A duration, seconds; a bare number is days.

    Raises:
        Misuse: It is none.
    """
    return _amount(text, _SECONDS, 86400, f"{option} {text}: write a time, such as 30d or 12h")


def bytes_from(text: str, option: str) -> int:
    """A size, bytes; only 0 goes without a unit: who types 5 may mean GiB, and history goes by it.

    Raises:
        Misuse: It is none.
    """
    what = f"{option} {text}: write a size with its unit, such as 20GiB or 500MB"
    return int(_amount(text, BYTES, None, what))


def _amount(text: str, units: Mapping[str, int], bare: int | None, what: str) -> float:
    found = amount_from(text, units, bare=bare)
    if found is None:
        raise Misuse(f"{what}.")
    return found
