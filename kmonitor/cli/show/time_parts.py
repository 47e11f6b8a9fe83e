"""Table of where the time goes: recent epochs or fits, those before a slowdown, and the whole run.

A single epoch may be an exception, and a verdict names the part of the *additional* time: columns
side by side show what it means. A part that took long for a while, such as compiling, has passed
from the recent epochs: the column of the whole run shows what it cost.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import median
from typing import Final

from kmonitor.cli.common.terminal import print_table, print_text, terminal_lines, terminal_safe
from kmonitor.export.events import decode_row
from kmonitor.ui.runs.epoch_parts import part_name, part_rows
from kmonitor.ui.text.formats import (
    NOT_KNOWN,
    duration_text,
    percent_text,
    seconds_text,
    with_plain_spaces,
)
from kmonitor_agent.wire.messages.events import (
    EPOCH_PARTS,
    CallbackTime,
    EpochEnded,
    EpochParts,
    FitEnded,
    Verdict,
)
from kmonitor_agent.wire.messages.unions import EventRow
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES, RECENT_UNITS

_TITLE: Final = "WHERE THE TIME GOES"
_SHARE: Final = "PART"
_WHOLE: Final = "WHOLE RUN"
_TOTAL: Final = "total"

_WITH_INPUT: Final = "compute and input"
"""Title of computing with the wait for input: the long one does not fit beside five columns."""

_OUTLIER_TIMES: Final = 2.0
"""Multiple of the others' median above which one of the averaged times is named."""

_LEAST_COMPARED: Final = 3
"""Least number of averaged times of which one can be an outlier."""

_MINUTES_FROM_S: Final = 600.0

_Callback = tuple[str, bool]
"""Name of a class of callbacks, and whether it saves checkpoints."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """An epoch, or all epochs of a fit that has ended.

    Attributes:
        noun: "epoch" or "fit".
        number: Number of the epoch in its fit, or of the fit, from 1.
        ended_s: Run time of its end, seconds.
        parts: Its time by parts; None: not measured.
    """

    noun: str
    number: int
    fit: int
    ended_s: float
    parts: EpochParts | None

    def is_like(self, other: "_Unit") -> bool:
        """True if both can be averaged: epochs only with those of the same fit."""
        if self.parts is None or other.parts is None:
            return False
        is_same_fit = self.noun == "fit" or self.fit == other.fit
        return is_same_fit and (self.parts.input_s is None) == (other.parts.input_s is None)


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of the table.

    Attributes:
        has_share: True if the column of the shares follows.
        is_whole: True for the whole run, whose shares are beside the times.
    """

    title: str
    parts: EpochParts
    has_share: bool = False
    is_whole: bool = False

    @property
    def titles(self) -> list[str]:
        return [self.title, _SHARE] if self.has_share else [self.title]

    def cells(self, seconds: float | None) -> list[str]:
        """Cells of one row; None: unknown."""
        if seconds is None:
            return [NOT_KNOWN] * len(self.titles)
        share = percent_text(seconds / self.parts.wall_s if self.parts.wall_s > 0.0 else 0.0)
        if self.is_whole:
            return [f"{_long_text(seconds)} ({share})"]
        text = seconds_text(seconds) if seconds else NOT_KNOWN
        return [text, share] if self.has_share else [text]


def print_parts(
    rows: Iterable[EventRow], why_no_input: Sequence[str], verdicts: Sequence[Verdict] = ()
) -> None:
    """Print the parts of the recent time, and of all; nothing if they were not measured.

    Args:
        rows: The run's events.
        why_no_input: Reported reasons why the wait for input is not known, in order; empty from
            when on it is known.
        verdicts: The newest verdicts of the run.
    """
    events = [(row.t_s, decode_row(row)) for row in rows]
    epochs = [(at_s, event) for at_s, event in events if isinstance(event, EpochEnded)]
    fits = [(at_s, event) for at_s, event in events if isinstance(event, FitEnded)]
    units = _units(epochs, fits, verdicts)
    recent = _recent(units)
    if not recent:
        return
    slower = next((each for each in verdicts if each.metric == "epoch_time"), None)
    before = [] if slower is None else _before(units, recent, slower)
    columns = [_Column(_units_title(recent), _mean(recent), has_share=True)]
    earlier = [_Column(_units_title(before), _mean(before))] if before else []
    timed = [event.parts for _, event in epochs]
    whole = _whole_column(timed, columns[0].parts)
    _print_columns(earlier + columns + ([] if whole is None else [whole]))
    if whole is not None and len(recent) > 1:
        _print_note(f"{_WHOLE} is the sum of all epochs; the rest are means of {recent[0].noun}s.")
    for text in (*_outlier_texts(before), *_outlier_texts(recent)):
        _print_note(text)
    if columns[0].parts.input_s is None and why_no_input and why_no_input[-1]:
        _print_note(f"The time spent waiting for input is unknown: {why_no_input[-1]}")
    elif whole is not None:
        _print_unknown_waits(timed, is_readable=bool(why_no_input) and not any(why_no_input))


def _units(
    epochs: Sequence[tuple[float, EpochEnded]],
    fits: Sequence[tuple[float, FitEnded]],
    verdicts: Sequence[Verdict],
) -> list[_Unit]:
    """Units of the verdicts; fits also where each has one epoch.

    Args:
        epochs: Ends of epochs, each with its run time.
        fits: The same of fits.
    """
    by_fit: dict[int, list[EpochEnded]] = {}
    for _, each in epochs:
        by_fit.setdefault(each.fit, []).append(each)
    is_loop = len(by_fit) > 1 and all(len(each) == 1 for each in by_fit.values())
    if fits and (is_loop or any(each.per == "fit" for each in verdicts)):
        return [
            _Unit("fit", each.fit, each.fit, at_s, _fit_parts(by_fit.get(each.fit, [])))
            for at_s, each in fits
        ]
    return [_Unit("epoch", each.epoch + 1, each.fit, at_s, each.parts) for at_s, each in epochs]


def _fit_parts(epochs: Sequence[EpochEnded]) -> EpochParts | None:
    parts = [each.parts for each in epochs if each.parts is not None]
    if not parts or len(parts) < len(epochs):
        return None
    return _summed(parts, has_input=all(each.input_s is not None for each in parts))


def _summed(parts: Sequence[EpochParts], *, has_input: bool, times: float = 1.0) -> EpochParts:
    """Sum of each part, and of each class of callbacks.

    Args:
        parts: Parts of one or more epochs.
        has_input: True to keep known waits for input apart; False: all are part of compute.
        times: Factor of all sums.
    """
    by_class: dict[_Callback, float] = {}
    for callback in (callback for each in parts for callback in each.callbacks):
        key = callback.name, callback.saves
        by_class[key] = by_class.get(key, 0.0) + callback.seconds * times
    sums = {
        f"{name}_s": times * sum(getattr(each, f"{name}_s") or 0.0 for each in parts)
        for name in ("wall", *EPOCH_PARTS)
    }
    input_s = sums.pop("input_s")
    if not has_input:
        sums["compute_s"] += input_s
    callbacks = [CallbackTime(name, s, saves=saves) for (name, saves), s in by_class.items()]
    return EpochParts(
        **sums,
        input_s=input_s if has_input else None,
        callbacks=sorted(callbacks, key=_seconds, reverse=True)[:8],
    )


def _mean(units: Sequence[_Unit]) -> EpochParts:
    """Mean of each part of units with parts, all with or all without the wait for input."""
    parts = [each.parts for each in units if each.parts is not None]
    return _summed(parts, has_input=parts[0].input_s is not None, times=1.0 / len(parts))


def _recent(units: Sequence[_Unit]) -> list[_Unit]:
    """The last units, without the first of a fit, or of the run, where there are others."""
    if not units:
        return []
    alike = list(takewhile(lambda each: each.is_like(units[-1]), reversed(units)))
    if not alike:
        return []
    last = alike[:RECENT_UNITS][::-1]
    before = units[: -len(last)]
    # The first has tracing and compiling.
    is_first = not before or (last[0].noun == "epoch" and before[-1].fit != last[0].fit)
    return last[1:] if is_first and len(last) > 1 else last


def _before(units: Sequence[_Unit], recent: Sequence[_Unit], verdict: Verdict) -> list[_Unit]:
    """The last units before a slowdown; empty if there is none, or they cannot be compared.

    Gradual growth may begin with the first units: it is compared with these then.

    Args:
        units: All units.
        recent: The recent units, the last of all.
        verdict: Verdict on the time of epochs.
    """
    if verdict.state not in ALARMED_STATES or verdict.per != recent[-1].noun:
        return []
    # The unit that ends after this is the first of the evidence, however old that is.
    began = sum(each.ended_s <= verdict.from_s for each in units[:-1])
    of_fit = units[began].fit if units[began].noun == "epoch" else units[0].fit
    opening = next(at for at, each in enumerate(units) if each.fit == of_fit)
    # The first epoch of a fit, and the first fit, have tracing and compiling.
    first = max(opening + 1, began - RECENT_UNITS)
    last = began if verdict.since else first + RECENT_UNITS
    found = units[: -len(recent)][first:last]
    return list(found) if all(each.is_like(recent[-1]) for each in found) else []


def _whole_column(timed: Sequence[EpochParts | None], now: EpochParts) -> _Column | None:
    """Time of all epochs; None if it is unknown of some, or there is one epoch only."""
    parts = [each for each in timed if each is not None]
    if len(parts) < max(2, len(timed)):
        return None
    return _Column(_WHOLE, _summed(parts, has_input=now.input_s is not None), is_whole=True)


def _units_title(units: Sequence[_Unit]) -> str:
    noun = units[0].noun.upper()
    first, last = units[0].number, units[-1].number
    return f"{noun} {last}" if first == last else f"{noun}S {first} TO {last}"


def _print_columns(columns: Sequence[_Column]) -> None:
    headers = (_TITLE, *(title for each in columns for title in each.titles))
    print_text()
    print_table(
        headers,
        [[terminal_safe(with_plain_spaces(cell)) for cell in row] for row in _cells(columns)],
        right=headers[1:],
        folds=headers[:1],
        drops=[_WHOLE, *(each.title for each in columns if not each.has_share)],
    )


def _cells(columns: Sequence[_Column]) -> list[list[str]]:
    listed = [{row.name: row for row in part_rows(each.parts)} for each in columns]
    has_input = any(each.parts.input_s is not None for each in columns)
    cells: list[list[str]] = []
    for name in (name for name in EPOCH_PARTS if any(name in rows for rows in listed)):
        times = [getattr(each.parts, f"{name}_s") for each in columns]
        title = _WITH_INPUT if name == "compute" and not has_input else part_name(name)
        cells.append(_row(title, columns, times))
        callbacks = [each for rows in listed if name in rows for each in rows[name].callbacks]
        cells += [
            _row(f"  {key[0]}", columns, _callback_times(columns, key))
            for key in dict.fromkeys((each.name, each.saves) for each in callbacks)
        ]
    cells.append(_row(_TOTAL, columns, [each.parts.wall_s for each in columns]))
    return cells


def _row(title: str, columns: Sequence[_Column], times: Sequence[float | None]) -> list[str]:
    found = (each.cells(seconds) for each, seconds in zip(columns, times, strict=True))
    return [title, *(cell for cells in found for cell in cells)]


def _callback_times(columns: Sequence[_Column], key: _Callback) -> list[float | None]:
    return [
        next((c.seconds for c in each.parts.callbacks if (c.name, c.saves) == key), None)
        for each in columns
    ]


def _long_text(seconds: float) -> str:
    return duration_text(seconds) if seconds >= _MINUTES_FROM_S else seconds_text(seconds)


def _outlier_texts(units: Sequence[_Unit]) -> list[str]:
    """Sentence on those of the averaged units that took far longer than the others."""
    walls = [(each.number, each.parts.wall_s) for each in units if each.parts is not None]
    if len(walls) < _LEAST_COMPARED:
        return []
    far = [wall for wall in walls if wall[1] > _OUTLIER_TIMES * _others_median(walls, wall)]
    if not far:
        return []
    others_s = median(seconds for number, seconds in walls if (number, seconds) not in far)
    noun = f"{units[0].noun.capitalize()}{'s' if len(far) > 1 else ''}"
    numbers = _joined([str(number) for number, _ in far])
    times = _joined([_long_text(seconds) for _, seconds in far])
    return [f"{noun} {numbers} took {times}, the others about {_long_text(others_s)}."]


def _others_median(walls: Sequence[tuple[int, float]], one: tuple[int, float]) -> float:
    return median(seconds for number, seconds in walls if number != one[0])


def _joined(texts: Sequence[str]) -> str:
    *others, last = texts
    return f"{', '.join(others)} and {last}" if others else last


def _print_unknown_waits(timed: Sequence[EpochParts | None], *, is_readable: bool) -> None:
    """Note on epochs whose wait is part of compute in the column of the whole run.

    Args:
        is_readable: True if the wait could be read in all epochs: it was in too few steps of some.
    """
    unknown = sum(each is not None and each.input_s is None for each in timed)
    reason = ": it was measured in too few of their steps" if is_readable else ""
    if unknown:
        _print_note(
            f"In {unknown} of {len(timed)} epochs the time spent waiting for input is unknown,"
            f" and is part of compute{reason}."
        )


def _print_note(text: str) -> None:
    print_text(terminal_lines(with_plain_spaces(text), indent=0))


def _seconds(callback: CallbackTime) -> float:
    return callback.seconds
