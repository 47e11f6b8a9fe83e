"""All recorded runs: filtering and sorting."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from operator import itemgetter
from typing import Final, Literal

from kmonitor.ui.limits.limit_store import metric_reading
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.runs.run_store import RunStore
from kmonitor.ui.text.formats import count_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.unions import RunSummary
from kmonitor_agent.wire.messages.verdict_events import TIME_METRICS, VerdictMetric

HistoryColumn = Literal[
    "name",
    "state",
    "verdicts",
    "host",
    "started",
    "ran",
    "epochs",
    "ram",
    "vram",
    "graph",
    "step_time",
    "stored",
    "note",
]

StartFilter = Literal["any", "day", "week", "month", "year", "older"]
EndFilter = Literal["any", "running", "finished", "failed"]
VerdictFilter = Literal["any", "suspected", "growing", "slowing", "quiet"]
DateRange = tuple[float, float]
"""Start and end, UTC seconds."""

_DATE: Final = re.compile(r"\d{4}(-\d{1,2}){0,2}")
_DAY_S: Final = 86400.0
_MONTHS: Final = 12
_SPANS_S: Final[dict[StartFilter, float]] = {
    "day": _DAY_S,
    "week": 7 * _DAY_S,
    "month": 30 * _DAY_S,
    "year": 365 * _DAY_S,
}
_FAILED: Final = frozenset({"failed", "lost", "interrupted"})


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Criteria for the runs to show.

    Attributes:
        search_text: Words that must all occur in name, host, model, note, job, id or start date.
        start_filter: Time of the start; "older": more than 30 days ago.
        end_filter: End of the run, or that it has not ended; "failed": not as the training
            intended.
        verdict_filter: Verdict on any metric, as in the list; "quiet": nothing grows.
        host: Name of a host; empty: all.
        is_pinned: Only pinned runs.
    """

    search_text: str = ""
    start_filter: StartFilter = "any"
    end_filter: EndFilter = "any"
    verdict_filter: VerdictFilter = "any"
    host: str = ""
    is_pinned: bool = False


EVERYTHING: Final = HistoryFilter()
"""Filter that accepts every run."""


@dataclass(frozen=True, slots=True, eq=False)
class HistoryRow:
    """One run; the same object is returned while its data are unchanged.

    Attributes:
        run: Run id.
        host: Name of the run's host.
        is_reached: True if the run's hub is connected.
    """

    run: str
    summary: RunSummary
    host: str
    is_reached: bool


@dataclass(frozen=True, slots=True)
class KnownHub:
    """Facts about a hub.

    Attributes:
        name: Host name that the user chose; empty: as reported by the hub's runs.
        is_reached: True if the hub is connected.
    """

    name: str
    is_reached: bool


class RunHistory:
    """Filters and sorts runs; main thread only.

    Attributes:
        is_falling: True if the highest value comes first.
    """

    def __init__(self, known_hub: Callable[[str], KnownHub]) -> None:
        """Keeps no data of deleted runs.

        Args:
            known_hub: Returns the facts about the hub with this address; called once per refresh.
        """
        self.history_filter = EVERYTHING
        self.sorted_by: HistoryColumn = "started"
        self.is_falling = True
        self._known_hub = known_hub
        self._rows: dict[str, HistoryRow] = {}
        self._texts: dict[str, tuple[HistoryRow, str]] = {}

    def sort(self, column: HistoryColumn, *, is_falling: bool) -> None:
        self.sorted_by = column
        self.is_falling = is_falling

    def rows(self, store: RunStore, *, now_wall_s: float) -> list[HistoryRow]:
        """Return the runs that match the filter, in order.

        Args:
            store: All known runs.
        """
        self._renew(store)
        terms = [
            (term, parse_date_range(term))
            for term in self.history_filter.search_text.casefold().split()
        ]
        found = [row for row in self._rows.values() if self._fits(row, terms, now_wall_s)]
        return self._sorted(found)

    def hosts(self) -> list[str]:
        """Names of all hosts that have runs, sorted."""
        return sorted({row.host for row in self._rows.values()}, key=str.casefold)

    def count_text(self, n_shown: int) -> str:
        """Number of shown and of all runs: "12 of 5 000 runs"."""
        n = len(self._rows)
        if n_shown != n:
            return tr("{n} of {all} runs").format(n=count_text(n_shown), all=count_text(n))
        return tr("1 run") if n == 1 else tr("{n} runs").format(n=count_text(n))

    def empty_text(self) -> str:
        """Text in place of a table without rows."""
        if self._rows:
            return tr("No run matches the filters. Clear them to see all runs.")
        return tr(
            "No runs yet. Each training run that uses MonitorCallback() will be listed here."
        )

    def _renew(self, store: RunStore) -> None:
        before, self._rows = self._rows, {}
        hubs: dict[str, KnownHub] = {}
        for summary, at in store.placed():
            known_hub = hubs.get(at)
            if known_hub is None:
                known_hub = hubs[at] = self._known_hub(at)
            host = known_hub.name or summary.host
            run = summary.run
            row = before.get(run)
            if (
                row is None
                or row.summary is not summary
                or row.host != host
                or row.is_reached != known_hub.is_reached
            ):
                row = HistoryRow(run, summary, host, known_hub.is_reached)
            self._rows[run] = row
        for run in [run for run in self._texts if run not in self._rows]:
            del self._texts[run]

    def _fits(
        self, row: HistoryRow, terms: Sequence[tuple[str, DateRange | None]], now_wall_s: float
    ) -> bool:
        wanted = self.history_filter
        run = row.summary
        return (
            (not wanted.is_pinned or run.pinned)
            and (not wanted.host or row.host == wanted.host)
            and (wanted.start_filter == "any" or _started(run, wanted.start_filter, now_wall_s))
            and (wanted.end_filter == "any" or _ended(run, wanted.end_filter))
            and (wanted.verdict_filter == "any" or _is_judged(run, wanted.verdict_filter))
            and (not terms or self._contains_terms(row, terms))
        )

    def _contains_terms(
        self, row: HistoryRow, terms: Sequence[tuple[str, DateRange | None]]
    ) -> bool:
        known = self._texts.get(row.run)
        if known is None or known[0] is not row:
            known = self._texts[row.run] = (row, _text(row))
        started = row.summary.started_wall_s
        return all(
            term in known[1] or (days is not None and days[0] <= started < days[1])
            for term, days in terms
        )

    def _sorted(self, rows: list[HistoryRow]) -> list[HistoryRow]:
        # The newest first among equals; what is not known last, whichever way it is sorted.
        rows.sort(key=_newest_first)
        sort_value = _sort_key(self.sorted_by)
        known: list[tuple[float | str, HistoryRow]] = []
        unknown: list[HistoryRow] = []
        for row in rows:
            value = sort_value(row)
            if value is None:
                unknown.append(row)
            else:
                known.append((value, row))
        known.sort(key=itemgetter(0), reverse=self.is_falling)
        return [row for _, row in known] + unknown


SHOWN_METRICS: Final[tuple[VerdictMetric, ...]] = ("ram", "vram", "graph", "step_time")
"""Metrics with a column, in order."""


def metric_of(column: str) -> VerdictMetric | None:
    """Return the metric that a column shows; None: the column shows no metric."""
    return next((metric for metric in SHOWN_METRICS if metric == column), None)


def parse_date_range(text: str) -> DateRange | None:
    """Start and end, UTC, of a date such as 2026-11-22, 2026-11 or 2026; None: not a date."""
    if _DATE.fullmatch(text) is None:
        return None
    year, month, day = (int(part) if part else 0 for part in (text + "--").split("-")[:3])
    try:
        start = datetime(year, month or 1, day or 1).astimezone()
        if day:
            next_day = date(year, month, day) + timedelta(days=1)
            year = next_day.year
            month = next_day.month
            day = next_day.day
        else:
            year, month = (year, month + 1) if 0 < month < _MONTHS else (year + 1, 1)
        return start.timestamp(), datetime(year, month, day or 1).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _newest_first(row: HistoryRow) -> tuple[float, str]:
    return -row.summary.started_wall_s, row.run


def _text(row: HistoryRow) -> str:
    run = row.summary
    parts = (run.name, row.host, run.host, run.model, run.note, run.job, run.run)
    return " ".join(parts).casefold()


def _started(run: RunSummary, start_filter: StartFilter, now_wall_s: float) -> bool:
    age_s = now_wall_s - run.started_wall_s
    if start_filter == "older":
        return age_s > _SPANS_S["month"]
    return age_s <= _SPANS_S[start_filter]


def _ended(run: RunSummary, end_filter: EndFilter) -> bool:
    match end_filter:
        case "any":
            return True
        case "running":
            return not has_ended(run)
        case "failed":
            return run.state in _FAILED
        case "finished":
            return has_ended(run) and run.state not in _FAILED


def _is_judged(run: RunSummary, verdict_filter: VerdictFilter) -> bool:
    if verdict_filter == "any":
        return True
    if verdict_filter == "quiet":
        return not run.verdicts
    return verdict_filter in {
        _verdict_filter_of(metric, state) for metric, state in run.verdicts.items()
    }


def _verdict_filter_of(metric: str, state: str) -> VerdictFilter | None:
    """Filter that a text names: a growing graph is no leak, and step time slows down."""
    if metric in TIME_METRICS and state == "growing":
        return "slowing"
    if state == "growing" or (metric == "graph" and state == "suspected"):
        return "growing"
    return "suspected" if state == "suspected" else None


def _sort_key(column: HistoryColumn) -> Callable[[HistoryRow], float | str | None]:
    """Return a key to sort rows by; its value is None if unknown for a row."""
    metric = metric_of(column)
    if metric is not None:
        return lambda row: metric_reading(row.summary, metric).value
    return _ORDERS[column]


def _severity(run: RunSummary) -> float | None:
    if not run.verdicts:
        return None
    filters = [_verdict_filter_of(metric, state) for metric, state in run.verdicts.items()]
    return (
        100.0 * filters.count("suspected")
        + 10.0 * filters.count("growing")
        + filters.count("slowing")
    )


_ORDERS: Final[dict[HistoryColumn, Callable[[HistoryRow], float | str | None]]] = {
    "name": lambda row: row.summary.name.casefold(),
    "host": lambda row: row.host.casefold(),
    "state": lambda row: f"{has_ended(row.summary):d} {row.summary.state}",
    "note": lambda row: row.summary.note.casefold() or None,
    "verdicts": lambda row: _severity(row.summary),
    "started": lambda row: row.summary.started_wall_s,
    "ran": lambda row: row.summary.duration_s,
    "epochs": lambda row: row.summary.epochs_done,
    "stored": lambda row: row.summary.stored_bytes,
}
