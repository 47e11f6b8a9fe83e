"""A stretch of a run's time in more detail than all of the run is held in."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from kmonitor.ui.charts.series import GrowingSeries, column_points, doubles
from kmonitor.ui.plots.thinning import MAX_BUCKETS
from kmonitor_agent.wire.messages.unions import Column

Span = tuple[float, float]
"""Run times from and to, seconds."""

_MARGIN: Final = 0.5
"""Beside what is shown, for who moves on a little; in parts of it."""

_ENOUGH: Final = 2 * MAX_BUCKETS
"""Points in sight; more are thinned before they are drawn."""


@dataclass(frozen=True, slots=True)
class CloserLook:
    """What the hub told of a stretch.

    Attributes:
        span_s: Which was asked about; infinity: to the newest moment and on.
        columns: What it has there.
    """

    span_s: Span
    columns: dict[str, GrowingSeries]

    @property
    def goes_on(self) -> bool:
        """Whether live rows belong to it."""
        return math.isinf(self.span_s[1])

    def series(self, column: str, span_s: Span) -> GrowingSeries | None:
        """The column if it is here and knows this stretch."""
        is_covered = self.span_s[0] <= span_s[0] and span_s[1] <= self.span_s[1]
        found = self.columns.get(column) if is_covered else None
        return found if found is not None and len(found) else None


def series_of(column: Column) -> GrowingSeries:
    """What the hub told of a column."""
    series = GrowingSeries()
    series.splice(*column_points(column))
    series.is_thinned = is_thinned(column)
    return series


def is_thinned(column: Column) -> bool:
    """Whether there was more than the hub told."""
    told = np.count_nonzero(~np.isnan(doubles(column.values)))
    return column.n_raw > int(told)


def stretch_to_ask(series: GrowingSeries, span_s: Span) -> Span | None:
    """What to ask about, to see this stretch as it was; None where what is held shows it.

    Args:
        series: What is held, of the best that is.
        span_s: What is shown.
    """
    from_s, to_s = span_s
    first, end = (int(at) for at in np.searchsorted(series.t_s, (from_s, to_s)))
    if not series.is_thinned or to_s <= from_s or end - first >= _ENOUGH:
        return None
    margin = _MARGIN * (to_s - from_s)
    # As far as the next points that are held, so that a line leads in and out.
    before, after = series.t_s[max(0, first - 2)], series.t_s[min(len(series) - 1, end + 1)]
    return max(0.0, min(from_s - margin, float(before))), max(to_s + margin, float(after))
