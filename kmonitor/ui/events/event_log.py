"""The event log: one sentence per event, newest first, with a filter."""

from bisect import insort
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kmonitor.ui.events.event_text import EventLine, Level, describe_event
from kmonitor.ui.text.formats import clock_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.events import (
    AnyEvent,
    Notice,
    SessionDied,
    SessionEnded,
    SessionStarted,
)

__all__ = [
    "LOG_KINDS",
    "EventLine",
    "EventLogRow",
    "EventLogState",
    "Level",
    "LogFilter",
    "event_line",
    "superseded_events",
]

LogFilter = Literal["all", "warnings", "actions"]
LOG_KINDS = (
    "session",
    "session_end",
    "session_died",
    "model",
    "fit_start",
    "fit_end",
    "action",
    "diagnosis",
    "command",
    "limits",
    "crossing",
    "paused",
    "fault",
    "notice",
    "lost",
    "verdict",
    "study",
    "fold_end",
)
"""Event types that can have a line."""

MAX_ROWS = 5000


def event_line(event: AnyEvent, *, name: str) -> EventLine | None:
    """One sentence about an event, or None if the event has no line of its own.

    Args:
        event: Any event of a run.
        name: The run's name; empty where the name is shown beside the text.
    """
    return describe_event(event, name)


def superseded_events(events: Sequence[AnyEvent | None]) -> set[int]:
    """Indices of events that a later event supersedes; the events of a run are given oldest first.

    A process cannot know its own exit status: its report that it finished, or was interrupted,
    holds until `kmonitor run`, which had started the process, reports the exit status.
    """
    found = set[int]()
    ended: int | None = None
    for index, event in enumerate(events):
        match event:
            case SessionEnded(why="finished" | "interrupted"):
                ended = index
            case SessionDied() if ended is not None:
                found.add(ended)
            case SessionStarted():
                ended = None
            case _:
                pass
    return found


@dataclass(frozen=True, slots=True)
class EventLogRow:
    """A row of the log.

    Attributes:
        row: The hub's row id.
        run: Run id.
        time: Time of the event as text, in the viewer's zone.
        line: Icon, level and sentence.
        wall_s: Time of the event, UTC epoch seconds.
        is_end: True if the row reports a process that ended badly.
        is_first: True if the row precedes newer ones because its run is selected.
    """

    row: int
    run: str
    run_name: str
    time: str
    line: EventLine
    wall_s: float = 0.0
    is_end: bool = False
    is_first: bool = False

    @property
    def key(self) -> tuple[str, int, bool]:
        """Key of the row that is unique among all hubs, each of which counts its rows from 1."""
        return self.run, self.row, self.is_first


class EventLogState:
    """Rows of all hubs by time, each once, the newest `MAX_ROWS` of them; main thread only.

    Rows of a selected run that has ended come first and are kept; otherwise newer rows of other
    runs would push them out of view.
    """

    def __init__(self) -> None:
        self._rows: list[EventLogRow] = []
        self._known: dict[tuple[str, int], AnyEvent] = {}
        # By run, by row: starts and ends of its processes, and those that are left out.
        self._lives: dict[str, dict[int, AnyEvent]] = {}
        self._overruled: dict[str, set[int]] = {}
        self._first = ""
        self._incomplete: set[str] = set()
        self.filter: LogFilter = "all"

    def add(self, row: int, event: AnyEvent, *, run: str, name: str, wall_s: float) -> bool:
        """Add an event's line; return True if the event has a line and it is new."""
        if (run, row) in self._known:
            return False
        # The name has a column of its own; a long one would push the rest out of sight.
        line = event_line(event, name="")
        if line is None:
            return False
        self._known[run, row] = event
        is_first = run == self._first
        time = clock_text(wall_s)
        entry = EventLogRow(row, run, name, time, line, wall_s, _is_end(event), is_first)
        insort(self._rows, entry, key=_moment)
        if isinstance(event, SessionStarted | SessionEnded | SessionDied):
            self._apply_lifecycle(run, row, event)
        if len(self._rows) > MAX_ROWS:
            self._drop_oldest()
        return True

    def select_ended_run(self, ended_run: str) -> bool:
        """Show the lines of an ended run first; return True if some of them were dropped before.

        Args:
            ended_run: Run id; empty: no run comes first, as when the selected run is live.
        """
        if ended_run != self._first:
            self._first = ended_run
            self._rows = [
                replace(row, is_first=row.run == ended_run)
                if row.is_first or row.run == ended_run
                else row
                for row in self._rows
            ]
        is_incomplete = ended_run in self._incomplete
        self._incomplete.discard(ended_run)
        return is_incomplete

    def is_end(self, run: str, row: int) -> bool:
        """True if this line reports a process that ended badly."""
        return any(each.is_end for each in self._rows if (each.run, each.row) == (run, row))

    def forget(self, runs: Collection[str]) -> None:
        self._rows = [row for row in self._rows if row.run not in runs]
        self._known = {key: event for key, event in self._known.items() if key[0] not in runs}
        self._incomplete.difference_update(runs)
        for run in runs:
            self._lives.pop(run, None)
            self._overruled.pop(run, None)

    def refresh_texts(self) -> None:
        """Format every row again in the current units and language."""
        self._rows = [
            replace(row, line=event_line(self._known[row.run, row.row], name="") or row.line)
            for row in self._rows
        ]

    def rows(self) -> Sequence[EventLogRow]:
        """Rows that pass the filter, those of the selected run first, each newest first."""
        found = [row for row in reversed(self._rows) if self._passes(row)]
        if not self._first:
            return found
        return sorted(found, key=lambda row: not row.is_first)

    def empty_text(self) -> str:
        """Text of the log when no row passes the filter."""
        match self.filter:
            case "all":
                return tr("No events yet.")
            case "warnings":
                return tr("No warnings.")
            case "actions":
                return tr("No actions yet.")

    def _passes(self, row: EventLogRow) -> bool:
        if row.row in self._overruled.get(row.run, ()):
            return False
        match self.filter:
            case "all":
                return True
            case "warnings":
                return row.line.level != "info"
            case "actions":
                return row.line.is_action

    def _apply_lifecycle(self, run: str, row: int, event: AnyEvent) -> None:
        lives = self._lives.setdefault(run, {})
        lives[row] = event
        rows = sorted(lives)
        self._overruled[run] = {
            rows[at] for at in superseded_events([lives[each] for each in rows])
        }

    def _drop_oldest(self) -> None:
        at = next((at for at, row in enumerate(self._rows) if not row.is_first), 0)
        oldest = self._rows.pop(at)
        self._incomplete.add(oldest.run)
        self._known.pop((oldest.run, oldest.row), None)
        self._lives.get(oldest.run, {}).pop(oldest.row, None)


def _moment(entry: EventLogRow) -> tuple[float, int]:
    return entry.wall_s, entry.row


def _is_end(event: AnyEvent) -> bool:
    match event:
        case SessionDied() | SessionEnded(why="failed" | "interrupted") | Notice(code="lost"):
            return True
        case _:
            return False
