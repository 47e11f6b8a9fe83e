"""Table of all runs: its columns and cells."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from kmonitor.ui.history.run_history import SHOWN_METRICS, HistoryColumn, HistoryRow, metric_of
from kmonitor.ui.limits.limit_store import metric_reading
from kmonitor.ui.runs.run_states import RunStateLabel, Tone, run_state_label
from kmonitor.ui.studies.study_page import folds_done_text
from kmonitor.ui.text.formats import (
    NOT_KNOWN,
    bytes_text,
    count_text,
    day_minute_text,
    duration_text,
    shortened,
)
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import metric_amount, metric_name, metric_name_of
from kmonitor.ui.verdicts.verdict_text import alarm_text
from kmonitor_agent.wire.messages.unions import RunSummary
from kmonitor_agent.wire.messages.verdict_events import (
    VERDICT_METRICS,
    VerdictMetric,
)

_LONGEST_NOTE: Final = 120


@dataclass(frozen=True, slots=True)
class HistoryHead:
    """A column's head.

    Attributes:
        key: Identifies the column.
        title: Text above the column.
        tooltip: Meaning of the column.
        is_number: True if the cells are aligned to the right.
        starts_high: True if a first click sorts the highest value to the top.
    """

    key: HistoryColumn
    title: str
    tooltip: str
    is_number: bool = False
    starts_high: bool = False


@dataclass(frozen=True, slots=True)
class HistoryCell:
    """One cell.

    Attributes:
        tooltip: Full text; empty: the same as the text.
        icon: Name of an icon before the text; empty: none.
    """

    text: str
    tooltip: str = ""
    tone: Tone = "plain"
    icon: str = ""


def history_heads() -> tuple[HistoryHead, ...]:
    """The columns, from left to right."""
    number = HistoryHead(
        key="ran",
        title=tr("Duration"),
        tooltip=tr("From the first to the last event"),
        is_number=True,
        starts_high=True,
    )
    sizes = [
        replace(number, key=metric, title=metric_name(metric), tooltip=tr("The last value"))
        for metric in SHOWN_METRICS
    ]
    return (
        HistoryHead("name", tr("Run"), tr("Name; pinned runs are marked with a pin")),
        HistoryHead("state", tr("State"), tr("Current or final state")),
        HistoryHead("verdicts", tr("Verdicts"), tr("Metrics that are growing"), starts_high=True),
        HistoryHead("host", tr("Host"), tr("Host the run is or was running on")),
        HistoryHead("started", tr("Started"), tr("In this machine's time zone"), starts_high=True),
        number,
        replace(
            number,
            key="epochs",
            title=tr("Epochs"),
            tooltip=tr("Completed epochs across all fits"),
        ),
        *sizes,
        replace(
            number,
            key="stored",
            title=tr("Stored size"),
            tooltip=tr("Approximate size in the hub's database"),
        ),
        HistoryHead("note", tr("Note"), tr("Note about the run")),
    )


def history_cell(row: HistoryRow, column: HistoryColumn, *, now_wall_s: float) -> HistoryCell:
    """Content of a cell.

    Args:
        now_wall_s: Now, UTC: for the time since a living run was last heard from.
    """
    metric = metric_of(column)
    if metric is not None:
        return _metric_cell(row.summary, metric)
    return _CELLS[column](row, now_wall_s)


def history_state(row: HistoryRow, now_wall_s: float) -> RunStateLabel:
    """State of a run, or how it ended."""
    return run_state_label(row.summary, now_wall_s=now_wall_s, is_connected=row.is_reached)


def _name_cell(row: HistoryRow, _now_wall_s: float) -> HistoryCell:
    run = row.summary
    return HistoryCell(run.name, _name_tooltip(run), icon="pin" if run.pinned else "")


def _state_cell(row: HistoryRow, now_wall_s: float) -> HistoryCell:
    state = history_state(row, now_wall_s)
    return HistoryCell(state.label, state.why or state.label, state.tone, state.icon)


def _note_cell(row: HistoryRow, _now_wall_s: float) -> HistoryCell:
    note = row.summary.note
    return HistoryCell(shortened(note, _LONGEST_NOTE), note, "mute")


def _metric_cell(run: RunSummary, metric: VerdictMetric) -> HistoryCell:
    reading = metric_reading(run, metric)
    if reading.value is None:
        return HistoryCell(NOT_KNOWN, translated_text(reading.absent), "mute")
    if metric == "graph":
        return HistoryCell(count_text(reading.value), metric_amount(metric, reading.value))
    return HistoryCell(metric_amount(metric, reading.value), translated_text(reading.source))


def _verdicts_cell(row: HistoryRow, _now_wall_s: float) -> HistoryCell:
    run = row.summary
    if not run.verdicts:
        return HistoryCell("")
    text = ", ".join(
        f"{metric_name_of(run, metric)} {alarm_text(metric, run.verdicts[metric])}"
        for metric in VERDICT_METRICS
        if metric in run.verdicts
    )
    is_suspected = "suspected" in run.verdicts.values()
    return HistoryCell(text, tone="crit" if is_suspected else "warn", icon="warning")


def _epochs(run: RunSummary) -> str:
    """Number of epochs that ended; of a study, the number of its folds."""
    return folds_done_text(run, run.tally) if run.tally else count_text(run.epochs_done)


def _name_tooltip(run: RunSummary) -> str:
    lines = [run.name]
    if run.model:
        lines.append(tr("Model {name}").format(name=run.model))
    if run.job:
        lines.append(run.job)
    lines.append(run.run)
    if run.pinned:
        lines.append(tr("Pinned: never removed to save space"))
    return "\n".join(lines)


_CELLS: Final[dict[HistoryColumn, Callable[[HistoryRow, float], HistoryCell]]] = {
    "name": _name_cell,
    "state": _state_cell,
    "verdicts": _verdicts_cell,
    "host": lambda row, _: HistoryCell(row.host, row.summary.host, "mute"),
    "started": lambda row, _: HistoryCell(
        day_minute_text(row.summary.started_wall_s), tone="mute"
    ),
    "ran": lambda row, _: HistoryCell(duration_text(row.summary.duration_s)),
    "epochs": lambda row, _: HistoryCell(_epochs(row.summary)),
    "stored": lambda row, _: HistoryCell(bytes_text(row.summary.stored_bytes), tone="mute"),
    "note": _note_cell,
}
