"""Whether growth bends towards a ceiling, as a cache that fills does."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

_TAUS: Final = np.geomspace(0.05, 2.0, 16)
"""Time constants tried, as parts of the series' length; beyond twice it a bend is not seen."""

_LINE_PARAMETERS: Final = 3
_BEND_PARAMETERS: Final = 4
_TINY: Final = 1e-12


def bend_over_line(values: NDArray[np.float64]) -> float:
    """How much better `a + b (1 - exp(-t / tau))`, b > 0, describes values than a line does.

    Args:
        values: Evenly spaced, finite, `[n]`, n >= 4.

    Returns:
        Difference of Akaike's criterion, in favour of the bend when positive; above 2 the bend
        is the better account. `-inf` if no rising bend fits.

    Source: Akaike 1974 (IEEE Trans. Autom. Control 19:716), for normal noise of unknown size.
    """
    n = len(values)
    t = np.arange(n) / (n - 1.0)
    y = values - values.mean()
    shapes = np.vstack((t, 1.0 - np.exp(-t / _TAUS[:, None])))
    shapes -= shapes.mean(axis=1, keepdims=True)
    factors = shapes @ y / (shapes**2).sum(axis=1)
    rests = ((y - factors[:, None] * shapes) ** 2).sum(axis=1)
    bends = rests[1:][factors[1:] > 0.0]
    if not len(bends):
        return -math.inf
    # A residual far below what the numbers resolve is no better than another.
    least = _TINY * float(y @ y) + np.finfo(np.float64).tiny
    line, bend = max(float(rests[0]), least), max(float(bends.min()), least)
    return n * math.log(line / bend) - 2.0 * (_BEND_PARAMETERS - _LINE_PARAMETERS)
