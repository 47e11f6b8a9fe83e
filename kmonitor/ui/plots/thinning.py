"""Curves thinned to the pixels of a chart without losing a spike, and smoothed."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.ui.plots.chart_state import FloatArray

MAX_BUCKETS: Final = 600
"""Most buckets: more are invisible and cost time.

Source: measured, 100 000 points per run on six charts.
"""


def bucket_edges(x_from: float, x_to: float, *, width_px: int) -> FloatArray:
    """Edges of equal buckets, one per pixel and at most `MAX_BUCKETS`, `[n_buckets + 1]`."""
    buckets = max(1, min(int(width_px), MAX_BUCKETS))
    return np.linspace(x_from, x_to, buckets + 1)


def thin_to_buckets(
    x: FloatArray, y: FloatArray, edges: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Minimum and maximum of each bucket, in the order in which the line passes them.

    In a bucket that rises the minimum lies at its first point's x and the maximum at its last
    one's, in a bucket that falls the other way round: exact for slopes and steps, less than a
    bucket off for a spike. The first and the last visible point are kept unchanged, and one
    point beyond each edge, so that a zoomed line continues beyond the picture.

    Args:
        x: Positions, rising, finite, `[n]`.
        y: Values, `[n]`; NaN marks a gap.
        edges: Rising edges of the buckets, in the unit of `x`, `[n_buckets + 1]`.

    Returns:
        x and y of at most `3 * n_buckets + 4` points. A gap that no bucket bridges stays as NaN.
        A few points are returned unchanged, as views.
    """
    cuts = np.searchsorted(x, edges)
    cuts[-1] = np.searchsorted(x, edges[-1], side="right")
    first = int(cuts[0])
    end = int(cuts[-1])
    before = max(0, first - 1)
    after = min(len(x), end + 1)
    if end - first <= 2 * len(edges):
        return x[before:after], y[before:after]
    starts = cuts[:-1][cuts[1:] > cuts[:-1]]
    lasts = np.append(starts[1:], end) - 1
    inner_x, inner_y = _extremes(x, y, starts, lasts)
    return (
        np.concatenate((x[before : first + 1], inner_x, x[end - 1 : after])),
        np.concatenate((y[before : first + 1], inner_y, y[end - 1 : after])),
    )


def _extremes(
    x: FloatArray, y: FloatArray, starts: NDArray[np.intp], lasts: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """Two points per bucket, three where a gap follows; buckets are `starts[i]..lasts[i]`."""
    origin = starts[0]
    inside = y[starts[0] : lasts[-1] + 1]
    # fmin and fmax pass over NaN but take twice as long: only where there is one.
    lows = np.minimum.reduceat(inside, starts - origin)
    has_gaps = bool(np.isnan(lows).any())
    if has_gaps:
        lows = np.fmin.reduceat(inside, starts - origin)
    highs = (np.fmax if has_gaps else np.maximum).reduceat(inside, starts - origin)
    rises = y[lasts] >= y[starts]
    points_x = np.empty((len(lows), 3))
    points_y = np.empty((len(lows), 3))
    points_x[:, 0] = x[starts]
    points_x[:, 1] = x[lasts]
    points_x[:, 2] = x[lasts]
    points_y[:, 0], points_y[:, 1] = np.where(rises, lows, highs), np.where(rises, highs, lows)
    points_y[:, 2] = np.nan
    if not has_gaps:
        return points_x[:, :2].ravel(), points_y[:, :2].ravel()
    is_kept = np.ones(points_y.shape, np.bool_)
    is_kept[:-1, 2] = np.isnan(y[lasts[:-1]]) | np.isnan(y[starts[1:]])
    is_kept[-1, 2] = False
    return points_x[is_kept], points_y[is_kept]


def smoothed(y: FloatArray, weight: float) -> FloatArray:
    """Each point as the weighted mean of itself and all before it, newer ones weighing more.

    A gap (NaN) stays a gap, and the average continues after it; the same holds for infinite
    values.

    Args:
        y: Values, `[n]`.
        weight: Weight of earlier points, from 0 (unchanged) to below 1.

    Returns:
        A new array, `[n]`; every finite point lies within the least and largest so far.
    Source: exponential moving average with the bias correction of Kingma and Ba 2015, section 3.
    """
    if weight <= 0.0:
        return y.copy()
    out = np.empty_like(y)
    mean = 0.0
    left = 1.0
    for at, value in enumerate(y.tolist()):
        if not math.isfinite(value):
            out[at] = value
            continue
        mean = mean * weight + (1.0 - weight) * value
        left *= weight
        out[at] = mean / (1.0 - left)
    return out
