"""Statistics of evenly spaced series: lower envelope, noise, Mann-Kendall's test, saturation."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.base.trend import median, theil_sen_slope

Floats = NDArray[np.float64]

_SIGMA_OF_MAD: Final = 1.4826
"""Median absolute deviation to standard deviation, of normal noise."""


def lower_envelope(values: Floats, width: int) -> Floats:
    """Smallest of each block of `width` values: the level to which memory falls back.

    Blocks end with the last value; the first values that fill no block are left out.

    Args:
        values: `[n]`.
        width: At least 1.

    Source: the trend of the heap after each collection, HPjmeter user's guide.
    """
    n_blocks = len(values) // width
    whole_blocks = values[len(values) - n_blocks * width :]
    return whole_blocks.reshape(n_blocks, width).min(axis=1)


def block_width(n: int) -> int:
    """Values in a block for a series of `n`: wider when there are enough.

    From 7 values on there are at least 7 blocks: of fewer, no line is straight enough for the
    test of a trend (6 give p = 0.0043 at the least).
    """
    for below, width in ((16, 1), (24, 2), (60, 3), (120, 4)):
        if n < below:
            return width
    return n // 40


def noise_of(values: Floats) -> float:
    """Standard deviation of the changes from value to value, in the unit of the values.

    A steady trend does not count, a fifth of wild values hardly. 0 for fewer than two values.

    Args:
        values: `[n]`.

    Source: von Neumann 1941 (differences), with the median absolute deviation for robustness.
    """
    steps = np.diff(values)
    if not len(steps):
        return 0.0
    return _SIGMA_OF_MAD * median(np.abs(steps - median(steps))) / math.sqrt(2.0)


_MIN_POINTS: Final = 4
_SIGNIFICANT: Final = 1.96
"""An autocorrelation beyond this many standard errors counts. Source: Hamed and Rao 1998."""


def p_of_no_rise(values: Floats) -> float:
    """Probability of such a clear rise in values without a trend; 1 for fewer than four.

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


def _variance(values: Floats) -> float:
    n = len(values)
    ties = np.unique(values, return_counts=True)[1].astype(np.float64)
    tied = float((ties * (ties - 1) * (2 * ties + 5)).sum())
    return (n * (n - 1) * (2 * n + 5) - tied) / 18.0


def _widening(values: Floats) -> float:
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


def interval_widening(rest: Floats) -> float:
    """Factor by which an interval for these values is wider than for independent ones; at least 1.

    Args:
        rest: Values minus their trend, `[n]`.

    Source: Bayley and Hammersley 1946 (J. R. Stat. Soc. Suppl. 8:184), the effective number of
        values that follow each other with one autocorrelation; of ranks, so that spikes do not
        hide it.
    """
    ranks = _ranks(rest)
    ranks -= ranks.mean()
    power = float(ranks @ ranks)
    follows = 0.0 if power == 0.0 else max(0.0, float(ranks[1:] @ ranks[:-1]) / power)
    return math.sqrt((1.0 + follows) / (1.0 - follows))


def _ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share their mean rank."""
    ordered = np.sort(values)
    before = np.searchsorted(ordered, values, "left")
    until = np.searchsorted(ordered, values, "right")
    return (before + until + 1) / 2.0


_TAUS: Final = np.geomspace(0.05, 2.0, 16)
"""Time constants tried, as parts of the series' length; beyond twice it a bend is not seen."""

_LINE_PARAMETERS: Final = 3
_BEND_PARAMETERS: Final = 4
_TINY: Final = 1e-12


def bend_over_line(values: Floats) -> float:
    """Advantage of `a + b (1 - exp(-t / tau))`, b > 0, over a line, as where a cache fills.

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
    line = max(float(rests[0]), least)
    bend = max(float(bends.min()), least)
    return n * math.log(line / bend) - 2.0 * (_BEND_PARAMETERS - _LINE_PARAMETERS)


_ABOUT_EVEN: Final = 0.4
_KEEPS_ON: Final = 0.9


def are_about_even(steps: Floats) -> bool:
    """True if steps are all up, within 40% of their middle, and the later ones no smaller.

    A warm-up, or a cache that is nearly full, adds less and less.

    Args:
        steps: From each value to the next, `[n]`, n at least 2.
    """
    middle = median(steps)
    half = len(steps) // 2
    if middle <= 0.0 or np.abs(steps - middle).max() > _ABOUT_EVEN * middle:
        return False
    return float(np.mean(steps[half:])) >= _KEEPS_ON * float(np.mean(steps[:half]))


_AT_LEAST: Final = 0.9
_MOST_OF_AN_EVEN_STEP: Final = 1.1
_EVEN_STEPS: Final = 0.5


def have_even_least(steps: Floats) -> bool:
    """True if half of the steps are the same to within 10%, and the others larger.

    A dict or list that keeps objects grows so: each unit adds as much, and now and then a table
    twice as large replaces its table. A cache that fills has ever smaller steps.

    Args:
        steps: From each value to the next, `[n]`, n at least 2.
    """
    middle = median(steps)
    if middle <= 0.0 or float(steps.min()) < _AT_LEAST * middle:
        return False
    return float(np.mean(steps <= _MOST_OF_AN_EVEN_STEP * middle)) >= _EVEN_STEPS


_GIVEN_BACK: Final = 0.5
_HIGHER: Final = 0.25
"""Part of a rise from which a fall gave it back, and by which the next one may be higher."""


def is_within_tooth(values: Floats) -> bool:
    """True if it is about as high as before it was last given back, or lower.

    A buffer that the script empties now and then grows as evenly as a leak until it does.

    Args:
        values: One per unit, NaN where not read, `[n]`.
    """
    (at,) = np.isfinite(values).nonzero()
    read = values[at]
    steps = np.diff(read)
    highest = int(steps.argmin()) if len(steps) else 0
    before = np.flatnonzero(steps[:highest] < 0.0)
    begin = int(before[-1]) + 1 if len(before) else 0
    if highest == begin:
        return False
    rise = float(read[highest] - read[begin])
    is_given_back = float(-steps[highest]) >= _GIVEN_BACK * rise
    # Memory that came at once, and was given back, excuses no slower growth.
    fastest = float((steps / np.diff(at))[begin:highest].max())
    is_slow = fastest <= _GIVEN_BACK * rise
    return is_given_back and is_slow and bool(read[-1] <= read[highest] + _HIGHER * rise)


_LEAST_JUMPS: Final = 3
_NOISES_OF_JUMP: Final = 10.0
_BETWEEN_JUMPS: Final = 0.25
"""Quantile of the changes that is one between jumps, where each second unit has one."""

_SAME_HEIGHT: Final = 0.15
_BESIDE_JUMP: Final = 0.25
"""Spread of the jumps of stairs, and most change of any other unit, in heights of a jump."""


def spread_stairs(values: Floats, least: float) -> Floats:
    """Spread the last jumps, if of one height and distance, over the units between.

    A callback that keeps something each n-th epoch makes such stairs, which are a line over many
    epochs, and none over a few. Stairs whose next jump is overdue, and fewer than three jumps,
    stay as they are; until it is due the line goes on.

    Args:
        values: One per unit, NaN where not measured, `[n]`.
        least: Smallest height of a jump, in the unit of the values.
    """
    (at,) = np.isfinite(values).nonzero()
    if not len(at):
        return values
    held = at[np.maximum(np.searchsorted(at, np.arange(len(values)), side="right") - 1, 0)]
    rises = np.diff(values[held])
    jumps = even_jumps(rises, least)
    if not len(jumps):
        return values
    height = float(np.mean(rises[jumps]))
    gap = round(float(np.mean(np.diff(jumps))))
    since = len(rises) - 1 - int(jumps[-1])
    # A higher one may come before: the first call of `predict` takes memory that stays.
    higher = np.flatnonzero(rises[: jumps[0]] > height)
    first = max(0, int(jumps[0]) + 1 - gap, *(higher[-1:] + 1))
    others = np.delete(rises[first:], jumps - first)
    if since > gap or np.abs(others).max() > _BESIDE_JUMP * height:
        return values
    for jump in jumps:
        begin = max(first, int(jump) + 1 - gap)
        rise = rises[jump]
        rises[jump] = 0.0
        rises[begin : jump + 1] += rise / (jump + 1 - begin)
    rises[len(rises) - since :] += height / gap
    spread = values[at[0]] + np.concatenate(([0.0], np.cumsum(rises)))
    return np.where(np.isfinite(values), spread, np.nan)


def even_jumps(rises: Floats, least: float) -> NDArray[np.intp]:
    """Find the last jumps, as indices, that are alike and evenly apart; none below three.

    Args:
        rises: From each value to the next, `[n]`.
        least: Smallest height of a jump, in the unit of the values.
    """
    none = np.zeros(0, dtype=np.intp)
    if len(rises) < _LEAST_JUMPS:
        return none
    between = float(np.quantile(np.abs(rises), _BETWEEN_JUMPS))
    jumps = np.flatnonzero(rises >= max(least, _NOISES_OF_JUMP * between))
    if len(jumps) < _LEAST_JUMPS:
        return none
    gaps = np.diff(jumps)
    is_alike = np.abs(rises[jumps] - rises[jumps[-1]]) <= _SAME_HEIGHT * rises[jumps[-1]]
    is_alike[:-1] &= (np.abs(gaps - gaps[-1]) <= 1) & (gaps > 1)
    others = np.flatnonzero(~is_alike)
    alike = jumps[int(others[-1]) + 1 :] if len(others) else jumps
    return alike if len(alike) >= _LEAST_JUMPS else none
