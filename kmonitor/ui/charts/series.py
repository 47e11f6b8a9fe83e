"""Columns in memory: a growing series, and a zoomed stretch."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from kmonitor.ui.plots.axes import MOST_CHARTED
from kmonitor.ui.plots.chart_state import FloatArray
from kmonitor.ui.plots.thinning import MAX_BUCKETS, bucket_edges, thin_to_buckets
from kmonitor_agent.wire.messages.unions import ThinnedColumn

Span = tuple[float, float]
"""First and last run time, seconds."""

TAIL_SAMPLES: Final = 10_000
"""Number of newest samples that are kept unthinned."""

HISTORY_POINTS: Final = 4_000
"""Most points that older samples are thinned to."""

_COMPACT_EVERY: Final = 2_500
_FIRST_CAPACITY: Final = 512


class GrowingSeries:
    """Times and values that grow at the end, in memory that stays bounded; one thread.

    Attributes:
        version: Counter that grows with every change, to detect curves that must be redrawn.
        is_thinned: True if there were more samples than are held here.
    """

    def __init__(self) -> None:
        self.version = 0
        self.is_thinned = False
        self._t = np.empty(_FIRST_CAPACITY)
        self._y = np.empty(_FIRST_CAPACITY)
        self._size = 0
        self._history = 0

    def __len__(self) -> int:
        return self._size

    @property
    def t_s(self) -> FloatArray:
        """Times, rising, seconds, `[n]`; a view that the next change may overwrite."""
        return self._t[: self._size]

    @property
    def values(self) -> FloatArray:
        """Values, NaN for a gap, `[n]`; a view, like `t_s`."""
        return self._y[: self._size]

    def append(self, t_s: float, value: float) -> None:
        """Add a sample; one that is not newer than the last is already held and ignored."""
        if self._size and t_s <= self._t[self._size - 1]:
            return
        if abs(value) > MOST_CHARTED:
            value = math.copysign(math.inf, value)
        if self._size == len(self._t):
            self._t = _doubled(self._t)
            self._y = _doubled(self._y)
        self._t[self._size] = t_s
        self._y[self._size] = value
        self._size += 1
        self.version += 1
        if self._size - self._history >= TAIL_SAMPLES + _COMPACT_EVERY:
            self._compact()

    def break_line(self, t_s: float) -> None:
        """Begin a gap that lasts until the next sample."""
        if self._size and not np.isnan(self._y[self._size - 1]):
            self.append(t_s, np.nan)

    def splice(self, t_s: FloatArray, values: FloatArray) -> None:
        """Replace the samples of a stretch of time by those that the hub sent for it.

        Args:
            t_s: Run times, rising, seconds, `[n]`.
            values: Values, `[n]`.
        """
        if not len(t_s):
            return
        before = self.t_s < t_s[0]
        after = self.t_s > t_s[-1]
        older = int(before.sum()) + len(t_s)
        self._replace(
            np.concatenate((self.t_s[before], t_s, self.t_s[after])),
            np.concatenate((self.values[before], clipped_for_charts(values), self.values[after])),
        )
        # Points that the hub thinned are history, newer ones are the tail.
        self._history = max(0, min(older, self._size))

    def _replace(self, t_s: FloatArray, values: FloatArray) -> None:
        self._t = t_s
        self._y = values
        self._size = len(t_s)
        self.version += 1

    def _compact(self) -> None:
        """Thin the oldest tail samples into the history, and the history if it is too long."""
        self.is_thinned = True
        cut = self._history + _COMPACT_EVERY
        old_t, old_y = _thinned(
            self._t[self._history : cut], self._y[self._history : cut], _COMPACT_EVERY // 8
        )
        history_t = np.concatenate((self._t[: self._history], old_t))
        history_y = np.concatenate((self._y[: self._history], old_y))
        if len(history_t) > HISTORY_POINTS:
            history_t, history_y = _thinned(history_t, history_y, HISTORY_POINTS // 6)
        self._replace(
            np.concatenate((history_t, self.t_s[cut:])),
            np.concatenate((history_y, self.values[cut:])),
        )
        self._history = len(history_t)


def _thinned(t_s: FloatArray, y: FloatArray, buckets: int) -> tuple[FloatArray, FloatArray]:
    return thin_to_buckets(t_s, y, bucket_edges(float(t_s[0]), float(t_s[-1]), width_px=buckets))


def _doubled(array: FloatArray) -> FloatArray:
    larger = np.empty(max(2 * len(array), _FIRST_CAPACITY))
    larger[: len(array)] = array
    return larger


def clipped_for_charts(values: FloatArray) -> FloatArray:
    """Values whose differences, means and squares stay in the range of a double, `[n]`."""
    return np.where(np.abs(values) > MOST_CHARTED, np.copysign(np.inf, values), values)


@dataclass(frozen=True, slots=True)
class ZoomedSeries:
    """Columns that the hub sent for a stretch of time.

    Attributes:
        span_s: The requested stretch; an infinite end follows the newest moment.
        columns: Series of that stretch, by column.
    """

    span_s: Span
    columns: dict[str, GrowingSeries]

    @property
    def is_live(self) -> bool:
        """True if live rows are added to this stretch."""
        return math.isinf(self.span_s[1])

    def series(self, column: str, span_s: Span) -> GrowingSeries | None:
        """The column's series if it is held and covers this stretch; else None."""
        is_covered = self.span_s[0] <= span_s[0] and span_s[1] <= self.span_s[1]
        found = self.columns.get(column) if is_covered else None
        return found if found is not None and len(found) else None


_MARGIN_PART: Final = 0.5
"""Margin requested on either side for small moves, as a fraction of the shown stretch."""

_ENOUGH_POINTS: Final = 2 * MAX_BUCKETS
"""Points in view from which any more would be thinned before drawing."""


def span_to_request(series: GrowingSeries, span_s: Span) -> Span | None:
    """Stretch to request for full detail; None where the held samples already show it.

    Args:
        series: The most detailed series that is held.
        span_s: The shown stretch.
    """
    from_s, to_s = span_s
    first, end = (int(at) for at in np.searchsorted(series.t_s, (from_s, to_s)))
    if not series.is_thinned or to_s <= from_s or end - first >= _ENOUGH_POINTS:
        return None
    margin = _MARGIN_PART * (to_s - from_s)
    # As far as the next points that are held, so that a line leads in and out.
    before = series.t_s[max(0, first - 2)]
    after = series.t_s[min(len(series) - 1, end + 1)]
    return max(0.0, min(from_s - margin, float(before))), max(to_s + margin, float(after))


def column_series(column: ThinnedColumn) -> GrowingSeries:
    series = GrowingSeries()
    series.splice(*column_points(column))
    series.is_thinned = is_thinned(column)
    return series


def column_points(column: ThinnedColumn) -> tuple[FloatArray, FloatArray]:
    """Times and values of a column that a hub sent, `[n]` each; none where times do not rise."""
    t_s = unpack_doubles(column.t_s)
    values = unpack_doubles(column.values)
    n = min(len(t_s), len(values))
    t_s = t_s[:n]
    values = values[:n]
    is_sound = bool(np.isfinite(t_s).all()) and bool((np.diff(t_s) >= 0.0).all())
    return (t_s, clipped_for_charts(values)) if is_sound else (np.empty(0), np.empty(0))


def is_thinned(column: ThinnedColumn) -> bool:
    """True if there are more samples than the hub sent."""
    n_finite = np.count_nonzero(~np.isnan(unpack_doubles(column.values)))
    return column.n_raw > int(n_finite)


def unpack_doubles(packed: bytes) -> FloatArray:
    """Unpack little-endian doubles of a reply, `[n]`; bytes after the last double are ignored."""
    return np.frombuffer(packed, "<f8", count=len(packed) // 8)
