"""Events of a run as a list: in a loop of fits, those that are alike share a line.

A loop of fits has three lines per fit, between which an alarm is hard to find. A model that is the
same as that of the fit before is left out, and a stretch of fits with the same plan, with no
other line between them, is one line.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from kmonitor.cli.common.event_text import event_text, timed_text
from kmonitor.cli.common.terminal import print_text
from kmonitor.export.events import decode_row
from kmonitor.ui.events.event_log import event_line, superseded_events
from kmonitor.ui.events.event_text import fit_plan_text
from kmonitor.ui.text.formats import count_text, epochs_text
from kmonitor_agent.wire.messages.events import (
    AnyEvent,
    FitEnded,
    FitStarted,
    ModelFacts,
    SessionStarted,
    Verdict,
)
from kmonitor_agent.wire.messages.unions import EventRow

MOST_ALIKE: Final = 3
"""Most fits in a row with lines of their own, if they are alike."""

_NUMBER: Final = re.compile(r"_\d+$")
"""Number that Keras adds to the name of each further model of a class."""


class ModelFilter:
    """Finds models that are the same as that of the fit before, in the order of the events."""

    def __init__(self) -> None:
        self._last: Hashable = None

    def note_event(self, event: AnyEvent | None) -> bool:
        """Note an event; return True if it describes the same model as the one before."""
        if isinstance(event, SessionStarted):
            self._last = None
        if not isinstance(event, ModelFacts) or event.part != 1:
            return False
        before = self._last
        self._last = (
            _model_name(event.name),
            event.n_layers,
            event.parameters,
            event.parameter_bytes,
            event.optimizer,
            event.slot_bytes,
        )
        return self._last == before


@dataclass(frozen=True, slots=True)
class _Fit:
    """A fit that ended without another line since its start.

    Attributes:
        rows: Its two rows with a line.
    """

    started: FitStarted
    ended: FitEnded
    rows: tuple[EventRow, EventRow]

    @property
    def plan(self) -> Hashable:
        """Equal for fits that can share a line."""
        return _model_name(self.started.model), fit_plan_text(self.started)


_Entry = _Fit | EventRow


def print_events(rows: Sequence[EventRow], name: str) -> None:
    """Print the events of a run that have a line.

    Args:
        rows: The run's events, in order.
        name: Name of the run.
    """
    for entries in _stretches(_entries(_said(rows, name))):
        fits = [each for each in entries if isinstance(each, _Fit)]
        if len(fits) > MOST_ALIKE:
            print_text(timed_text(fits[0].rows[0].t_s, _fits_text(fits)))
            continue
        for each in entries:
            for row in each.rows if isinstance(each, _Fit) else [each]:
                print_text(event_text(row, name=name))


def _said(rows: Sequence[EventRow], name: str) -> list[tuple[EventRow, AnyEvent]]:
    """Events with a line by time, without those that are superseded, and repeated models."""
    events = [decode_row(row) for row in rows]
    left_out = superseded_events(events)
    models = ModelFilter()
    said: list[tuple[EventRow, AnyEvent]] = []
    for index, (row, event) in enumerate(zip(rows, events, strict=True)):
        if event is None or models.note_event(event) or index in left_out:
            continue
        if event_line(event, name=name) is not None:
            said.insert(_place_of(row, event, said), (row, event))
    return said


def _place_of(row: EventRow, event: AnyEvent, said: Sequence[tuple[EventRow, AnyEvent]]) -> int:
    """Index of an event by its time: a verdict is stored after the events that it is made of."""
    index = len(said)
    if isinstance(event, Verdict):
        while index and said[index - 1][0].t_s > row.t_s:
            if isinstance(said[index - 1][1], SessionStarted):
                break
            index -= 1
    return index


def _entries(said: Sequence[tuple[EventRow, AnyEvent]]) -> Iterator[_Entry]:
    index = 0
    while index < len(said):
        fit = _whole_fit(said[index : index + 2])
        yield said[index][0] if fit is None else fit
        index += 1 if fit is None else 2


def _whole_fit(pair: Sequence[tuple[EventRow, AnyEvent]]) -> _Fit | None:
    """The fit that starts and ends with these events; None: there is none, or it went wrong."""
    match [event for _, event in pair]:
        case [FitStarted() as started, FitEnded(how="finished" | "stopped") as ended]:
            if started.fit == ended.fit and ended.epochs_done and not ended.epochs_before:
                return _Fit(started, ended, (pair[0][0], pair[1][0]))
        case _:
            pass
    return None


def _stretches(entries: Iterable[_Entry]) -> Iterator[list[_Entry]]:
    """Entries, with fits in a row that are alike together."""
    for _, alike in groupby(
        enumerate(entries), key=lambda each: each[1].plan if isinstance(each[1], _Fit) else each[0]
    ):
        yield [entry for _, entry in alike]


def _fits_text(fits: Sequence[_Fit]) -> str:
    """Text of some fits: "Fits 3 to 15: net, each 1 epoch of 100 steps; finished"."""
    first, last = fits[0].started, fits[-1].started
    names = {each.started.model for each in fits}
    model = first.model if len(names) == 1 else f"{first.model} to {last.model}"
    plan = fit_plan_text(first).removeprefix(", ")
    text = f"Fits {count_text(first.fit)} to {count_text(last.fit)}: {model}"
    return f"{text}{f', each {plan}' if plan else ''}; {_end_text(fits)}"


def _end_text(fits: Sequence[_Fit]) -> str:
    if all(each.ended.how == "finished" for each in fits):
        return "finished"
    is_stopped = all(each.ended.how == "stopped" for each in fits)
    done = sorted(each.ended.epochs_done for each in fits)
    most = epochs_text(done[-1])
    epochs = most if done[0] == done[-1] else f"{count_text(done[0])} to {most}"
    return f"{'stopped' if is_stopped else 'ended'} after {epochs}"


def _model_name(name: str) -> str:
    return _NUMBER.sub("", name)
