"""Values of settings: the charts' refresh rate, and the days and sizes that users enter."""

from dataclasses import dataclass
from typing import Final, Literal

from kmonitor.ui.text.formats import BYTES, parse_amount, round_bytes_text, with_plain_spaces
from kmonitor.ui.text.language import tr

Pace = Literal["lively", "calm", "sparing"]
"""Refresh rate of charts and numbers while data arrive."""

_FRAMES_MS: Final[dict[Pace, tuple[int, int]]] = {
    "lively": (33, 100),
    "calm": (100, 250),
    "sparing": (500, 1000),
}
_MOST_DAYS: Final = 100_000
_LEAST_BYTES: Final = 2**20


def frame_ms(pace: Pace, *, is_busy: bool) -> int:
    """Return the milliseconds between two repaints.

    Args:
        pace: Refresh rate that the user chose.
        is_busy: True if the pointer is in the window.
    """
    return _FRAMES_MS[pace][0 if is_busy else 1]


def pace_titles() -> dict[Pace, str]:
    return {"lively": tr("Fast"), "calm": tr("Normal"), "sparing": tr("Slow")}


def pace_text(pace: Pace) -> str:
    """Describe a refresh rate and its cost."""
    match pace:
        case "lively":
            return tr(
                "Up to 30 updates a second for the chart under the pointer, and 10 for the "
                "others. With 8 runs at 10 values a second, this takes about a quarter of a CPU "
                "core."
            )
        case "calm":
            return tr(
                "10 updates a second for the chart under the pointer, and 4 for the others: less "
                "than half the load of Fast."
            )
        case "sparing":
            return tr(
                "2 updates a second for the chart under the pointer, and 1 for the others: about "
                "a tenth of the load of Fast, for slow machines, remote desktops and battery "
                "power."
            )


@dataclass(frozen=True, slots=True)
class FieldValue:
    """Value of a field.

    Attributes:
        value: Amount; None: the input is invalid.
        why_not: Reason why the input is invalid, shown beside the field; empty: it is valid.
    """

    value: float | None
    why_not: str = ""


def parse_days_field(text: str) -> FieldValue:
    """Parse days that the user entered; an empty text is 0: no bound."""
    found = parse_amount(text or "0", {"d": 1, "days": 1}, bare=1)
    if found is None:
        return FieldValue(
            None, tr("Enter a number of days, such as 90, or leave this empty to keep all runs.")
        )
    if found > _MOST_DAYS:
        return FieldValue(None, tr("Enter at most {n} days.").format(n=_MOST_DAYS))
    return FieldValue(found)


def parse_size_field(text: str) -> FieldValue:
    """Parse a size that the user entered, bytes; an empty text is 0: no bound."""
    if not text.strip() or text.strip() == "0":
        return FieldValue(0.0)
    found = parse_amount(text, BYTES, bare=None)
    if not found:
        return FieldValue(None, tr("Enter a size with a unit, such as 20 GiB or 500 MB."))
    if found < _LEAST_BYTES:
        return FieldValue(None, tr("Enter 1 MiB or more, or leave this empty to keep all runs."))
    return FieldValue(float(int(found)))


def days_text(days: float) -> str:
    """Format days for a field; empty: no bound."""
    return f"{days:g}" if days else ""


def size_text(n_bytes: int) -> str:
    """Format a size for a field so that it can be parsed again; empty: no bound."""
    return with_plain_spaces(round_bytes_text(n_bytes)) if n_bytes else ""
