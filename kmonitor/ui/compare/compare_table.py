"""Differences between compared runs: one row per quantity, one column per run."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from kmonitor.ui.charts.chart_kinds import LOG_PREFIX, better_direction
from kmonitor.ui.charts.feed import ChartFeed
from kmonitor.ui.compare.compare_state import CompareCell, CompareRow
from kmonitor.ui.limits.limit_store import metric_reading
from kmonitor.ui.plots.chart_state import FloatArray
from kmonitor.ui.runs.run_states import has_ended, run_state_label
from kmonitor.ui.text.formats import (
    NOT_KNOWN,
    count_text,
    day_text,
    duration_text,
    number_text,
    rate_text,
    seconds_text,
)
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import METRIC_UNITS, metric_amount, metric_name
from kmonitor.ui.verdicts.verdict_text import (
    slope_text,
    unit_name,
    verdict_headline,
    verdict_state_text,
    verdict_tone,
)
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.events import Verdict
from kmonitor_agent.wire.messages.unions import RunSummary
from kmonitor_agent.wire.messages.verdict_events import VerdictMetric

_ORDER: Final[tuple[VerdictMetric, ...]] = ("ram", "vram", "graph", "step_time")


class CompareTable:
    """Looks up runs, columns and verdicts and formats them as text; main thread only."""

    def __init__(self, workspace: Workspace, feed: ChartFeed) -> None:
        self._workspace = workspace
        self._feed = feed

    def rows(self, runs: Sequence[RunSummary], *, only_differences: bool) -> list[CompareRow]:
        """Return the rows of the table.

        Args:
            runs: Runs from left to right.
            only_differences: Leave out rows that are the same for all runs.
        """
        found = [
            *self._metric_rows(runs),
            *self._training_rows(runs),
            *self._general_rows(runs),
            *_versions(runs),
        ]
        return [row for row in found if row.differs or not only_differences]

    def _metric_rows(self, runs: Sequence[RunSummary]) -> list[CompareRow]:
        rows: list[CompareRow] = []
        for metric in _ORDER:
            name = metric_name(metric)
            last = [self._last(run, metric) for run in runs]
            if metric == "step_time":
                median = [self._median_step(run) for run in runs]
                rows.append(_row(tr("Step time, median over all epochs"), median))
                rows.append(_row(tr("Step time, last epoch"), last))
            else:
                peak = [self._peak(run, metric) for run in runs]
                title = tr("{metric}, last").format(metric=name)
                rows.append(_row(title, last))
                title = tr("{metric}, peak").format(metric=name)
                rows.append(_row(title, peak))
            verdicts = [self._workspace.verdicts.get(run.run, metric) for run in runs]
            slopes = [_slope(verdict) for verdict in verdicts]
            title = tr("{metric}, slope").format(metric=name)
            rows.append(_row(title, slopes))
            title = tr("{metric}, verdict").format(metric=name)
            judged = [_verdict(run, found) for run, found in zip(runs, verdicts, strict=True)]
            rows.append(_row(title, judged))
        return rows

    def _training_rows(self, runs: Sequence[RunSummary]) -> list[CompareRow]:
        """Last value of each Keras log, and the best one if the log's name shows its direction."""
        have = self._feed.have(run.run for run in runs)
        columns = sorted(column for column in have if column.startswith(LOG_PREFIX))
        self._feed.want(columns, by="comparison")
        rows: list[CompareRow] = []
        for column in columns:
            name = column.removeprefix(LOG_PREFIX)
            known = [self._feed.store.known_values(run.run, column) for run in runs]
            last = [_number_cell(values[-1:]) for values in known]
            rows.append(_row(tr("{metric}, last").format(metric=name), last))
            which = better_direction(name)
            if which is not None:
                pick = np.min if which == "lower" else np.max
                best = [_number_cell(values, pick) for values in known]
                rows.append(_row(tr("{metric}, best").format(metric=name), best))
        return rows

    def _last(self, run: RunSummary, metric: VerdictMetric) -> CompareCell:
        value = metric_reading(run, metric).value
        if value is None:
            return CompareCell(NOT_KNOWN, translated_text(metric_reading(run, metric).absent))
        return CompareCell(
            metric_amount(metric, value), translated_text(metric_reading(run, metric).source)
        )

    def _peak(self, run: RunSummary, metric: VerdictMetric) -> CompareCell:
        values = self._feed.store.known_values(run.run, self._feed.column(run.run, metric))
        if not len(values):
            return CompareCell(NOT_KNOWN)
        return CompareCell(metric_amount(metric, float(values.max())))

    def _median_step(self, run: RunSummary) -> CompareCell:
        column = self._feed.column(run.run, "step_time")
        values = self._feed.store.known_values(run.run, column)
        if not len(values):
            return CompareCell(NOT_KNOWN)
        return CompareCell(seconds_text(float(np.median(values))))

    def _general_rows(self, runs: Sequence[RunSummary]) -> list[CompareRow]:
        now_wall_s = self._workspace.now_wall_s()
        states = [
            run_state_label(
                run, now_wall_s=now_wall_s, is_connected=self._workspace.is_reached(run.run)
            )
            for run in runs
        ]
        cells = [CompareCell(each.label, each.why, each.tone) for each in states]
        rows = [_row(tr("State"), cells)]
        rows += [
            _row(title, [CompareCell(cell_text(run)) for run in runs])
            for title, cell_text in _facts()
        ]
        return rows


def _facts() -> tuple[tuple[str, Callable[[RunSummary], str]], ...]:
    """Title of each fact, and the function that formats a run's value."""
    return (
        (tr("Epochs"), lambda run: count_text(run.epochs_done)),
        (tr("Models (fits)"), lambda run: count_text(run.fit)),
        (tr("Duration"), lambda run: duration_text(run.duration_s)),
        (tr("Model"), lambda run: run.model or NOT_KNOWN),
        (tr("Batch size"), _batch_size),
        (tr("Optimizer"), lambda run: run.optimizer or NOT_KNOWN),
        (tr("Learning rate"), _learning_rate),
        (tr("Backend"), lambda run: run.backend or NOT_KNOWN),
        (tr("Host"), lambda run: run.host),
        (tr("Started"), lambda run: day_text(run.started_wall_s)),
        (tr("Note"), lambda run: " ".join(run.note.split())),
    )


def _batch_size(run: RunSummary) -> str:
    return NOT_KNOWN if run.batch_size is None else count_text(run.batch_size)


def _learning_rate(run: RunSummary) -> str:
    return NOT_KNOWN if run.learning_rate is None else number_text(run.learning_rate)


def _versions(runs: Sequence[RunSummary]) -> list[CompareRow]:
    """Rows of packages whose version differs between runs."""
    versions_by_run: list[Mapping[str, str]] = [run.versions for run in runs]
    names = sorted(
        {str(name) for versions in versions_by_run for name in versions}, key=str.casefold
    )
    rows = [
        _row(
            tr("{package} version").format(package=name),
            [CompareCell(versions.get(name, NOT_KNOWN)) for versions in versions_by_run],
        )
        for name in names
    ]
    return [row for row in rows if row.differs]


def _slope(verdict: Verdict | None) -> CompareCell:
    if verdict is None or verdict.slope is None:
        return CompareCell(NOT_KNOWN)
    unit = METRIC_UNITS[verdict.metric]
    return CompareCell(rate_text(verdict.slope, unit, unit_name(verdict)), slope_text(verdict))


def _verdict(run: RunSummary, verdict: Verdict | None) -> CompareCell:
    if verdict is None:
        return CompareCell(NOT_KNOWN)
    is_final = has_ended(run)
    text = verdict_state_text(verdict, is_final=is_final)
    return CompareCell(text, verdict_headline(verdict, is_final=is_final), verdict_tone(verdict))


def _number_cell(
    values: FloatArray, pick: Callable[[FloatArray], FloatArray] = np.min
) -> CompareCell:
    finite = values[np.isfinite(values)]
    return CompareCell(number_text(float(pick(finite))) if len(finite) else NOT_KNOWN)


def _row(title: str, cells: Sequence[CompareCell]) -> CompareRow:
    differs = len({cell.text for cell in cells}) > 1
    return CompareRow(title, tuple(cells), differs)
