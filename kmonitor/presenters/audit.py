"""The list of what was done through a hub: who, what, when, and what came of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from kmonitor.presenters.formats import moment_text
from kmonitor.presenters.language import tr
from kmonitor_agent.protocol.messages import AuditAsked, AuditRow, AuditTold, ErrorMessage

_MOST_ROWS = 500
_ID_LENGTH = 8


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One thing that was done.

    Attributes:
        row: The hub's number of it, rising.
        cells: As many as there are columns.
        tooltip: All of it, untrimmed.
    """

    row: int
    cells: tuple[str, ...]
    tooltip: str


@dataclass(frozen=True, slots=True)
class AuditPicture:
    """The whole list.

    Attributes:
        lines: Newest first.
        text: What is said in its place, or below it; may be empty.
    """

    lines: tuple[AuditLine, ...]
    text: str


def columns() -> tuple[str, ...]:
    """Titles of the columns."""
    return (tr("When"), tr("Who"), tr("What"), tr("Of"), tr("Result"))


class AuditDesk:
    """Asks one hub for its list, and holds it; main thread only."""

    def __init__(
        self, ask: Callable[[msgspec.Struct], int], run_name: Callable[[str], str | None]
    ) -> None:
        """Nothing is asked before `refresh`.

        Args:
            ask: Sends a question to the hub; returns its number.
            run_name: The name of a run by its id; empty or None if it is not known.
        """
        self._ask = ask
        self._run_name = run_name
        self._asked: int | None = None
        self._rows: list[AuditRow] | None = None
        self._has_more = False
        self._why_not = ""

    def refresh(self) -> None:
        """Ask for the newest, unless the last question is still open."""
        if self._asked is None:
            self._asked = self._ask(AuditAsked(ask=0, limit=_MOST_ROWS))

    def take(self, told: msgspec.Struct) -> bool:
        """Whether an answer was to this desk's question; then the picture has changed."""
        if self._asked is None or getattr(told, "ask", 0) != self._asked:
            return False
        match told:
            case AuditTold():
                self._rows, self._has_more, self._why_not = told.rows, told.more, ""
            case ErrorMessage():
                self._why_not = tr("The hub refuses: {why}.").format(why=told.text)
            case _:
                return False
        self._asked = None
        return True

    def picture(self, now_wall_s: float) -> AuditPicture:
        """What to show now."""
        if self._why_not:
            return AuditPicture((), self._why_not)
        if self._rows is None:
            return AuditPicture((), tr("Asking the hub\u2026"))
        lines = _lines(self._rows, self._run_name, now_wall_s)
        if not lines:
            return AuditPicture((), tr("Nothing was done yet."))
        more = tr("Older ones: kmonitor audit --last N") if self._has_more else ""
        return AuditPicture(lines, more)


def _lines(
    rows: Sequence[AuditRow], run_name: Callable[[str], str | None], now_wall_s: float
) -> tuple[AuditLine, ...]:
    return tuple(_line(row, run_name(row.run) or "", now_wall_s) for row in rows)


def _line(row: AuditRow, run_name: str, now_wall_s: float) -> AuditLine:
    is_command = row.what.startswith("command")
    subject = run_name or (row.run[:_ID_LENGTH] if is_command else row.subject)
    when = moment_text(row.wall_s, now_wall_s=now_wall_s)
    cells = (when, row.who, row.what, subject, row.result)
    whole = " \u00b7 ".join(part for part in (when, row.who, row.what) if part)
    of = " ".join(part for part in (run_name, row.run, row.subject) if part)
    return AuditLine(row.row, cells, "\n".join(part for part in (whole, of, row.result) if part))
