"""A long series as few points: the smallest and largest of each bucket of time."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def thin_series(t_s: Floats, values: Floats, buckets: int) -> tuple[Floats, Floats]:
    """Return at most `2 * buckets` of the points, in time order; extremes are always kept.

    Args:
        t_s: Rising times `[n]`, seconds.
        values: `values[n]` at `t_s[n]`, no NaN.
        buckets: At least 1; with `n <= 2 * buckets` every point is kept.
    """
    n = len(t_s)
    if n <= 2 * buckets:
        return t_s, values
    # First and last are kept apart, so that a live chart ends at its newest value.
    kept = _extremes(t_s, values, max(1, buckets - 1))
    if buckets > 1:
        kept = np.concatenate((kept, [0, n - 1]))
    chosen = np.unique(kept)
    return t_s[chosen], values[chosen]


def with_gaps(t_s: Floats, values: Floats, gaps_t_s: Floats) -> tuple[Floats, Floats]:
    """The points with a NaN at each gap after the first point, so that no line crosses a gap."""
    at = np.searchsorted(t_s, gaps_t_s, "right")
    gaps_t_s = gaps_t_s[at > 0]
    at = at[at > 0]
    if not len(at):
        return t_s, values
    return np.insert(t_s, at, gaps_t_s), np.insert(values, at, np.nan)


def _extremes(t_s: Floats, values: Floats, buckets: int) -> NDArray[np.intp]:
    edges: Floats = np.linspace(float(t_s[0]), float(t_s[-1]), buckets + 1)[1:-1]
    starts = np.unique(np.concatenate(([0], np.searchsorted(t_s, edges))))
    starts = starts[starts < len(t_s)]
    lengths = np.diff(np.append(starts, len(t_s)))
    bucket_of = np.repeat(np.arange(len(starts)), lengths)
    found = [
        _first_equal(values, np.repeat(extreme.reduceat(values, starts), lengths), bucket_of)
        for extreme in (np.minimum, np.maximum)
    ]
    return np.concatenate(found)


def _first_equal(values: Floats, wanted: Floats, bucket_of: NDArray[np.intp]) -> NDArray[np.intp]:
    where = np.flatnonzero(values == wanted)
    # Buckets rise with time: the first of each is where another bucket begins.
    return where[np.flatnonzero(np.diff(bucket_of[where], prepend=-1))]
