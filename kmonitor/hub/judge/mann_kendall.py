"""Whether values rise at all: a test that asks only which of two values is larger."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.base.trend import theil_sen_slope

_MIN_POINTS: Final = 4
_SIGNIFICANT: Final = 1.96
"""An autocorrelation beyond so many standard errors counts. Source: Hamed and Rao 1998."""


def p_of_no_rise(values: NDArray[np.float64]) -> float:
    """Probability of so clear a rise in values that go nowhere; 1 for fewer than four.

    Values that follow their neighbours rise by chance more often than independent ones; the
    variance is widened for that, and never narrowed.

    Args:
        values: Finite, evenly spaced, `[n]`.

    Source: Mann 1945 (Econometrica 13:245), Kendall 1975, one-sided with continuity correction
        and ties; Hamed and Rao 1998 (J. Hydrology 204:182) for the variance.
    """
    n = len(values)
    if n < _MIN_POINTS:
        return 1.0
    first, second = np.triu_indices(n, 1)
    rising = float(np.sign(values[second] - values[first]).sum())
    variance = _variance(values) * _widening(values)
    if rising <= 0.0 or variance <= 0.0:
        return 1.0
    return 0.5 * math.erfc((rising - 1.0) / math.sqrt(2.0 * variance))


def _variance(values: NDArray[np.float64]) -> float:
    n = len(values)
    ties = np.unique(values, return_counts=True)[1].astype(np.float64)
    tied = float((ties * (ties - 1) * (2 * ties + 5)).sum())
    return (n * (n - 1) * (2 * n + 5) - tied) / 18.0


def _widening(values: NDArray[np.float64]) -> float:
    n = len(values)
    x = np.arange(n, dtype=np.float64)
    rest = values - (theil_sen_slope(x, values) or 0.0) * x
    ranks = _ranks(rest)
    ranks -= ranks.mean()
    power = float(ranks @ ranks)
    if power == 0.0:
        return 1.0
    lags = np.arange(1, n - 2)
    correlations = np.correlate(ranks, ranks, "full")[n : n + len(lags)] / power
    correlations[np.abs(correlations) <= _SIGNIFICANT / math.sqrt(n)] = 0.0
    weights = (n - lags) * (n - lags - 1.0) * (n - lags - 2.0)
    return max(1.0, 1.0 + 2.0 * float(weights @ correlations) / (n * (n - 1) * (n - 2)))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """From 1, equal values share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2.0)[place]
