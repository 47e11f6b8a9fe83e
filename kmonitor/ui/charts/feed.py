"""Data of the charts: columns requested from the hub and extended by live rows, and flags.

While a request for a live run is open, its rows are kept aside. They are applied after the reply,
except those that the reply already covers.
"""

import math
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kmonitor.ui.charts.chart_kinds import LOG_PREFIX
from kmonitor.ui.charts.series import Span
from kmonitor.ui.charts.series_store import (
    STEP_TIME_COLUMN,
    EpochBars,
    Points,
    SeriesStore,
    VisibleRange,
)
from kmonitor.ui.events.action_records import record_tooltip
from kmonitor.ui.events.reclaims import RECLAIMS
from kmonitor.ui.plots.chart_state import FlagState, XKind
from kmonitor.ui.runs.sent_commands import SendRequest
from kmonitor.ui.text.formats import count_text, working_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.commands import STEP_TIME_METRICS, LimitMetric
from kmonitor_agent.wire.messages.events import (
    EPOCH_PARTS,
    ActionRecord,
    AnyEvent,
    EpochEnded,
    GraphSize,
    Sample,
)
from kmonitor_agent.wire.messages.readings import (
    EPOCH_SECONDS,
    MAX_COLUMN,
    NATIVE_BYTES,
    SAMPLE_COLUMNS,
    epoch_values,
    extra_sample_values,
    is_sample_column,
    part_column,
    step_time_column,
)
from kmonitor_agent.wire.messages.unions import (
    EventRow,
    ReplyPending,
    RunSummary,
    SeriesReply,
    SeriesRequest,
)
from kmonitor_agent.wire.messages.verdict_events import COUNTED_METRICS

METRIC_COLUMNS: Final[dict[LimitMetric, str]] = {
    "vram": "vram_bytes",
    "ram": "ram_bytes",
    "graph": "graph_operations",
    **{metric: step_time_column(metric) for metric in STEP_TIME_METRICS},
    "epoch_time": EPOCH_SECONDS,
    "functions": "functions",
    **{metric: used for metric, (used, _) in COUNTED_METRICS.items()},
}

_ALLOCATOR: Final = "allocator_in_use_bytes"
_RUNNING_MEDIAN: Final = "step_time_s"
_FALLBACKS: Final[dict[LimitMetric, str]] = {"vram": _ALLOCATOR, "step_time": _RUNNING_MEDIAN}

STEP_TAILS: Final = ("step_time_mean", "step_time_p99", "step_time_max")
"""Statistics of step time that a few slow steps move, unlike the median."""

PART_COLUMNS: Final = tuple(map(part_column, EPOCH_PARTS))

_STANDARD_COLUMNS: Final = (
    "vram_bytes",
    _ALLOCATOR,
    "ram_bytes",
    "graph_operations",
    STEP_TIME_COLUMN,
    _RUNNING_MEDIAN,
    NATIVE_BYTES,
    *map(step_time_column, STEP_TAILS),
    *PART_COLUMNS,
)

_MAX_BUCKETS: Final = 2000
_MAX_COLUMNS: Final = 16
"""Most columns of one request."""

_MAX_WAITING: Final = 20_000
_Waiting = deque[tuple[EventRow, AnyEvent]]


@dataclass(frozen=True, slots=True)
class _PendingRequest:
    """A request without a reply yet.

    Attributes:
        columns: Names of the columns.
        meanwhile: Rows received since the request was sent; None for a run's first request.
        span_s: Requested stretch of run time, seconds; None: all of the run.
    """

    run: str
    columns: tuple[str, ...]
    meanwhile: _Waiting | None = None
    span_s: Span | None = None


class ChartFeed:
    """Fills a `SeriesStore` and a `FlagStore`; main thread only.

    Attributes:
        store: Columns of the runs that were shown.
        flags: Actions of these runs.
    """

    def __init__(self, request: SendRequest) -> None:
        self.store = SeriesStore()
        self.flags = FlagStore()
        self._send_request = request
        self._pending: dict[int, _PendingRequest] = {}
        self._wanted_columns: dict[str, tuple[str, ...]] = {}
        self._held: dict[str, set[str]] = {}
        self._have: dict[str, set[str]] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._covered: dict[str, int] = {}
        self._refused: dict[str, Span] = {}
        self._working: dict[str, ReplyPending] = {}
        self._outlines: dict[str, int] = {}

    def show_runs(self, runs: list[RunSummary]) -> None:
        """Request the columns of runs that were not shown before."""
        for summary in runs:
            run = summary.run
            if run in self._covered or run in self._waiting:
                continue
            self._waiting[run] = deque(maxlen=_MAX_WAITING)
            self._request_columns(_PendingRequest(run, _STANDARD_COLUMNS))

    def want(self, columns: Iterable[str], *, by: str = "charts") -> None:
        """Also hold these columns of every run that is shown, from now on.

        Args:
            columns: Columns that replace those wanted by the same user before.
            by: Name of the user of the columns.
        """
        self._wanted_columns[by] = tuple(columns)
        for run in self._covered:
            self._request_missing(run)

    def points(self, run: str, column: str, visible_range: VisibleRange) -> Points:
        """Return a column thinned to a window; request detail where the held data is too coarse.

        The held data is drawn until the reply is there.
        """
        span_s = self.store.coarse_span_s(run, column, visible_range)
        if span_s is not None and span_s != self._refused.get(run):
            self._request_detail(run, column, span_s)
        return self.store.points(run, column, visible_range)

    def epoch_bars(
        self, run: str, columns: Sequence[str], visible_range: VisibleRange
    ) -> EpochBars:
        """Return columns of epochs as bars; request detail as `points` does."""
        self.points(run, columns[0], visible_range)
        return self.store.epoch_bars(run, columns, visible_range)

    def have(self, runs: Iterable[str]) -> set[str]:
        """Columns known to have a reading in any of these runs."""
        return {column for run in runs for column in self._have.get(run, ())}

    def apply_event(self, row: EventRow, event: AnyEvent, *, is_live: bool) -> None:
        """Take an event of any run.

        Args:
            is_live: False if the event comes from history and the columns already contain it.
        """
        if isinstance(event, ActionRecord):
            self.flags.add(row.run, row.row, row.t_s, event)
        if not is_live:
            return
        self._note_columns(row.run, event)
        for pending in self._pending.values():
            if pending.run == row.run and pending.meanwhile is not None:
                pending.meanwhile.append((row, event))
        waiting = self._waiting.get(row.run)
        if waiting is not None:
            waiting.append((row, event))
        elif row.row > self._covered.get(row.run, row.row):
            self.store.apply_event(row.run, row.t_s, _as_sampled(event))

    def apply_series(self, reply: SeriesReply) -> None:
        """Take columns that this feed requested, then the rows received meanwhile."""
        if reply.one_of > 1:
            self._apply_outline(reply)
        elif (pending := self._pending.pop(reply.request_id, None)) is not None:
            self._apply_whole(pending, reply)

    def _apply_whole(self, pending: _PendingRequest, reply: SeriesReply) -> None:
        run = pending.run
        self._outlines.pop(run, None)
        self._working.pop(run, None)
        if pending.span_s is not None:
            self.store.apply_detail(reply, pending.span_s)
            return
        self.store.backfill(reply)
        self._have.setdefault(run, set()).update(reply.have)
        if pending.meanwhile is not None:
            # Columns that were held already leave out what they have; epochs are replaced.
            for row, event in pending.meanwhile:
                if row.row > reply.row:
                    self.store.apply_event(run, row.t_s, _as_sampled(event))
            return
        self._covered[run] = reply.row
        for row, event in self._waiting.pop(run, ()):
            self.apply_event(row, event, is_live=True)
        self._request_missing(run)

    def _apply_outline(self, reply: SeriesReply) -> None:
        pending = self._pending.get(reply.request_id)
        if pending is None or pending.run in self._outlines or self.is_loaded(pending.run):
            return
        self._outlines[pending.run] = reply.one_of
        self.store.backfill(reply)
        self._have.setdefault(pending.run, set()).update(reply.have)

    def outline_text(self, run: str, column: str) -> str:
        """Remark on a chart while it is only a preview; else empty."""
        one_of = self._outlines.get(run)
        if one_of is None or not is_sample_column(column):
            return ""
        return tr("preview: 1 in {n} samples so far").format(n=count_text(one_of))

    def note_pending(self, pending: ReplyPending) -> None:
        """Note that the hub is working on a reply."""
        known = self._pending.get(pending.request_id)
        if known is not None:
            self._working[known.run] = pending

    def refuse(self, request_number: int) -> None:
        """Drop a request that the hub refused; it is sent again when the run is shown again."""
        pending = self._pending.pop(request_number, None)
        if pending is None:
            return
        if pending.span_s is not None:
            # Not once more at each repaint: when another stretch is shown.
            self._refused[pending.run] = pending.span_s
            return
        if pending.meanwhile is None:
            self._waiting.pop(pending.run, None)
        self._held.get(pending.run, set()).difference_update(pending.columns)

    def forget(self, runs: Collection[str]) -> None:
        for run in runs:
            self.store.forget(run)
            self.flags.forget(run)
            self._waiting.pop(run, None)
            self._covered.pop(run, None)
            self._held.pop(run, None)
            self._have.pop(run, None)
            self._refused.pop(run, None)
            self._working.pop(run, None)
            self._outlines.pop(run, None)
        self._pending = {
            request_number: each
            for request_number, each in self._pending.items()
            if each.run not in runs
        }

    def is_loaded(self, run: str) -> bool:
        """True if a run's columns have been received."""
        return run in self._covered

    def loading_text(self, run: str) -> str:
        """Text shown in place of a run's columns until they are received."""
        working = self._working.get(run)
        return tr("Loading\u2026") if working is None else working_text(working.done, working.of)

    def column(self, run: str, metric: LimitMetric) -> str:
        """Column that shows a metric.

        Without a GPU, VRAM shows the allocator's column, or native memory where that allocator
        counts nothing. Step time shows the running epoch's values until an epoch has ended, and
        from then on the medians of whole epochs, which limits are also compared with.
        """
        if metric == "vram" and self.native_bytes(run) is not None:
            return NATIVE_BYTES
        column = METRIC_COLUMNS[metric]
        fallback = _FALLBACKS.get(metric)
        if fallback is None or self.store.last_value(run, column) is not None:
            return column
        return fallback

    def native_bytes(self, run: str) -> float | None:
        """Native memory in use at the last epoch's end, bytes, where it replaces the allocator's.

        The allocator of a CPU counts only large tensors, and nothing for a small model. None: the
        allocator counts something, there is a GPU, or native memory is not known.
        """
        store = self.store
        if store.last_value(run, METRIC_COLUMNS["vram"]) is not None:
            return None
        if store.last_value(run, _ALLOCATOR) != 0 or store.known_values(run, _ALLOCATOR).any():
            return None
        return store.last_value(run, NATIVE_BYTES)

    def last_epoch_parts(self, run: str) -> dict[str, float]:
        """Seconds of each part of the last ended epoch, by name; only parts that took time."""
        known = {
            name: (float(t_s[-1]), float(values[-1]))
            for name, column in zip(EPOCH_PARTS, PART_COLUMNS, strict=True)
            for t_s, values in [self.store.known_points(run, column)]
            if len(t_s)
        }
        newest_s = max((end_s for end_s, _ in known.values()), default=0.0)
        return {
            name: seconds
            for name, (end_s, seconds) in known.items()
            if end_s == newest_s and seconds > 0.0
        }

    def step_time_s(self, run: str) -> float | None:
        """Median step time of the last epoch that ended, seconds; None before."""
        return self.store.last_value(run, STEP_TIME_COLUMN)

    def _request_columns(self, pending: _PendingRequest) -> None:
        self._held.setdefault(pending.run, set()).update(pending.columns)
        request = SeriesRequest(
            request_id=0,
            run=pending.run,
            columns=list(pending.columns),
            buckets=_MAX_BUCKETS,
            outline=pending.meanwhile is None,
        )
        self._pending[self._send_request(request)] = pending

    def _request_detail(self, run: str, column: str, span_s: Span) -> None:
        if any(each.run == run and each.span_s is not None for each in self._pending.values()):
            return  # While one zooms on, the answer to the last request comes first.
        columns = dict.fromkeys((column, *self.store.thinned(run)))
        request = SeriesRequest(
            request_id=0,
            run=run,
            columns=list(columns)[:_MAX_COLUMNS],
            from_s=span_s[0],
            to_s=span_s[1] if math.isfinite(span_s[1]) else None,
            buckets=_MAX_BUCKETS,
        )
        self._pending[self._send_request(request)] = _PendingRequest(run, (), span_s=span_s)

    def _request_missing(self, run: str) -> None:
        held = self._held.get(run, set())
        wanted = dict.fromkeys(column for some in self._wanted_columns.values() for column in some)
        missing = [column for column in wanted if column not in held]
        for at in range(0, len(missing), _MAX_COLUMNS):
            part = tuple(missing[at : at + _MAX_COLUMNS])
            self._request_columns(_PendingRequest(run, part, deque(maxlen=_MAX_WAITING)))

    def _note_columns(self, run: str, event: AnyEvent) -> None:
        """Add columns that a live run has begun to measure since its columns were requested."""
        if isinstance(event, EpochEnded):
            have = self._have.setdefault(run, set())
            have.update(f"{LOG_PREFIX}{name}"[:MAX_COLUMN] for name in event.logs)
            have.update(name for name, _ in epoch_values(event))
        elif isinstance(event, Sample):
            have = self._have.setdefault(run, set())
            have.update(name for name in SAMPLE_COLUMNS if getattr(event, name) is not None)
            if event.logs or event.more_devices:
                have.update(
                    name for name, _ in extra_sample_values(event.logs, event.more_devices)
                )


def _as_sampled(event: AnyEvent) -> AnyEvent:
    """Turn a graph size from an epoch's end into a sample: curve and card agree at once."""
    if isinstance(event, GraphSize):
        return Sample(t_s=event.t_s, graph_operations=float(event.operations))
    return event


_FLAGGED: Final = RECLAIMS | {"stop"}
_CLEARING: Final = frozenset({"collect", "reload", "restart"})


class FlagStore:
    """Records of actions by run, each once; main thread only."""

    def __init__(self) -> None:
        self._records: dict[str, dict[int, tuple[float, ActionRecord]]] = {}

    def add(self, run: str, row: int, t_s: float, record: ActionRecord) -> None:
        """Keep a record.

        Args:
            row: The hub's row id.
            t_s: Run time, seconds.
        """
        if record.action in _FLAGGED:
            self._records.setdefault(run, {})[row] = (t_s, record)

    def forget(self, run: str) -> None:
        self._records.pop(run, None)

    def flags(self, run: str, store: SeriesStore, kind: XKind) -> tuple[FlagState, ...]:
        """Flags of a run on an axis, in rising order."""
        found = sorted(self._records.get(run, {}).items(), key=_flag_time_s)
        return tuple(
            FlagState(
                x=store.x_of(run, t_s, kind),
                text=_flag_text(record),
                tooltip=_flag_tooltip(record),
                ok=record.ok,
                row=row if record.action in RECLAIMS else None,
                # A save changes nothing on the curve: its label would only hide others.
                is_quiet=record.action == "save" and record.ok,
            )
            for row, (t_s, record) in found
        )

    def last_clearing_s(self, run: str) -> float:
        """Run time of the last successful collect, reload or restart, seconds; 0: none."""
        times = [
            t_s
            for t_s, record in self._records.get(run, {}).values()
            if record.ok and record.action in _CLEARING
        ]
        return max(times, default=0.0)


def _flag_time_s(entry: tuple[int, tuple[float, ActionRecord]]) -> float:
    return entry[1][0]


def _flag_text(record: ActionRecord) -> str:
    action_names = {
        "save": tr("save"),
        "collect": tr("collect"),
        "reload": tr("reload"),
        "restart": tr("restart"),
        "stop": tr("stop"),
    }
    action_name = action_names.get(record.action, record.action)
    return action_name if record.ok else tr("{action} failed").format(action=action_name)


def _flag_tooltip(record: ActionRecord) -> str:
    text = record_tooltip(record)
    if record.action not in RECLAIMS:
        return text
    hint = tr("Click to show this action's row in the table below")
    return f"{text}\n{hint}"
