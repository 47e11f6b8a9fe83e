"""Time of an epoch by part, as text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kmonitor.ui.text.formats import percent_text
from kmonitor.ui.text.language import later, tr
from kmonitor_agent.wire.messages.events import EPOCH_PARTS, CallbackTime, EpochParts

# From a fit's last hook to the first of the next one: Keras prepares a fit before it calls a hook.
_NAMES: Final[dict[str, str]] = {
    "input": later("waiting for input"),
    "compute": later("compute"),
    "compute_and_input": later("compute and waiting for input"),
    "callbacks": later("callbacks"),
    "checkpoints": later("checkpoints"),
    "validation": later("validation"),
    "compiling": later("compiling"),
    "between_epochs": later("between epochs"),
    "between_fits": later("between fits or while a fit starts"),
    "ours": later("kmonitor"),
    "rest": later("other"),
}

_SPENT: Final[dict[str, str]] = {
    "input": later("waiting for input"),
    "compute": later("on compute"),
    "compute_and_input": later("on compute and waiting for input"),
    "callbacks": later("in callbacks"),
    "checkpoints": later("on checkpoints"),
    "validation": later("on validation"),
    "compiling": later("compiling"),
    "between_epochs": later("between epochs"),
    "between_fits": later("between fits or while a fit starts"),
    "ours": later("in kmonitor"),
    "rest": later("on other work"),
}

LEAST_PART: Final = 0.005
"""Smallest fraction of an epoch that is listed."""


@dataclass(frozen=True, slots=True)
class PartRow:
    """One part of an epoch's time.

    Attributes:
        name: Name in the protocol: "input".
        title: Name for the user.
        part: Fraction of the epoch, 0..1.
        callbacks: Times of the slowest callbacks by class.
    """

    name: str
    title: str
    seconds: float
    part: float
    callbacks: tuple[CallbackTime, ...] = ()


def part_name(name: str) -> str:
    """Name of a part for the user: "waiting for input"."""
    return tr(_NAMES[name])


def spent_text(name: str, callback: str = "") -> str:
    """Use of a part's time, after "spent": "in callbacks (Progress)", "between epochs"."""
    text = tr(_SPENT[name])
    return f"{text} ({callback})" if callback else text


def part_title(name: str, *, is_input_known: bool) -> str:
    """Title of a part; if the wait for input is not known, the compute part includes it."""
    is_both = name == "compute" and not is_input_known
    return part_name("compute_and_input" if is_both else name)


def part_rows(parts: EpochParts) -> list[PartRow]:
    """Parts of an epoch, in their order; parts with almost no time are left out."""
    rows: list[PartRow] = []
    for name in EPOCH_PARTS:
        seconds = getattr(parts, f"{name}_s")
        if seconds is None or parts.wall_s <= 0.0 or seconds < LEAST_PART * parts.wall_s:
            continue
        title = part_title(name, is_input_known=parts.input_s is not None)
        listed = _callbacks(parts, name) if name in {"callbacks", "checkpoints"} else ()
        rows.append(PartRow(name, title, seconds, seconds / parts.wall_s, listed))
    return rows


def parts_text(parts: EpochParts) -> str:
    """Parts in one line, the largest first: "waiting for input 92%, compute 7%"."""
    rows = sorted(part_rows(parts), key=lambda row: row.part, reverse=True)
    return ", ".join(f"{row.title} {percent_text(row.part)}" for row in rows)


def share_texts(seconds: Mapping[str, float]) -> list[str]:
    """Parts of an epoch with their fractions, the largest first: "waiting for input 92%".

    Args:
        seconds: Seconds of each part, by name; parts without time are missing.
    """
    whole_s = sum(seconds.values())
    is_input_known = "input" in seconds
    return [
        f"{part_title(name, is_input_known=is_input_known)} {percent_text(part_s / whole_s)}"
        for name, part_s in sorted(seconds.items(), key=_seconds_of, reverse=True)
        if part_s >= LEAST_PART * whole_s
    ]


def _seconds_of(item: tuple[str, float]) -> float:
    return item[1]


def _callbacks(parts: EpochParts, name: str) -> tuple[CallbackTime, ...]:
    least_s = LEAST_PART * parts.wall_s
    is_saving = name == "checkpoints"
    return tuple(
        each for each in parts.callbacks if each.saves == is_saving and each.seconds >= least_s
    )
