"""Brings the charts' columns from the hub and keeps them up with the live rows."""

from collections import deque
from collections.abc import Collection
from typing import Final

from kmonitor.presenters.command_desk import Ask
from kmonitor.presenters.flags import FlagBook
from kmonitor.presenters.series_store import STEP_TIME_COLUMN, SeriesStore
from kmonitor_agent.protocol.commands import LimitMetric
from kmonitor_agent.protocol.facts import ActionRecord, AnyEvent, GraphSize, Sample
from kmonitor_agent.protocol.messages import Row, RunSummary, SeriesAsked, SeriesTold

METRIC_COLUMNS: Final[dict[LimitMetric, str]] = {
    "vram": "vram_bytes",
    "ram": "ram_bytes",
    "graph": "graph_operations",
    "step_time": STEP_TIME_COLUMN,
    "functions": "functions",
}

_ALLOCATOR: Final = "allocator_in_use_bytes"
_RUNNING_MEDIAN: Final = "step_time_s"
_FALLBACKS: Final[dict[LimitMetric, str]] = {"vram": _ALLOCATOR, "step_time": _RUNNING_MEDIAN}
_ASKED: Final = (
    "vram_bytes",
    _ALLOCATOR,
    "ram_bytes",
    "graph_operations",
    STEP_TIME_COLUMN,
    _RUNNING_MEDIAN,
)
_BUCKETS: Final = 2000
_MAX_WAITING: Final = 20_000

_Waiting = deque[tuple[Row, AnyEvent]]


class ChartFeed:
    """Fills a `SeriesStore` and a `FlagBook`; main thread only.

    Attributes:
        store: Columns of the runs that were shown.
        flags: Their actions.
    """

    def __init__(self, ask: Ask) -> None:
        self.store = SeriesStore()
        self.flags = FlagBook()
        self._ask = ask
        self._asked: dict[int, str] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._covered: dict[str, int] = {}

    def show_runs(self, runs: list[RunSummary]) -> None:
        """Ask for the columns of runs that were not shown before."""
        for summary in runs:
            run = summary.run
            if run in self._covered or run in self._waiting:
                continue
            self._waiting[run] = deque(maxlen=_MAX_WAITING)
            question = SeriesAsked(ask=0, run=run, columns=list(_ASKED), buckets=_BUCKETS)
            self._asked[self._ask(question)] = run

    def take_event(self, row: Row, event: AnyEvent, *, is_live: bool) -> None:
        """Take an event of any run.

        Args:
            row: Its row.
            event: What it says.
            is_live: False: it comes from history, and the columns know it already.
        """
        if isinstance(event, ActionRecord):
            self.flags.add(row.run, row.row, row.t_s, event)
        if not is_live:
            return
        waiting = self._waiting.get(row.run)
        if waiting is not None:
            waiting.append((row, event))
        elif row.row > self._covered.get(row.run, row.row):
            self.store.tell(row.run, row.t_s, _as_sampled(event))

    def take_series(self, told: SeriesTold) -> None:
        """Take columns that were asked here, then the rows that came meanwhile."""
        run = self._asked.pop(told.ask, None)
        if run is None:
            return
        self.store.backfill(told)
        self._covered[run] = told.row
        for row, event in self._waiting.pop(run, ()):
            self.take_event(row, event, is_live=True)

    def refuse(self, ask: int) -> None:
        """The hub could not answer: ask again when the run is shown again."""
        run = self._asked.pop(ask, None)
        if run is not None:
            self._waiting.pop(run, None)

    def forget(self, runs: Collection[str]) -> None:
        """All that was told of these runs is void."""
        for run in runs:
            self.store.forget(run)
            self.flags.forget(run)
            self._waiting.pop(run, None)
            self._covered.pop(run, None)
        self._asked = {ask: run for ask, run in self._asked.items() if run not in runs}

    def is_loaded(self, run: str) -> bool:
        """Whether a run's columns have come."""
        return run in self._covered

    def column(self, run: str, metric: LimitMetric) -> str:
        """The column that shows a metric.

        The allocator's where there is no GPU's; the running epoch's step time until an epoch has
        ended, and from then on the medians of whole epochs, which limits are held against too.
        """
        column = METRIC_COLUMNS[metric]
        fallback = _FALLBACKS.get(metric)
        if fallback is None or self.store.last_value(run, column) is not None:
            return column
        return fallback

    def step_time_s(self, run: str) -> float | None:
        """Median step time of the last epoch that ended, seconds; None before."""
        return self.store.last_value(run, STEP_TIME_COLUMN)


def _as_sampled(event: AnyEvent) -> AnyEvent:
    """A graph size counted at an epoch's end as a sample, so that curve and card agree at once."""
    if isinstance(event, GraphSize):
        return Sample(t_s=event.t_s, graph_operations=float(event.operations))
    return event
