"""Table of where the time of the recent epochs goes, beside epochs before a slowdown.

A single epoch may be an exception, and a verdict names the part of the *additional* time: both
columns together show what it means.
"""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final

from kmonitor.cli.common.terminal import print_table, print_text, terminal_safe
from kmonitor.export.events import decode_row
from kmonitor.ui.runs.epoch_parts import PartRow, part_rows
from kmonitor.ui.text.formats import NOT_KNOWN, percent_text, seconds_text, with_plain_spaces
from kmonitor_agent.wire.messages.events import (
    EPOCH_PARTS,
    CallbackTime,
    EpochEnded,
    EpochParts,
    Verdict,
)
from kmonitor_agent.wire.messages.unions import EventRow
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES, RECENT_UNITS

_TITLE: Final = "WHERE THE TIME GOES"
_SHARE: Final = "PART"


def print_parts(
    rows: Iterable[EventRow], why_no_input: str, verdicts: Sequence[Verdict] = ()
) -> None:
    """Print the parts of the recent epochs' time; nothing if they were not measured.

    Args:
        rows: The run's events.
        why_no_input: Reason why the wait for input is not known; empty if it is known.
        verdicts: The newest verdicts of the run.
    """
    ended = [event for event in map(decode_row, rows) if isinstance(event, EpochEnded)]
    recent = _recent(ended)
    if not recent:
        return
    slower = next((each for each in verdicts if each.metric == "epoch_time"), None)
    before = [] if slower is None else _before(ended[: -len(recent)], recent, slower)
    now = mean_parts(recent)
    earlier = [_epochs_title(before)] if before else []
    headers = (_TITLE, *earlier, _epochs_title(recent), _SHARE)
    cells = _cells(now, mean_parts(before) if before else None)
    print_text()
    print_table(
        headers,
        [[terminal_safe(with_plain_spaces(cell)) for cell in row] for row in cells],
        right=headers[1:],
        folds=headers[:1],
        drops=earlier,
    )
    if now.input_s is None and why_no_input:
        print_text(f"The time spent waiting for input is unknown: {terminal_safe(why_no_input)}")


def mean_parts(epochs: Sequence[EpochEnded]) -> EpochParts:
    """Mean of each part, and of each class of callbacks.

    Args:
        epochs: One or more epochs with parts, all with or all without the wait for input.
    """
    parts = [each.parts for each in epochs if each.parts is not None]
    by_class: dict[tuple[str, bool], float] = {}
    for callback in (callback for each in parts for callback in each.callbacks):
        key = callback.name, callback.saves
        by_class[key] = by_class.get(key, 0.0) + callback.seconds / len(parts)
    means = {
        f"{name}_s": sum(getattr(each, f"{name}_s") or 0.0 for each in parts) / len(parts)
        for name in ("wall", *EPOCH_PARTS)
        if getattr(parts[0], f"{name}_s") is not None
    }
    callbacks = [CallbackTime(name, s, saves=saves) for (name, saves), s in by_class.items()]
    return EpochParts(**means, callbacks=sorted(callbacks, key=_seconds, reverse=True)[:8])


def _recent(ended: Sequence[EpochEnded]) -> list[EpochEnded]:
    """The last epochs of the last fit, without its first where there are others."""
    if not ended or ended[-1].parts is None:
        return []
    alike = list(takewhile(lambda each: _is_like(each, ended[-1]), reversed(ended)))
    last = alike[:RECENT_UNITS][::-1]
    is_first = last[0] is ended[0] or ended[-len(last) - 1].fit != last[0].fit
    return last[1:] if is_first and len(last) > 1 else last


def _is_like(epoch: EpochEnded, last: EpochEnded) -> bool:
    if epoch.fit != last.fit or epoch.parts is None or last.parts is None:
        return False
    return (epoch.parts.input_s is None) == (last.parts.input_s is None)


def _before(
    ended: Sequence[EpochEnded], recent: Sequence[EpochEnded], verdict: Verdict
) -> list[EpochEnded]:
    """The epochs that a slowdown is measured from; empty if there is none, or it is of fits.

    Args:
        ended: All epochs but the recent ones.
        recent: The recent epochs.
        verdict: Verdict on the time of epochs.
    """
    if verdict.state not in ALARMED_STATES or verdict.per != "epoch":
        return []
    since = verdict.since - 1
    first = since - RECENT_UNITS if verdict.since else verdict.unit - verdict.window
    # The run's first epoch has tracing and compiling.
    found = ended[max(1, first) : first + RECENT_UNITS]
    return list(found) if all(_is_like(each, recent[-1]) for each in found) else []


def _epochs_title(epochs: Sequence[EpochEnded]) -> str:
    first = epochs[0].epoch + 1
    last = epochs[-1].epoch + 1
    return f"EPOCH {last}" if first == last else f"EPOCHS {first} TO {last}"


def _cells(now: EpochParts, before: EpochParts | None) -> list[list[str]]:
    rows = {row.name: row for row in part_rows(now)}
    earlier = {} if before is None else {row.name: row for row in part_rows(before)}
    cells: list[list[str]] = []
    for name in (name for name in EPOCH_PARTS if name in rows or name in earlier):
        row = rows.get(name)
        listed = [] if before is None else [_seconds_text(earlier.get(name))]
        share = percent_text(0.0 if row is None else row.part)
        cells.append([(row or earlier[name]).title, *listed, _seconds_text(row), share])
        for each in () if row is None else row.callbacks:
            listed = [] if before is None else [_callback_text(before, each)]
            share = percent_text(each.seconds / now.wall_s)
            cells.append([f"  {each.name}", *listed, seconds_text(each.seconds), share])
    return cells


def _seconds_text(row: PartRow | None) -> str:
    return NOT_KNOWN if row is None else seconds_text(row.seconds)


def _callback_text(parts: EpochParts, callback: CallbackTime) -> str:
    named = (callback.name, callback.saves)
    seconds = [each.seconds for each in parts.callbacks if (each.name, each.saves) == named]
    return seconds_text(seconds[0]) if seconds else NOT_KNOWN


def _seconds(callback: CallbackTime) -> float:
    return callback.seconds
