"""Options of several commands: durations and sizes as typed (`30d`), choices, and model files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, get_args

from cyclopts import Parameter

from kmonitor.cli.common.terminal import UsageError
from kmonitor.ui.text.formats import BYTES, parse_amount

JsonOption = Annotated[bool, Parameter(name="--json", negative="")]

_MOST: Final = 2**62
"""Largest accepted bytes or seconds; no field of a message takes more."""

_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def seconds_from(text: str, option: str, *, bare_s: int = 86400) -> float:
    """Parse a duration, seconds; a bare number is in days, or in units of `bare_s` seconds.

    Raises:
        UsageError: The text is no duration.
    """
    return _amount(text, _SECONDS, bare_s, f"{option} {text}: use a duration, such as 30d or 12h")


def bytes_from(text: str, option: str) -> int:
    """Parse a size, bytes.

    Only 0 needs no unit: a bare 5 may be meant as GiB, and such sizes decide on the removal of
    history.

    Raises:
        UsageError: The text is no size.
    """
    what = f"{option} {text}: use a size with a unit, such as 20GiB or 500MB"
    return int(_amount(text, BYTES, None, what))


def _amount(text: str, units: Mapping[str, int], bare: int | None, what: str) -> float:
    found = parse_amount(text, units, bare=bare)
    if found is None or found > _MOST:
        raise UsageError(f"{what}.")
    return found


def choices_of(hint: Any) -> Iterator[str]:
    """Texts of the literals in a type."""
    for each in get_args(hint):
        if isinstance(each, str):
            yield each
        else:
            yield from choices_of(each)


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How a model file is read.

    Attributes:
        config: A JSON file with the architecture, for a .weights.h5 file.
        custom: A Python file with custom classes; it is run.
        allow_code: Run code that is inside the model file.
    """

    config: Path | None = None
    custom: Path | None = None
    allow_code: Annotated[bool, Parameter(negative="")] = False


NO_OPTIONS: Final = FileOptions()
"""Only the model file itself, without running code in it."""
