"""Columns that charts draw, by run, from the hub's replies and the live rows after them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.ui.charts.chart_kinds import LOG_PREFIX
from kmonitor.ui.charts.epoch_axis import EpochAxis
from kmonitor.ui.charts.series import (
    GrowingSeries,
    Span,
    ZoomedSeries,
    column_points,
    column_series,
    is_thinned,
    span_to_request,
    unpack_doubles,
)
from kmonitor.ui.plots.chart_state import NO_POINTS, FloatArray, XKind
from kmonitor.ui.plots.layout import mark_stride
from kmonitor.ui.plots.thinning import bucket_edges, thin_to_buckets
from kmonitor_agent.wire.messages.events import (
    AnyEvent,
    EpochEnded,
    EpochStarted,
    FitEnded,
    LostEvents,
    Sample,
    SessionStarted,
)
from kmonitor_agent.wire.messages.readings import (
    EPOCH_PREFIX,
    MAX_COLUMN,
    epoch_values,
    extra_sample_values,
    step_time_column,
)
from kmonitor_agent.wire.messages.unions import SeriesReply

STEP_TIME_COLUMN: Final = step_time_column("step_time")
Points = tuple[FloatArray, FloatArray]
"""x and y, `[n_points]` each."""

_Live = tuple[tuple[str, GrowingSeries], ...]
_EMPTY: Final[Points] = (NO_POINTS, NO_POINTS)


@dataclass(frozen=True, slots=True)
class VisibleRange:
    """The part of the horizontal axis that a chart shows.

    Attributes:
        kind: Unit of the axis.
        x_from: Start of the part.
        x_to: End of the part.
        width_px: Width of the drawn part, pixels.
    """

    kind: XKind
    x_from: float
    x_to: float
    width_px: int


@dataclass(frozen=True, slots=True)
class EpochBars:
    """Values of epochs as bars; each bar is the mean of its epochs.

    Attributes:
        x_from: Left edges, rising, `[n_bars]`.
        x_to: Right edges, `[n_bars]`.
        values: Heights, NaN where not known, `[n_columns, n_bars]`.
        first: Index of the first epoch of each bar, `[n_bars]`.
        last: Index of the last epoch of each bar, `[n_bars]`.
    """

    x_from: FloatArray
    x_to: FloatArray
    values: FloatArray
    first: NDArray[np.intp]
    last: NDArray[np.intp]


_LEAST_BAR_PX: Final = 5.0
_NO_INDEX: Final = np.empty(0, np.intp)
NO_BARS: Final = EpochBars(NO_POINTS, NO_POINTS, np.empty((0, 0)), _NO_INDEX, _NO_INDEX)


@dataclass(slots=True)
class _RunSeries:
    columns: dict[str, GrowingSeries] = field(default_factory=dict[str, GrowingSeries])
    epochs: EpochAxis = field(default_factory=EpochAxis)
    models: EpochAxis = field(default_factory=EpochAxis)
    fit: int = 0
    newest_s: float = 0.0
    closer: ZoomedSeries | None = None
    drawn: dict[str, tuple[object, Points]] = field(
        default_factory=dict[str, tuple[object, Points]]
    )

    def axis(self, kind: XKind) -> EpochAxis | None:
        """Epochs or fits of the horizontal axis; None: seconds."""
        return {"epochs": self.epochs, "models": self.models, "seconds": None}[kind]

    def live(self) -> _Live:
        """All columns that live rows are added to."""
        closer = self.closer.columns if self.closer is not None and self.closer.is_live else {}
        return (*self.columns.items(), *closer.items())

    def series(self, column: str, span_s: Span) -> GrowingSeries | None:
        """Most detailed series of a column in this stretch; None where the column is not held."""
        closer = self.closer.series(column, span_s) if self.closer is not None else None
        return self.columns.get(column) if closer is None else closer

    def span_s(self, visible_range: VisibleRange) -> Span:
        """Run times that a window shows, up to the run's newest moment, seconds."""
        axis = self.axis(visible_range.kind)
        edges = np.array((visible_range.x_from, visible_range.x_to))
        from_s, to_s = edges if axis is None else axis.t_s_of(edges)
        return max(0.0, float(from_s)), min(self.newest_s, float(to_s))


class SeriesStore:
    """Holds the requested columns; owned by the main thread.

    Request a run's columns from the hub, pass the reply to `backfill`, and each live row to
    `apply_event`: rows that the reply already covers are ignored. Columns of a long run are
    thinned; the stretch of a zoomed chart is requested once more (`coarse_span_s`,
    `apply_detail`) and held until the next one.
    """

    def __init__(self) -> None:
        self._runs: dict[str, _RunSeries] = {}

    def backfill(self, reply: SeriesReply) -> None:
        """Take columns and epochs from the hub."""
        held = self._runs.setdefault(reply.run, _RunSeries())
        for column in reply.columns:
            series = held.columns.setdefault(column.name, GrowingSeries())
            t_s, values = column_points(column)
            series.splice(t_s, values)
            series.is_thinned |= is_thinned(column)
            if len(t_s):
                _extend_to(held, float(t_s[-1]))
        starts = unpack_doubles(reply.epoch_t_s)
        ends = unpack_doubles(reply.epoch_end_t_s)
        if len(starts) != len(ends) or not np.isfinite(starts).all() or np.isinf(ends).any():
            return  # no hub of ours sends that
        held.epochs.set_epochs(starts, ends)
        n_fits = len(reply.fit_of_epoch) // 4
        _set_model_spans(
            held, starts, ends, np.frombuffer(reply.fit_of_epoch, "<i4", count=n_fits)
        )
        # The last epoch may have ended after the last sample.
        for t_s in (*starts[-1:], *ends[-1:]):
            if not np.isnan(t_s):
                _extend_to(held, float(t_s))

    def apply_detail(self, reply: SeriesReply, span_s: Span) -> None:
        """Take the columns that the hub sent for a stretch; they replace the stretch before.

        Args:
            reply: Columns of the stretch; epochs are already known.
            span_s: Requested stretch, seconds.
        """
        held = self._runs.get(reply.run)
        if held is not None:
            held.drawn.clear()
            held.closer = ZoomedSeries(
                span_s, {one.name: column_series(one) for one in reply.columns}
            )

    def coarse_span_s(self, run: str, column: str, visible_range: VisibleRange) -> Span | None:
        """Stretch to request from the hub for full detail, seconds; None: nothing is missing.

        Its end is infinite where the stretch reaches to the newest moment.
        """
        held = self._runs.get(run)
        if held is None or column not in held.columns or not held.columns[column].is_thinned:
            return None
        span_s = held.span_s(visible_range)
        series = held.series(column, span_s)
        requested_s = span_to_request(series, span_s) if series is not None else None
        if requested_s is not None and requested_s[1] >= held.newest_s:
            return requested_s[0], math.inf
        return requested_s

    def thinned(self, run: str) -> list[str]:
        """Columns with more samples than are held."""
        held = self._runs.get(run)
        return [name for name, each in held.columns.items() if each.is_thinned] if held else []

    def apply_event(self, run: str, t_s: float, event: AnyEvent) -> None:
        """Take a live row; rows of runs that are not held are ignored.

        Args:
            t_s: Run time of the row, seconds.
        """
        held = self._runs.get(run)
        if held is None:
            return
        match event:
            case Sample():
                _append_sample(held.live(), t_s, event)
            case EpochStarted():
                held.epochs.epoch_started(t_s)
                _extend_model(held, t_s, event)
            case EpochEnded():
                held.epochs.epoch_ended(t_s)
                _append_epoch(held.live(), t_s, event)
            case FitEnded():
                held.models.epoch_ended(t_s)
            case SessionStarted() | LostEvents():
                for _, series in held.live():
                    series.break_line(t_s)
            case _:
                return
        _extend_to(held, t_s)

    def forget(self, run: str) -> None:
        self._runs.pop(run, None)

    def holds(self, run: str, column: str = "") -> bool:
        """True if this run (and column) was back-filled."""
        held = self._runs.get(run)
        return held is not None and (not column or column in held.columns)

    def points(self, run: str, column: str, visible_range: VisibleRange) -> Points:
        """Points of a column thinned to a window; the same arrays again while nothing changed."""
        held = self._runs.get(run)
        series = held.columns.get(column) if held is not None else None
        if held is None or series is None:
            return _EMPTY
        if held.closer is not None:
            series = held.series(column, held.span_s(visible_range)) or series
        is_of_epochs = column.startswith(EPOCH_PREFIX)
        axis = held.axis(visible_range.kind)
        versions = (
            held.epochs.version if is_of_epochs else 0,
            axis.version if axis is not None else 0,
        )
        key = (visible_range, series.version, versions)
        known = held.drawn.get(column)
        if known is not None and known[0] == key:
            return known[1]
        edges = bucket_edges(
            visible_range.x_from, visible_range.x_to, width_px=visible_range.width_px
        )
        if axis is not None:
            edges = axis.t_s_of(edges)
        t_s, y = thin_to_buckets(series.t_s, series.values, edges)
        if is_of_epochs:
            t_s, y = _over_epochs(held.epochs.start_t_s, t_s, y)
        points = (axis.x_of(t_s) if axis is not None else t_s.copy(), y.copy())
        held.drawn[column] = (key, points)
        return points

    def epoch_bars(
        self, run: str, columns: Sequence[str], visible_range: VisibleRange
    ) -> EpochBars:
        """Columns with one value per epoch, as bars; several epochs share a bar if not all fit."""
        held = self._runs.get(run)
        if held is None or not len(held.epochs):
            return NO_BARS
        starts = held.epochs.start_t_s
        span_s = held.span_s(visible_range)
        table = np.full((len(columns), len(starts)), np.nan)
        for row, column in enumerate(columns):
            series = held.series(column, span_s)
            if series is not None:
                is_known = ~np.isnan(series.values)
                t_s = series.t_s[is_known]
                index = np.maximum(np.searchsorted(starts, t_s) - 1, 0)
                table[row, index] = series.values[is_known]
        axis = held.axis(visible_range.kind)
        edges = (starts, held.epochs.end_t_s)
        x_from, x_to = (each if axis is None else axis.x_of(each) for each in edges)
        is_seen = (x_to > visible_range.x_from) & (x_from < visible_range.x_to)
        epochs = np.flatnonzero(is_seen & ~np.isnan(table).all(axis=0))
        if not len(epochs):
            return NO_BARS
        px_an_epoch = visible_range.width_px / (epochs[-1] - epochs[0] + 1)
        in_one = mark_stride(px_an_epoch, least_px=_LEAST_BAR_PX)
        return _grouped_bars(table[:, epochs], epochs, (x_from[epochs], x_to[epochs]), in_one)

    def recent_points(self, run: str, column: str, *, span_x: float, kind: XKind) -> Points:
        """Newest part of a column, unthinned, for a trend: the last epochs or seconds.

        Args:
            span_x: Length back from the newest sample, in `kind`.
            kind: Unit of the returned x.
        """
        held = self._runs.get(run)
        series = held.columns.get(column) if held is not None else None
        if held is None or series is None or not len(series):
            return _EMPTY
        t_s = series.t_s
        y = series.values
        axis = held.axis(kind)
        if axis is not None:
            newest = axis.x_of(t_s[-1:])
            since = float(axis.t_s_of(newest - span_x)[0])
        else:
            since = float(t_s[-1]) - span_x
        first = int(np.searchsorted(t_s, since))
        x = t_s[first:]
        return (axis.x_of(x) if axis is not None else x.copy()), y[first:].copy()

    def known_points(self, run: str, column: str) -> Points:
        """Run times and values held of a column, oldest first, without gaps; copies."""
        held = self._runs.get(run)
        series = held.columns.get(column) if held is not None else None
        if series is None:
            return _EMPTY
        is_known = ~np.isnan(series.values)
        return series.t_s[is_known], series.values[is_known]

    def known_values(self, run: str, column: str) -> FloatArray:
        """Held values of a column, oldest first, without gaps; a copy."""
        held = self._runs.get(run)
        series = held.columns.get(column) if held is not None else None
        return series.values[~np.isnan(series.values)] if series is not None else NO_POINTS

    def value_at(self, run: str, column: str, x: float, kind: XKind) -> float | None:
        """The last value at or before x; None before the first, in a gap, or beyond the end.

        For a column with one value per epoch, the value of the epoch that contains x.
        """
        held = self._runs.get(run)
        whole = held.columns.get(column) if held is not None else None
        if held is None or whole is None or not len(whole):
            return None
        t_s = self._t_s_at(held, x, kind)
        series = held.series(column, (t_s, t_s)) or whole
        if column.startswith(EPOCH_PREFIX):
            # At the last epoch's end lies all the time behind it, too.
            index = min(int(np.searchsorted(series.t_s, t_s - 1e-9)), len(series) - 1)
        else:
            index = int(np.searchsorted(series.t_s, t_s + 1e-9, side="right")) - 1
        beyond = x > self.x_of(run, float(whole.t_s[-1]), kind) + 1e-9
        if index < 0 or beyond or np.isnan(series.values[index]):
            return None
        return float(series.values[index])

    def last_value(self, run: str, column: str) -> float | None:
        known = self.known_values(run, column)
        return float(known[-1]) if len(known) else None

    def x_of(self, run: str, t_s: float, kind: XKind) -> float:
        """Position of a run time on the axis, for flags; 0 for a run that is not held."""
        held = self._runs.get(run)
        axis = held.axis(kind) if held is not None else None
        if axis is None:
            return t_s if kind == "seconds" else 0.0
        return float(axis.x_of(np.array([t_s]))[0])

    def t_s_of(self, run: str, x: float, kind: XKind) -> float:
        """Run time of a position on the axis, seconds; 0 for a run that is not held."""
        held = self._runs.get(run)
        return self._t_s_at(held, x, kind) if held is not None else 0.0

    def full_range(self, runs: Iterable[str], kind: XKind) -> tuple[float, float]:
        """From 0 to the newest moment of these runs, at least 1 wide."""
        ends = [1.0]
        for run in runs:
            held = self._runs.get(run)
            if held is not None:
                axis = held.axis(kind)
                ends.append(axis.end_x if axis is not None else held.newest_s)
        return 0.0, max(ends)

    def epoch_marks(self, run: str, kind: XKind) -> FloatArray:
        """Positions of the starts of the run's epochs on the axis, `[n_epochs]`."""
        held = self._runs.get(run)
        if held is None:
            return NO_POINTS
        if kind == "seconds":
            return held.epochs.start_t_s
        return np.arange(len(held.epochs), dtype=np.float64)

    def gaps(self, run: str, column: str, kind: XKind) -> list[tuple[float, float]]:
        """Stretches without data: from the last point before to the first one after."""
        held = self._runs.get(run)
        series = held.columns.get(column) if held is not None else None
        if series is None:
            return []
        missing = np.isnan(series.values)
        edges = np.diff(missing.astype(np.int8), prepend=0, append=0)
        firsts = np.flatnonzero(edges == 1)
        ends = np.flatnonzero(edges == -1)
        t_s = series.t_s
        last = len(series) - 1
        return [
            (
                self.x_of(run, float(t_s[max(first - 1, 0)]), kind),
                self.x_of(run, float(t_s[min(end, last)]), kind),
            )
            for first, end in zip(firsts.tolist(), ends.tolist(), strict=True)
        ]

    def _t_s_at(self, held: _RunSeries, x: float, kind: XKind) -> float:
        axis = held.axis(kind)
        return x if axis is None else float(axis.t_s_of(np.array([x]))[0])


def _grouped_bars(
    table: FloatArray, epochs: NDArray[np.intp], edges: Points, in_one: int
) -> EpochBars:
    """One bar for every `in_one` epochs: their mean."""
    begins = np.flatnonzero(np.diff(epochs // in_one, prepend=-1))
    ends = np.append(begins[1:], len(epochs)) - 1
    known = ~np.isnan(table)
    counts = np.add.reduceat(known, begins, axis=1, dtype=np.float64)
    sums = np.add.reduceat(np.where(known, table, 0.0), begins, axis=1)
    values = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0.0)
    x_from, x_to = edges
    return EpochBars(x_from[begins], x_to[ends], values, epochs[begins], epochs[ends])


def _extend_to(held: _RunSeries, t_s: float) -> None:
    held.newest_s = max(held.newest_s, t_s)
    held.epochs.reached(t_s)
    held.models.reached(t_s)


def _set_model_spans(
    held: _RunSeries, starts: FloatArray, ends: FloatArray, fits: NDArray[np.int32]
) -> None:
    """Each fit from its first epoch's start to its last one's end."""
    if not len(starts) or len(fits) != len(starts):
        return
    firsts = np.flatnonzero(np.diff(fits.astype(np.int64), prepend=int(fits[0]) - 1))
    lasts = np.append(firsts[1:], len(fits)) - 1
    held.fit = int(fits[-1])
    held.models.set_epochs(starts[firsts], ends[lasts])


def _extend_model(held: _RunSeries, t_s: float, started: EpochStarted) -> None:
    if started.fit != held.fit:
        held.fit = started.fit
        held.models.epoch_started(t_s)


def _over_epochs(starts: FloatArray, t_s: FloatArray, y: FloatArray) -> Points:
    """Each epoch's value from its start to its end, `[2 * n_points]`: it holds for all of it."""
    if not len(t_s) or not len(starts):
        return t_s, y
    starts_s = np.minimum(starts[np.maximum(np.searchsorted(starts, t_s) - 1, 0)], t_s)
    # Where thinning left epochs out, or a gap lies within one, times still rise.
    starts_s[1:] = np.maximum(starts_s[1:], t_s[:-1])
    return np.column_stack((starts_s, t_s)).ravel(), np.repeat(y, 2)


def _append_sample(columns: _Live, t_s: float, sample: Sample) -> None:
    extras = dict(extra_sample_values(sample.logs, sample.more_devices))
    for name, series in columns:
        value = extras.get(name) if name in extras else getattr(sample, name, None)
        # A field that was not read this time (some are read each 10 s) is no gap; the hub, whose
        # columns say so by NaN, cannot distinguish it from a log that is no number.
        if value is not None and not math.isnan(value):
            series.append(t_s, value)


def _append_epoch(columns: _Live, t_s: float, ended: EpochEnded) -> None:
    values = dict(epoch_values(ended)) | {
        f"{LOG_PREFIX}{name}"[:MAX_COLUMN]: value for name, value in ended.logs.items()
    }
    for name, series in columns:
        value = values.get(name)
        # No number (NaN) breaks a line, and none begins with it: the hub does the same.
        if value is not None and (len(series) or not math.isnan(value)):
            series.append(t_s, value)
