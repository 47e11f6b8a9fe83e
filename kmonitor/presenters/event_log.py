"""The event log: one sentence per event, newest first, with a filter."""

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kmonitor.presenters.event_sentences import EventLine, Level, sentence
from kmonitor.presenters.formats import clock_text
from kmonitor.presenters.language import tr
from kmonitor_agent.protocol.facts import AnyEvent

__all__ = ["LOG_KINDS", "EventLine", "EventLog", "Level", "LogFilter", "LogRow", "event_line"]

LogFilter = Literal["all", "warnings", "actions"]

LOG_KINDS = (
    "boot",
    "boot_end",
    "boot_died",
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
)
"""Event types that can have a line."""

MAX_ROWS = 5000


def event_line(event: AnyEvent, *, name: str) -> EventLine | None:
    """One sentence about an event, or None if it has nothing to say on its own.

    Args:
        event: Any event of a run.
        name: The run's name; empty where it is told beside the sentence.
    """
    return sentence(event, name)


@dataclass(frozen=True, slots=True)
class LogRow:
    """A row of the log.

    Attributes:
        row: The hub's row id, which orders the log.
        run: Run id.
        run_name: Its name.
        time: When, in the viewer's zone.
        line: Icon, level and sentence.
    """

    row: int
    run: str
    run_name: str
    time: str
    line: EventLine


class EventLog:
    """Rows by the hub's row id, each once, the newest `MAX_ROWS` of them; main thread only."""

    def __init__(self) -> None:
        self._rows: list[LogRow] = []
        self._known: set[int] = set()
        self.filter: LogFilter = "all"

    def add(self, row: int, event: AnyEvent, *, run: str, name: str, wall_s: float) -> bool:
        """Add an event's line; returns whether there was one and it is new."""
        if row in self._known:
            return False
        # The name has a column of its own; a long one would push the rest out of sight.
        line = event_line(event, name="")
        if line is None:
            return False
        self._known.add(row)
        entry = LogRow(row, run, name, clock_text(wall_s), line)
        insort(self._rows, entry, key=_row_id)
        if len(self._rows) > MAX_ROWS:
            self._known.discard(self._rows.pop(0).row)
        return True

    def clear(self) -> None:
        """Forget all rows: another hub's row ids begin anew."""
        self._rows.clear()
        self._known.clear()

    def rows(self) -> Sequence[LogRow]:
        """Rows that pass the filter, newest first."""
        return [row for row in reversed(self._rows) if self._passes(row.line)]

    def empty_text(self) -> str:
        """What stands in the log when no row passes the filter."""
        match self.filter:
            case "all":
                return tr("Nothing has happened yet.")
            case "warnings":
                return tr("No warnings.")
            case "actions":
                return tr("No actions yet.")

    def _passes(self, line: EventLine) -> bool:
        match self.filter:
            case "all":
                return True
            case "warnings":
                return line.level != "info"
            case "actions":
                return line.is_action


def _row_id(entry: LogRow) -> int:
    return entry.row
