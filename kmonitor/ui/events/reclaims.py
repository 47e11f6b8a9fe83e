"""The table of reclaims in the selected run: one row per record, newest first."""

from bisect import insort
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from kmonitor.ui.events.action_records import (
    RecordState,
    action_icon,
    action_title,
    fit_position_text,
    record_changes,
    record_origin_text,
    record_state,
    record_tooltip,
    released_traces_text,
    result_text,
)
from kmonitor.ui.limits.limit_text import requester_text
from kmonitor.ui.text.formats import NOT_KNOWN, clock_text, seconds_text, with_plain_spaces
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.events import ActionRecord

RECLAIMS: Final = frozenset({"save", "collect", "reload", "restart"})
"""Actions that have a row in the table."""

ReclaimColumnKey = Literal[
    "when",
    "level",
    "seconds",
    "ram",
    "allocator",
    "graph",
    "functions",
    "released",
    "held",
    "result",
    "asked",
]

MAX_ROWS: Final = 2000


@dataclass(frozen=True, slots=True)
class ReclaimColumn:
    """A column's head.

    Attributes:
        tooltip: Explanation of the content.
        is_number: True if the cells are aligned to the right.
    """

    key: ReclaimColumnKey
    title: str
    tooltip: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class ReclaimCell:
    """One cell.

    Attributes:
        text: Text of one line.
        sort_value: Value to sort by; a text is compared only with texts.
        tooltip: Further details, where the text is not complete.
        tone: "plain", "mute", or "warn" for failures.
    """

    text: str
    sort_value: float | str
    tooltip: str = ""
    tone: Literal["plain", "mute", "warn"] = "plain"


@dataclass(frozen=True, slots=True)
class ReclaimRow:
    """One record.

    Attributes:
        row: The hub's row id.
        icon: Icon of the record's level.
        ok: True if the action succeeded.
        cells: One cell per column, in the order of `reclaim_columns`.
        tooltip: Short text of the record.
    """

    row: int
    icon: str
    ok: bool
    cells: tuple[ReclaimCell, ...]
    tooltip: str

    def as_text(self) -> str:
        """The row as text, cells separated by tabs."""
        return with_plain_spaces(
            "\t".join(cell.tooltip or cell.text for cell in self.cells)
        ).replace("\n", "; ")


@dataclass(frozen=True, slots=True)
class _StoredReclaim:
    row: int
    wall_s: float
    record: ActionRecord
    picture: ReclaimRow


class ReclaimStore:
    """Records of all runs by the hub's row id, each once; main thread only."""

    def __init__(self) -> None:
        self._runs: dict[str, list[_StoredReclaim]] = {}

    def add(self, run: str, row: int, record: ActionRecord, *, wall_s: float) -> bool:
        """Add a record; return True if the record has a row and is new.

        Args:
            row: The hub's row id.
            wall_s: Time of the record, UTC epoch seconds.
        """
        if record.action not in RECLAIMS:
            return False
        reclaims = self._runs.setdefault(run, [])
        if any(each.row == row for each in reclaims):
            return False
        insort(
            reclaims, _StoredReclaim(row, wall_s, record, _row(row, record, wall_s)), key=_row_id
        )
        del reclaims[:-MAX_ROWS]
        return True

    def refresh_texts(self) -> None:
        """Format every row again in the current units and language."""
        for run, reclaims in self._runs.items():
            self._runs[run] = [
                replace(each, picture=_row(each.row, each.record, each.wall_s))
                for each in reclaims
            ]

    def forget(self, runs: Collection[str]) -> None:
        for run in runs:
            self._runs.pop(run, None)

    def rows(self, run: str) -> Sequence[ReclaimRow]:
        """A run's rows, newest first."""
        return [each.picture for each in reversed(self._runs.get(run, []))]

    def full(self, run: str, row: int, *, run_name: str) -> RecordState | None:
        """Return one record in full; None if it is not known."""
        for each in self._runs.get(run, []):
            if each.row == row:
                moment = clock_text(each.wall_s)
                return record_state(each.record, run_name=run_name, moment=moment)
        return None


def reclaim_columns() -> tuple[ReclaimColumn, ...]:
    """Columns of the table from left to right."""
    return (
        ReclaimColumn("when", tr("When"), tr("Training epoch and step, and the time")),
        ReclaimColumn(
            "level", tr("Action"), tr("The action, and how a reload restored the state")
        ),
        ReclaimColumn("seconds", tr("Duration"), tr("How long training waited"), is_number=True),
        ReclaimColumn(
            "ram",
            tr("RAM"),
            tr("Memory of the process, before \u2192 after"),
            is_number=True,
        ),
        ReclaimColumn(
            "allocator",
            tr("Allocator"),
            tr("In use by the framework, before \u2192 after"),
            is_number=True,
        ),
        ReclaimColumn(
            "graph",
            tr("Graph"),
            tr("Operations in live traces, before \u2192 after"),
            is_number=True,
        ),
        ReclaimColumn(
            "functions",
            tr("Functions"),
            tr("Registered functions, before \u2192 after"),
            is_number=True,
        ),
        ReclaimColumn(
            "released", tr("Released"), tr("Released traces, and the models that they belonged to")
        ),
        ReclaimColumn(
            "held", tr("Still held"), tr("Traces that could not be released, and what holds them")
        ),
        ReclaimColumn("result", tr("Result"), tr("Failures and omissions, with reasons")),
        ReclaimColumn("asked", tr("Requested by"), tr("A limit, the script or a user")),
    )


def reclaims_as_text(rows: Sequence[ReclaimRow]) -> str:
    """Head and rows as text, cells separated by tabs."""
    head = "\t".join(column.title for column in reclaim_columns())
    return "\n".join([head, *(row.as_text() for row in rows)])


def no_reclaims_text(actions: Sequence[str]) -> str:
    """Text in place of an empty table.

    Args:
        actions: Actions that can be requested from the run.
    """
    text = tr(
        "Nothing has been reclaimed in this run yet. Each save, collect, reload and restart"
        " appears here with memory before and after, what was released, and what holds the"
        " rest."
    )
    if "collect" in actions:
        return (
            text
            + " "
            + tr(
                "To start, press Collect (the lightest action) on the right, or set a limit "
                "on a chart."
            )
        )
    if "reload" in actions:
        return text + " " + tr("Press Reload on the right, or set a limit on a chart.")
    return text


def _row(row: int, record: ActionRecord, wall_s: float) -> ReclaimRow:
    moment = clock_text(wall_s)
    changes = {change.key: change for change in record_changes(record)}
    measured: list[ReclaimCell] = []
    for key in ("ram", "allocator", "graph", "functions"):
        change = changes.get(key)
        measured.append(
            ReclaimCell(NOT_KNOWN, float("-inf"), tone="mute")
            if change is None
            else ReclaimCell(change.text, float(change.gained))
        )
    who = requester_text(record.requested_by)
    cells = (
        _when(row, record, moment),
        _level(record),
        ReclaimCell(seconds_text(record.seconds), record.seconds),
        *measured,
        _released(record),
        _held_cell(record),
        _result(record),
        ReclaimCell(who or NOT_KNOWN, who.casefold(), record_origin_text(record)),
    )
    tooltip = record_tooltip(record, moment=moment)
    return ReclaimRow(row, action_icon(record.action), record.ok, cells, tooltip)


def _when(row: int, record: ActionRecord, moment: str) -> ReclaimCell:
    epoch = tr("epoch {n}").format(n=record.epoch + 1)
    if record.step:
        epoch += f".{record.step}"
    whole = f"{fit_position_text(record)}, {moment}"
    if not record.fit:
        return ReclaimCell(moment, float(row), whole)
    return ReclaimCell(f"{moment} \u00b7 {epoch}", float(row), whole)


def _level(record: ActionRecord) -> ReclaimCell:
    title = action_title(record)
    if record.part_of:
        whole = tr("{level}, part of Auto").format(level=title)
        return ReclaimCell(tr("{level}, Auto").format(level=title), title, whole)
    return ReclaimCell(title, title)


def _released(record: ActionRecord) -> ReclaimCell:
    text = released_traces_text(record)
    if not text:
        is_measured = record.action in ("collect", "reload")
        return ReclaimCell(tr("nothing") if is_measured else NOT_KNOWN, 0.0, tone="mute")
    return ReclaimCell(text, float(record.released_traces))


def _held_cell(record: ActionRecord) -> ReclaimCell:
    if not record.held:
        return ReclaimCell(NOT_KNOWN, 0.0, tone="mute")
    first = record.held[0]
    n = len(record.held)
    text = first if n == 1 else tr("{first} (+{n} more)").format(first=first, n=n - 1)
    return ReclaimCell(text, float(n), "\n".join(record.held))


def _result(record: ActionRecord) -> ReclaimCell:
    parts = [result_text(record)]
    if record.export:
        parts.append(tr("exported as {file}").format(file=record.export))
    parts += [translated_text(line) for line in record.not_saved]
    text = ", ".join(parts)
    tone = "plain" if record.ok else "warn"
    is_long = len(parts) > 1 or record.why or record.unchanged
    return ReclaimCell(text, text.casefold(), text if is_long else "", tone)


def _row_id(stored: _StoredReclaim) -> int:
    return stored.row
