"""Where the time of an epoch went, as text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kmonitor.ui.text.formats import percent_text
from kmonitor.ui.text.language import later, tr
from kmonitor_agent.wire.messages.events import EPOCH_PARTS, CallbackTime, EpochParts

_NAMES: Final[dict[str, str]] = {
    "input": later("waiting for input"),
    "compute": later("compute"),
    "callbacks": later("callbacks"),
    "checkpoints": later("checkpoints"),
    "validation": later("validation"),
    "compiling": later("compiling"),
    "between_epochs": later("between epochs"),
    "between_fits": later("between fits"),
    "ours": later("kmonitor"),
    "rest": later("other"),
}

LEAST_PART: Final = 0.005
"""Less of an epoch is not listed."""


@dataclass(frozen=True, slots=True)
class PartRow:
    """One part of an epoch's time.

    Attributes:
        name: As the protocol has it: "input".
        title: As the user reads it.
        seconds: What it took.
        part: Of the epoch, 0..1.
        callbacks: By class, those that took most.
    """

    name: str
    title: str
    seconds: float
    part: float
    callbacks: tuple[CallbackTime, ...] = ()


def part_name(name: str) -> str:
    """A part as the user reads it: "waiting for input"."""
    return tr(_NAMES[name])


def part_title(name: str, *, is_input_known: bool) -> str:
    """A part of an epoch: where the wait for input is not known, it is in what is computed."""
    is_both = name == "compute" and not is_input_known
    return tr("compute and waiting for input") if is_both else part_name(name)


def part_rows(parts: EpochParts) -> list[PartRow]:
    """The parts of an epoch, in their order; those that took next to nothing are left out."""
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
    """The parts in one line, the largest first: "waiting for input 92%, compute 7%"."""
    rows = sorted(part_rows(parts), key=lambda row: row.part, reverse=True)
    return ", ".join(f"{row.title} {percent_text(row.part)}" for row in rows)


def share_texts(seconds: Mapping[str, float]) -> list[str]:
    """Parts of an epoch with their shares, the largest first: "waiting for input 92%".

    Args:
        seconds: What each part took, by name; those that took nothing are not in it.
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
