"""Numbers, sizes and times as text, and parsing of amounts that users enter.

Formats the numbers of all texts but the ticks of axes; texts of agent and hub are made by
`kmonitor_agent.wire.text`. A narrow no-break space (U+202F) groups digits and separates a number
from its unit; `with_plain_spaces` turns it into an ordinary one for terminals and files. The
percent sign follows its number directly.
"""

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.fields import MAX_WALL_S

NARROW_SPACE: Final = "\u202f"
NOT_KNOWN: Final = "\u2013"

Unit = Literal[
    "bytes",
    "seconds",
    "operations",
    "functions",
    "count",
    "number",
    "fraction",
    "celsius",
    "watts",
    "hertz",
]
"""Units of charted values; a count and a number have none, a fraction is shown in percent."""

ByteUnits = Literal["binary", "decimal"]
"""Sizes in KiB, MiB, GiB of 1024, or in kB, MB, GB of 1000."""

_UNIT_NAMES: Final[dict[ByteUnits, tuple[str, ...]]] = {
    "binary": ("B", "KiB", "MiB", "GiB", "TiB", "PiB"),
    "decimal": ("B", "kB", "MB", "GB", "TB", "PB"),
}
_STEPS: Final[dict[ByteUnits, float]] = {"binary": 1024.0, "decimal": 1000.0}
_GIGA: Final = 3
_TENTHS_UP_TO: Final = 99.95
_WHOLE_FROM: Final = 10.0
_MINUTE_S: Final = 60.0
_HOUR_S: Final = 3600.0
_DAY_S: Final = 86400.0


class _ByteUnitChoice:
    """Holds the units in which this process writes sizes; main thread only."""

    def __init__(self) -> None:
        self.units: ByteUnits = "binary"


_byte_unit_choice = _ByteUnitChoice()


def use_byte_units(units: ByteUnits) -> None:
    """Set the units of sizes; the window passes the user's choice."""
    _byte_unit_choice.units = units


def byte_step() -> float:
    """Factor between two units of sizes: 1024 or 1000."""
    return _STEPS[_byte_unit_choice.units]


def unit_bytes(unit: str) -> float:
    """Number of bytes in a unit of sizes. Raises: ValueError: the unit is not in use."""
    return byte_step() ** _unit_names().index(unit)


def with_plain_spaces(text: str) -> str:
    """Replace narrow spaces with ordinary ones, for terminals that lack the narrow one."""
    return text.replace(NARROW_SPACE, " ")


def shortened(text: str, most: int) -> str:
    """Return the first line of a text, cut to at most `most` characters with an ellipsis."""
    line = text.partition("\n")[0].strip()
    return line if len(line) <= most else line[: most - 1].rstrip() + "\u2026"


def bytes_text(n: float) -> str:
    """Size as text: "812 B", "10.6 MiB", "598 MiB", "1.4 GiB"; one decimal from GiB on."""
    unit = byte_unit(n)
    return f"{bytes_in_unit(n, unit)}{NARROW_SPACE}{unit}"


def round_bytes_text(n: float) -> str:
    """Size that a user chose: "72 GiB", where a measured size reads "72.0 GiB"."""
    return bytes_text(n).replace(f".0{NARROW_SPACE}", NARROW_SPACE)


def byte_unit(n: float) -> str:
    """Unit that suits a size: the largest in which the size is at least one."""
    size = abs(n)
    index = 0
    names = _unit_names()
    step = byte_step()
    while size >= step - 0.5 and index < len(names) - 1:
        size = size / step
        index = index + 1
    return names[index]


def bytes_in_unit(n: float, unit: str, *, decimals: int | None = None) -> str:
    """Number of a size in a given unit, without the unit.

    Args:
        unit: "B", "KiB", "MiB", "GiB", ... as returned by `byte_unit`.
        decimals: Number of decimals; None: as suits the size.
    """
    index = _unit_names().index(unit)
    size = n / byte_step() ** index
    if decimals is None:
        decimals = _byte_decimals(size, index)
    return _grouped(size, decimals)


def bytes_change_text(before: float, after: float) -> str:
    """Two sizes in one unit: "731 → 598 MiB"; one more decimal if they would look the same."""
    unit = byte_unit(max(before, after))
    index = _unit_names().index(unit)
    decimals = max(_byte_decimals(n / byte_step() ** index, index) for n in (before, after))
    texts = [bytes_in_unit(n, unit, decimals=decimals) for n in (before, after)]
    if texts[0] == texts[1] and before != after and index:
        texts = [bytes_in_unit(n, unit, decimals=decimals + 1) for n in (before, after)]
    return f"{texts[0]} \u2192 {texts[1]}{NARROW_SPACE}{unit}"


def count_text(n: float) -> str:
    """Whole number in groups of three digits: "24 374"."""
    return _grouped(n, 0)


def epochs_text(n: int) -> str:
    """Number of epochs: "1 epoch", "5 epochs"."""
    return tr("1 epoch") if n == 1 else tr("{n} epochs").format(n=count_text(n))


def steps_text(n: int) -> str:
    """Number of steps: "1 step", "5 steps"."""
    return tr("1 step") if n == 1 else tr("{n} steps").format(n=count_text(n))


def working_text(n_done: int, of: int) -> str:
    """Progress of a slow reply of the hub, in events read; `of` 0: the total is not known."""
    if not of:
        return tr("Loading\u2026")
    text = tr("Loading: {done} of {all} events read")
    return text.format(done=count_text(n_done), all=count_text(of))


def count_change_text(before: float, after: float) -> str:
    """Two counts: "700 → 28"."""
    return f"{count_text(before)} \u2192 {count_text(after)}"


def percent_text(fraction: float) -> str:
    """Fraction 0..1 in percent: "64%"; of a change: "\u221222%"."""
    return f"{fraction * 100:.0f}%".replace("-", "\u2212")


_BLOCKS: Final = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"


def sparkline_text(values: Sequence[float], *, least_span: float = 1.0) -> str:
    """Values as blocks of one to eight eighths, from the lowest value to the highest.

    Args:
        values: Any number of them.
        least_span: Smallest range that reaches the highest block.
    """
    if not values:
        return ""
    low = min(values)
    span = max(max(values) - low, least_span)
    return "".join(_BLOCKS[round((v - low) / span * (len(_BLOCKS) - 1))] for v in values)


def number_text(value: float) -> str:
    """Plain number with four significant digits: "0.001", "0.6931"."""
    return f"{value:.4g}".replace("-", "\u2212")


def seconds_text(seconds: float) -> str:
    """Step time: "850 µs", "272 ms", "1.42 s", "14.2 s"."""
    if seconds >= 1.0 - 5e-4:
        return f"{_three_digits(seconds)}{NARROW_SPACE}s"
    if seconds >= 1e-3 - 5e-7:
        return f"{_three_digits(seconds * 1e3)}{NARROW_SPACE}ms"
    return f"{_three_digits(seconds * 1e6)}{NARROW_SPACE}\u00b5s"


def duration_text(seconds: float) -> str:
    """Duration in at most two units: "14 s", "4 min", "1 h 52 min", "3 d 4 h"."""
    if not math.isfinite(seconds):
        return NOT_KNOWN
    if seconds < _MINUTE_S - 0.5:
        return f"{max(0.0, seconds):.0f}{NARROW_SPACE}s"
    if seconds < _HOUR_S - _MINUTE_S / 2:
        return f"{seconds / _MINUTE_S:.0f}{NARROW_SPACE}min"
    large, small, names = (
        (_HOUR_S, _MINUTE_S, ("h", "min")) if seconds < _DAY_S else (_DAY_S, _HOUR_S, ("d", "h"))
    )
    whole, rest = divmod(round(seconds / small), round(large / small))
    text = f"{whole}{NARROW_SPACE}{names[0]}"
    return f"{text} {rest}{NARROW_SPACE}{names[1]}" if rest else text


def clock_text(wall_s: float, *, seconds: bool = True) -> str:
    """Time of day in the viewer's time zone: "11:02:41", or "11:02"."""
    return _moment_text(wall_s, "%H:%M:%S" if seconds else "%H:%M")


def day_text(wall_s: float) -> str:
    """Date in the viewer's time zone: "2026-11-22"."""
    return _moment_text(wall_s, "%Y-%m-%d")


def day_clock_text(wall_s: float) -> str:
    """Time for readers elsewhere or later, with its zone: "2026-11-22 11:02:41 +0100"."""
    return _moment_text(wall_s, "%Y-%m-%d %H:%M:%S %z")


def moment_text(wall_s: float, *, now_wall_s: float) -> str:
    """Time of day if it is within half a day of now, else date and time."""
    if abs(now_wall_s - wall_s) < _DAY_S / 2:
        return clock_text(wall_s, seconds=False)
    return day_minute_text(wall_s)


def day_minute_text(wall_s: float) -> str:
    """Date and time in the viewer's time zone: "2026-11-22 08:37"."""
    return _moment_text(wall_s, "%Y-%m-%d %H:%M")


def amount_text(value: float, unit: Unit) -> str:
    if unit == "functions" and value == 1:
        return tr("1 function")
    return _AMOUNTS[unit](value)


def rate_text(per: float, unit: Unit, per_what: str) -> str:
    """Slope as text: "+10.6 MiB / epoch", "+420 / model", with a real minus sign.

    Args:
        per: Change per unit.
        per_what: Name of the unit: "epoch", "model", "min".
    """
    sign = "+" if per >= 0 else ""
    return f"{sign}{change_text(per, unit)} / {per_what}"


def change_text(change: float, unit: Unit) -> str:
    """Change as text, with at least three significant digits: "10.6 MiB", "\u2212420", "119 800".

    Args:
        change: Size of the change, in the unit.
    """
    text = _magnitude_text(abs(change), unit)
    return f"\u2212{text}" if change < 0 else text


def _magnitude_text(size: float, unit: Unit) -> str:
    match unit:
        case "bytes":
            name = byte_unit(size)
            index = _unit_names().index(name)
            number = _three_digits(size / byte_step() ** index) if index else _grouped(size, 0)
            return f"{number}{NARROW_SPACE}{name}"
        case "seconds":
            return seconds_text(size)
        case "operations" | "functions" | "count":
            # The unit is beside it in the value already.
            return count_text(size) if size >= _WHOLE_FROM else _three_digits(size)
        case "number":
            return f"{size:.3g}"
        case "fraction" | "celsius" | "watts" | "hertz":
            return amount_text(size, unit)


def _moment_text(wall_s: float, how: str) -> str:
    # Not clamped: that would show a date that nobody sent.
    if not 0.0 <= wall_s <= MAX_WALL_S:
        return NOT_KNOWN
    # Not by datetime: it refuses a zone such as TZ=XYZ-99.
    return time.strftime(how, time.localtime(wall_s))


def _unit_names() -> tuple[str, ...]:
    return _UNIT_NAMES[_byte_unit_choice.units]


def _byte_decimals(size: float, index: int) -> int:
    if index == 0:
        return 0
    if index >= _GIGA:
        return 1
    return 1 if abs(size) < _TENTHS_UP_TO else 0


def _three_digits(value: float) -> str:
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return NOT_KNOWN
    decimals = max(0, min(2, 2 - math.floor(math.log10(abs(value)))))
    return _grouped(value, decimals)


def _grouped(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace(",", NARROW_SPACE).replace("-", "\u2212")


_AMOUNTS: Final[dict[Unit, Callable[[float], str]]] = {
    "bytes": bytes_text,
    "seconds": seconds_text,
    "operations": lambda value: tr("{n} operations").format(n=count_text(value)),
    "functions": lambda value: tr("{n} functions").format(n=count_text(value)),
    "count": count_text,
    "number": number_text,
    "fraction": percent_text,
    "celsius": lambda value: f"{_grouped(value, 0)}{NARROW_SPACE}\u00b0C",
    "watts": lambda value: f"{_grouped(value, 0)}{NARROW_SPACE}W",
    "hertz": lambda value: f"{value / 1e9:.2f}{NARROW_SPACE}GHz",
}

_BINARY: Final = {"k": 10, "m": 20, "g": 30, "t": 40}
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
    **{f"{unit}{i}": 2**power for unit, power in _BINARY.items() for i in ("", "i")},
}
"""Bytes per unit, by the unit's lower-case name; for `parse_amount`."""

_AMOUNT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")


def parse_amount(text: str, units: Mapping[str, int], *, bare: int | None) -> float | None:
    """Parse an amount that a user entered; None: the text is not an amount.

    Args:
        text: Number, optionally with a unit.
        units: Value of each unit, by its lower-case name.
        bare: Value of a number without a unit; None: only 0 may have no unit.
    """
    found = _AMOUNT.fullmatch(text.strip())
    unit = found[2].lower() if found else ""
    if found is None or (unit and unit not in units):
        return None
    one = units[unit] if unit else bare
    if one is None:
        return None if float(found[1]) else 0.0
    return float(found[1]) * one
