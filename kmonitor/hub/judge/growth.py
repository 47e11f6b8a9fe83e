"""Whether a series grows as it is now: one judgement on one window, with what it rests on."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from kmonitor.base.trend import Slope, theil_sen_interval, theil_sen_slope

# envelope: The lower envelope: what memory falls back to, whatever comes and goes above it.


SIGMA_OF_MAD: Final = 1.4826
"""Median absolute deviation to standard deviation, of normal noise."""


def lower_envelope(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Smallest of each block of so many values, in order.

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
    """Values in a block for a series of so many: wider when there are enough."""
    for below, width in ((12, 1), (24, 2), (60, 3), (120, 4)):
        if n < below:
            return width
    return n // 40


def noise_of(values: NDArray[np.float64]) -> float:
    """Standard deviation of what changes from value to value, in the unit of the values.

    A steady trend does not count, a fifth of wild values hardly. 0 for fewer than two values.

    Args:
        values: `[n]`.

    Source: von Neumann 1941 (differences), with the median absolute deviation for robustness.
    """
    steps = np.diff(values)
    if not len(steps):
        return 0.0
    return SIGMA_OF_MAD * float(np.median(np.abs(steps - np.median(steps)))) / math.sqrt(2.0)


# mann_kendall: Whether values rise at all: a test that asks only which of two values is larger.


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
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]


# saturation: Whether growth bends towards a ceiling, as a cache that fills does.


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


MIN_UNITS: Final = 10
"""Fewer units since the start are not judged."""

MAX_UNITS: Final = 200
"""Only the last so many are judged: in longer windows growth that has stopped is seen late."""

_P_OF_NO_RISE: Final = 0.002
_NOISES: Final = 3.0
_LARGEST_JUMP: Final = 0.5
_TWO_LARGEST: Final = 0.75
_BLOCKS_FOR_JUMP: Final = 6
_BLOCKS_FOR_TWO: Final = 9
_BLOCKS_FOR_BEND: Final = 8
"""With fewer the single values are asked."""

_BETTER_BEND: Final = 2.0
_SLOWED: Final = 0.5
_RECENT: Final = 15
_RECENT_ENDS: Final = 5
_STOPPED: Final = 0.3
_FOR_LOW: Final = 10
"""Units whose smallest value is a saw-tooth's low, wherever in its tooth it stands."""

_LONGER_PAUSE: Final = 1.5
"""Python collects all of its garbage when a quarter more has come: each pause is longer."""

_HIGHER_LOW: Final = 0.3
_SINCE_FALL: Final = 4

_UNITS_TO_HALVE: Final = 32
_MAX_WARM_UP: Final = 15
_MIN_WARM_UP: Final = 3
_WARM_UP_PART: Final = 0.15


@dataclass(frozen=True, slots=True)
class Floor:
    """What is too small to speak of.

    Attributes:
        amount: In the unit of the values.
        part: Of the level (the median).
    """

    amount: float
    part: float


RAM_FLOOR: Final = Floor(16 * 2.0**20, 0.005)
"""16 MiB, or half a percent of what is used already."""


class WhyNot(StrEnum):
    """The first condition for growth that a window does not meet."""

    TOO_FEW = "too few units"
    TOO_SMALL = "the rise is small, or no larger than the noise"
    NO_TREND = "no lasting trend"
    STEPS = "it rises in few steps"
    SLOWING = "it slows down"
    BENDING = "it bends towards a ceiling"
    STOPPED = "it rose before, and not lately"


_BENT: Final = frozenset({WhyNot.STEPS, WhyNot.SLOWING, WhyNot.BENDING})


@dataclass(frozen=True, slots=True)
class Growth:
    """A judgement and what it rests on.

    Attributes:
        why_not: None: it grows.
        first: Index of the first unit of the window, after the warm-up.
        last: Index of the last, in the values that were given.
        rise: From the first fifth of the envelope to the last, in the unit of the values.
        slope: Change a unit with its 95 % interval; None for too few units.
        p_of_no_rise: Mann-Kendall's, of the envelope.
    """

    why_not: WhyNot | None
    first: int
    last: int
    rise: float = 0.0
    slope: Slope | None = None
    p_of_no_rise: float = 1.0

    @property
    def is_growing(self) -> bool:
        """Whether all conditions are met."""
        return self.why_not is None


@dataclass(frozen=True, slots=True)
class _Window:
    values: NDArray[np.float64]
    envelope: NDArray[np.float64]
    width: int
    rise: float
    floor: Floor

    @property
    def x(self) -> NDArray[np.float64]:
        return np.arange(len(self.envelope), dtype=np.float64) * self.width


def judge_growth(values: NDArray[np.float64], floor: Floor) -> Growth:
    """Whether the last units grow: a trend, not noise, not stairs, not a warm-up, not a cache.

    Args:
        values: One value a unit since the last start of a process or reload, finite, `[n]`. For
            trends of memory the smallest sample of each unit.
        floor: What is too small.

    Source: conditions and their constants were found on simulated and real series;
        `tests/benchmarks/bench_verdicts.py` measures what they miss and where they err.
    """
    n = len(values)
    whole = _judge(values, min(window_start(n), n), floor)
    if n < _UNITS_TO_HALVE or whole.why_not not in _BENT:
        return whole
    # A long warm-up hides a leak that goes on after it: the later half alone may show it.
    half = _judge(values, max(n // 2, n - MAX_UNITS), floor)
    return half if half.is_growing else whole


def _judge(values: NDArray[np.float64], first: int, floor: Floor) -> Growth:
    last = len(values) - 1
    if len(values) < MIN_UNITS:
        return Growth(WhyNot.TOO_FEW, first, last)
    window = _window(values[first:], floor)
    why_not = next((why for why, holds in _CONDITIONS if not holds(window)), None)
    return Growth(
        why_not,
        first,
        last,
        rise=window.rise,
        slope=theil_sen_interval(window.x, window.envelope),
        p_of_no_rise=p_of_no_rise(window.envelope),
    )


def window_start(n: int) -> int:
    """Index of the first unit that is judged among so many: the warm-up is left out."""
    warm_up = min(max(int(np.ceil(_WARM_UP_PART * n)), _MIN_WARM_UP), _MAX_WARM_UP)
    return max(warm_up, n - MAX_UNITS)


def _window(values: NDArray[np.float64], floor: Floor) -> _Window:
    width = block_width(len(values))
    envelope = lower_envelope(values, width)
    fifth = max(1, len(envelope) // 5)
    rise = float(np.median(envelope[-fifth:]) - np.median(envelope[:fifth]))
    return _Window(values, envelope, width, rise, floor)


def _is_large(window: _Window) -> bool:
    floor = window.floor
    noise = _NOISES * noise_of(window.values) / window.width**0.5
    level = float(np.median(window.values))
    return window.rise > 0.0 and window.rise >= max(floor.amount, floor.part * level, noise)


def _has_trend(window: _Window) -> bool:
    return p_of_no_rise(window.envelope) < _P_OF_NO_RISE


def _has_no_steps(window: _Window) -> bool:
    jumps = np.sort(np.diff(window.envelope))
    n = len(window.envelope)
    if n >= _BLOCKS_FOR_JUMP and jumps[-1] > _LARGEST_JUMP * window.rise:
        return False
    return n < _BLOCKS_FOR_TWO or jumps[-1] + jumps[-2] <= _TWO_LARGEST * window.rise


def _keeps_pace(window: _Window) -> bool:
    third = max(3, len(window.envelope) // 3)
    whole, early, late = (
        theil_sen_slope(window.x[part], window.envelope[part]) or 0.0
        for part in (slice(None), slice(third), slice(-third, None))
    )
    return late >= _SLOWED * max(whole, early)


def _is_straight(window: _Window) -> bool:
    few = len(window.envelope) < _BLOCKS_FOR_BEND
    return bend_over_line(window.values if few else window.envelope) <= _BETTER_BEND


def _rises_lately(window: _Window) -> bool:
    """The last 15 units rose by a fair share of what the whole window's slope promises."""
    if len(window.values) < 2 * _RECENT:
        return True
    slope = theil_sen_slope(window.x, window.envelope) or 0.0
    recent = window.values[-_RECENT:]
    rise = float(np.median(recent[-_RECENT_ENDS:]) - np.median(recent[:_RECENT_ENDS]))
    promised = slope * (_RECENT - _RECENT_ENDS)
    if promised < _NOISES * noise_of(window.values):
        return True
    return rise >= _STOPPED * promised and _lows_rise(window, slope)


def _lows_rise(window: _Window, slope: float) -> bool:
    """Whether a saw-tooth's lows rose lately, whatever the phase of its last tooth."""
    lows = window.values[-2 * _RECENT :].reshape(2, _RECENT).min(axis=-1)
    return float(lows[1] - lows[0]) >= _STOPPED * slope * _RECENT


def is_usual_pause(values: NDArray[np.float64], growth: Growth) -> bool:
    """Whether it paused like this before and went on: garbage that is collected now and then.

    Args:
        values: What was judged, `[n]`.
        growth: The judgement.
    """
    window = values[growth.first : growth.last + 1]
    if growth.slope is None or len(window) < 2 * _RECENT:
        return False
    lows = sliding_window_view(window, _FOR_LOW).min(axis=-1)
    is_low = lows[_FOR_LOW:] - lows[:-_FOR_LOW] < _STOPPED * growth.slope.middle * _FOR_LOW
    # Where it begins low it had not begun to grow: that is no pause.
    edges = np.flatnonzero(np.diff(is_low)) + 1
    pauses = [len(part) for part in np.split(is_low, edges)[1:] if part[0]]
    if not is_low[-1] or len(pauses) < 2:  # noqa: PLR2004 - this one, and one before
        return False
    return pauses[-1] <= _LONGER_PAUSE * max(pauses[:-1])


def rises_between_falls(values: NDArray[np.float64], slope: float) -> bool:
    """Whether it fell, not as far as it had risen, and rises on: a saw-tooth with rising lows.

    Args:
        values: What was judged, `[n]`.
        slope: Of the growth that was found, change a unit.
    """
    window = values[window_start(len(values)) :]
    steps = np.diff(window)
    least = max(_NOISES * noise_of(window), _NOISES * slope)
    falls = np.flatnonzero(-steps > least)
    if not len(falls):
        return False
    begins = falls[-2] + 1 if len(falls) > 1 else 0
    tooth, after = window[begins : falls[-1] + 1], window[falls[-1] + 1 :]
    has_risen = float(tooth[-1] - tooth.min())
    if float(after.min() - tooth.min()) < _HIGHER_LOW * has_risen:
        return False
    if len(after) < _SINCE_FALL:
        return True  # it has just fallen: too early to say that it is over
    lately = after[-2 * _SINCE_FALL :]
    rise = theil_sen_slope(np.arange(len(lately), dtype=np.float64), lately) or 0.0
    return rise >= _SLOWED * slope


# The cheap ones first: most series are done after the first.
_CONDITIONS: tuple[tuple[WhyNot, Callable[[_Window], bool]], ...] = (
    (WhyNot.TOO_SMALL, _is_large),
    (WhyNot.STEPS, _has_no_steps),
    (WhyNot.STOPPED, _rises_lately),
    (WhyNot.NO_TREND, _has_trend),
    (WhyNot.SLOWING, _keeps_pace),
    (WhyNot.BENDING, _is_straight),
)
