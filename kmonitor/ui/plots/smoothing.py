"""A noisy curve smoothed as users of TensorBoard know it: a debiased moving average."""

import math

import numpy as np

from kmonitor.ui.plots.chart_state import FloatArray


def smoothed(y: FloatArray, weight: float) -> FloatArray:
    """Each point as the weighted mean of itself and all before it, newer ones weighing more.

    A gap (NaN) stays one, and the average goes on behind it; so does an infinite value.

    Args:
        y: `[n]`.
        weight: 0 (as it is) up to below 1.

    Returns:
        `[n]`, a new array; every finite point within the least and largest so far.
    Source: exponential moving average with the bias correction of Kingma and Ba 2015, section 3.
    """
    if weight <= 0.0:
        return y.copy()
    out = np.empty_like(y)
    mean, left = 0.0, 1.0
    for at, value in enumerate(y.tolist()):
        if not math.isfinite(value):
            out[at] = value
            continue
        mean = mean * weight + (1.0 - weight) * value
        left *= weight
        out[at] = mean / (1.0 - left)
    return out
