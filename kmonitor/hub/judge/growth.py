"""Judgement whether a series grows: a trend, not noise, steps, a warm-up or a cache that fills.

Each judgement is of one window, and carries what it rests on.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kmonitor.base.trend import Slope, median, theil_sen_interval, theil_sen_slope
from kmonitor.hub.judge.statistics import (
    Floats,
    are_about_even,
    bend_over_line,
    block_width,
    have_even_least,
    is_within_tooth,
    lower_envelope,
    noise_of,
    p_of_no_rise,
)

MIN_UNITS: Final = 10
"""With fewer units since the start only a straight rise is growth."""

MIN_STRAIGHT_UNITS: Final = 6
"""Fewer units are not judged."""

MIN_RATED_UNITS: Final = 3
"""Units from which the change per unit has an interval."""

_MIN_RISING_UNITS: Final = 4

MAX_UNITS: Final = 200
"""Maximum number of units judged, the last ones: in longer windows growth that has stopped is seen
late."""

_UNITS_TO_HALVE: Final = 32
_MAX_WARM_UP: Final = 15
_MIN_WARM_UP: Final = 3
_WARM_UP_PART: Final = 0.15


@dataclass(frozen=True, slots=True)
class Floor:
    """Rise that is too small to count.

    Attributes:
        amount: Smallest rise, in the unit of the values.
        part: Smallest rise as a part of the level (the median).
        fast: Change per unit from which three eighths of the amount suffice.
    """

    amount: float
    part: float
    fast: float = math.inf

    def least(self, level: float, per_unit: float) -> float:
        """Smallest rise that counts, at a level and a change per unit."""
        amount = self.amount * (_FAST_PART if per_unit >= self.fast else 1.0)
        return max(amount, self.part * level)


RAM_FLOOR: Final = Floor(16 * 2.0**20, 0.005, fast=0.75 * 2.0**20)
"""16 MiB, or half a percent of the memory in use; 6 MiB for growth of 0.75 MiB a unit or more."""

_FAST_PART: Final = 0.375


class WhyNot(StrEnum):
    """The first condition for growth that a window does not meet."""

    TOO_FEW = "too few epochs or fits"
    TOO_SMALL = "the rise is small, or no larger than the noise"
    NO_TREND = "no lasting trend"
    STEPS = "it is rising in a few jumps"
    SLOWING = "its growth is slowing"
    BENDING = "it is leveling off"
    STOPPED = "it rose earlier, but not recently"


_BENT: Final = frozenset({WhyNot.STEPS, WhyNot.SLOWING, WhyNot.BENDING})


@dataclass(frozen=True, slots=True)
class Growth:
    """A judgement and its evidence.

    Attributes:
        why_not: None: it grows.
        first: Index of the first unit of the window, after the warm-up.
        last: Index of the last unit of the window, in the given values.
        rise: Rise from the first fifth of the envelope to the last, in the unit of the values.
        slope: Change per unit with its 95% interval; None for too few units.
        p_of_no_rise: P-value of Mann-Kendall's test on the envelope.
        is_straight: True if each unit adds the same: growth is then the only explanation.
        rising: Change per unit with its 80% interval, where that is above 0; else None.
    """

    why_not: WhyNot | None
    first: int
    last: int
    rise: float = 0.0
    slope: Slope | None = None
    p_of_no_rise: float = 1.0
    is_straight: bool = False
    rising: Slope | None = None

    @property
    def is_growing(self) -> bool:
        """True if all conditions are met."""
        return self.why_not is None


@dataclass(frozen=True, slots=True)
class _Window:
    values: Floats
    envelope: Floats
    width: int
    rise: float
    floor: Floor

    @property
    def x(self) -> Floats:
        return np.arange(len(self.envelope), dtype=np.float64) * self.width


def judge_growth(values: Floats, floor: Floor) -> Growth:
    """Judge whether the last units grow.

    Args:
        values: One value per unit since the last start of a process or reload, finite, `[n]`. For
            trends of memory the smallest sample of each unit.
        floor: Smallest rise that counts.

    Source: conditions and their constants were found on simulated and real series;
        `tests/benchmarks/bench_verdicts.py` measures what they miss and where they err.
    """
    n = len(values)
    whole = _judge(values, min(window_start(n), n), floor)
    if n >= _MIN_RISING_UNITS:
        whole = replace(whole, rising=_rising(values, floor))
    if whole.why_not not in _BENT:
        return whole
    if (recent := _since_jumps(values, floor)) is not None:
        return replace(recent, rising=whole.rising)
    if n < _UNITS_TO_HALVE:
        return whole
    # A long warm-up hides a leak that goes on after it: the later half alone may show it.
    half = _judge(values, max(n // 2, n - MAX_UNITS), floor)
    return half if half.is_growing else whole


_LEAST_LOWS: Final = 3


def has_rising_lows(held: Floats, lows: Sequence[int]) -> bool:
    """True if memory grows from low to low: a leak, with garbage or without.

    Args:
        held: Memory in use or garbage, bytes, one value per unit, `[n]`.
        lows: Indices of the units in which garbage was freed, rising.
    """
    if len(lows) < _LEAST_LOWS:
        return False
    x = np.arange(lows[0], lows[-1] + 1)
    return judge_growth(np.interp(x, lows, held[list(lows)]), RAM_FLOOR).is_growing


def _since_jumps(values: Floats, floor: Floor) -> Growth | None:
    """The judgement of the last units, if each added what units usually add; else None.

    Jumps before them, as of a pool that grew, hide that. A fall from a level that was reached as
    slowly does not: it will come again.
    """
    first = len(values) - 1 - _STEPS_AFTER_JUMP
    start = window_start(len(values))
    if first < start:
        return None
    steps = np.diff(values[first:])
    middle = median(steps)
    is_same = bool(np.all(np.abs(steps - middle) <= _EVEN_AFTER_JUMP * middle))
    if is_within_tooth(values):
        return None
    if not is_same or middle < _AS_USUAL * median(np.diff(values[start:])):
        return None
    recent = _judge(values, first, floor)
    return recent if recent.is_straight else None


def _judge(values: Floats, first: int, floor: Floor) -> Growth:
    last = len(values) - 1
    if len(values) < MIN_RATED_UNITS:
        return Growth(WhyNot.TOO_FEW, first, last)
    window = _window(values[first:], floor)
    is_straight = len(values) >= MIN_STRAIGHT_UNITS and _adds_the_same(window)
    why_not = None if is_straight else WhyNot.TOO_FEW
    if len(values) >= MIN_UNITS and not is_straight:
        why_not = next((why for why, holds in _CONDITIONS if not holds(window)), None)
    return Growth(
        why_not,
        first,
        last,
        rise=window.rise,
        slope=theil_sen_interval(window.x, window.envelope),
        p_of_no_rise=p_of_no_rise(window.envelope),
        is_straight=is_straight,
    )


def window_start(n: int) -> int:
    """Index of the first judged unit of a series of `n`: the warm-up is left out."""
    least = _MIN_WARM_UP if n >= MIN_UNITS else 1
    warm_up = min(max(int(np.ceil(_WARM_UP_PART * n)), least), _MAX_WARM_UP)
    return max(warm_up, n - MAX_UNITS)


def _window(values: Floats, floor: Floor) -> _Window:
    width = block_width(len(values))
    envelope = lower_envelope(values, width)
    fifth = max(1, len(envelope) // 5)
    rise = median(envelope[-fifth:]) - median(envelope[:fifth])
    return _Window(values, envelope, width, rise, floor)


_P_OF_NO_RISE: Final = 0.002
_NOISES: Final = 3.0
_LARGEST_JUMP: Final = 0.5
_TWO_LARGEST: Final = 0.75
_BLOCKS_FOR_JUMP: Final = 6
_BLOCKS_FOR_TWO: Final = 9
_BLOCKS_FOR_BEND: Final = 8
"""Blocks needed for this test; with fewer the single values are used."""

_BETTER_BEND: Final = 2.0
_SLOWED: Final = 0.5
_RECENT: Final = 15
_RECENT_ENDS: Final = 5
_RECENT_UNITS: Final = _RECENT - _RECENT_ENDS
"""Units between the middles of the two ends."""

_STOPPED: Final = 0.3


def _is_large(window: _Window) -> bool:
    floor = window.floor
    noise = _NOISES * noise_of(window.values) / window.width**0.5
    level = median(window.values)
    per_unit = theil_sen_slope(window.x, window.envelope) or 0.0
    return window.rise > 0.0 and window.rise >= max(floor.least(level, per_unit), noise)


_STEPS_AFTER_JUMP: Final = 8
"""Steps that have to be the same after earlier jumps."""

_EVEN_AFTER_JUMP: Final = 0.1
_AS_USUAL: Final = 0.75

_EVEN: Final = 0.05
_STEPS_ABOUT_EVEN: Final = 7
_LATE_STEPS: Final = 3


def _adds_the_same(window: _Window) -> bool:
    """True if each unit adds the same to within 5%; of seven or more, about or at least that."""
    values = window.values[-MAX_UNITS:]
    steps = np.diff(values)
    middle = median(steps)
    rise = float(values[-1] - values[0])
    level = median(values)
    if middle <= 0.0 or rise < window.floor.least(level, middle):
        return False
    if np.all(np.abs(steps - middle) <= _EVEN * middle):
        return True
    is_even = are_about_even(steps) or have_even_least(steps)
    return len(steps) >= _STEPS_ABOUT_EVEN and is_even


def _rising(values: Floats, floor: Floor) -> Slope | None:
    """Change per unit with its 80% interval, if it is clearly above 0 and continues; else None."""
    window = values[max(1, window_start(len(values))) :]
    width = block_width(len(window))
    envelope = lower_envelope(window, width)
    x = np.arange(len(envelope), dtype=np.float64) * width
    found = theil_sen_interval(x, envelope, confidence=_RISING_CONFIDENCE)
    if found is None or found.low <= 0.0:
        return None
    rise = found.middle * (len(window) - 1)
    level = median(window)
    least = max(_RISING_PART * floor.least(level, found.middle), _NOISES * noise_of(window))
    late = median(np.diff(window)[-_LATE_STEPS:])
    goes_on = late >= _SLOWED * found.middle and not has_stopped(window, found.middle)
    if len(window) >= 2 * _RECENT_UNITS:
        recent = window[-_RECENT_UNITS:]
        x = np.arange(len(recent), dtype=np.float64)
        goes_on = goes_on and (theil_sen_slope(x, recent) or 0.0) >= _STOPPED * found.middle
    return found if rise >= least and goes_on else None


_RISING_CONFIDENCE: Final = 0.8
_RISING_PART: Final = 0.5

_STOPPED_UNITS: Final = 6


def has_stopped(values: Floats, slope: float, least: int = 0) -> bool:
    """True if the last units add less than a third of the earlier growth.

    Args:
        values: The judged values, `[n]`.
        slope: Change per unit of the growth that was found.
        least: Minimum number of last units to use, where six are too few.
    """
    lately = values[-max(_STOPPED_UNITS, least) :]
    x = np.arange(len(lately), dtype=np.float64)
    found = theil_sen_interval(x, lately, confidence=_RISING_CONFIDENCE)
    return found is not None and found.high < _STOPPED * slope


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
    """True if the last 15 units rose by a fair share of the whole window's slope."""
    if len(window.values) < 2 * _RECENT:
        return True
    slope = theil_sen_slope(window.x, window.envelope) or 0.0
    promised = slope * _RECENT_UNITS
    if promised < _NOISES * noise_of(window.values):
        return True
    recent = window.values[-_RECENT:]
    rise = median(recent[-_RECENT_ENDS:]) - median(recent[:_RECENT_ENDS])
    return rise >= _STOPPED * promised and _lows_rise(window, slope)


def _lows_rise(window: _Window, slope: float) -> bool:
    """True if a saw-tooth's lows rose lately, whatever the phase of its last tooth."""
    lows = window.values[-2 * _RECENT :].reshape(2, _RECENT).min(axis=-1)
    return float(lows[1] - lows[0]) >= _STOPPED * slope * _RECENT


def do_lows_rise(values: Floats, growth: Growth) -> bool:
    """True if the level that is never undercut later surely rises, and lately as fast as before.

    Args:
        values: The judged values, `[n]`.
    """
    window = values[growth.first : growth.last + 1]
    falls = np.flatnonzero(np.diff(window) < 0.0)
    # Nobody knows to where it will fall next.
    known = window[: falls[-1] + 2] if len(falls) else window
    lows = np.minimum.accumulate(known[::-1])[::-1]
    x = np.arange(len(lows), dtype=np.float64)
    found = theil_sen_interval(x, lows)
    half = len(lows) // 2
    late = theil_sen_slope(x[half:], lows[half:])
    if found is None or late is None or found.low <= 0.0 or len(values) < MIN_UNITS:
        return False
    return late >= _SLOWED * found.middle


def fell_to_higher_low(values: Floats, growth: Growth) -> bool:
    """True if it fell lately, to a low as far above the one before as it rises between them.

    Such a fall is no evidence against a rise.

    Args:
        values: The judged values, `[n]`.
    """
    window = values[growth.first : growth.last + 1]
    if growth.slope is None or growth.slope.middle <= 0.0:
        return False
    least = _SLOWED * growth.slope.middle
    fallen = -np.diff(window)
    falls = np.flatnonzero(fallen >= least)
    if not len(falls) or falls[-1] < len(fallen) - _SINCE_FALL:
        return False
    last = falls[-1]
    alike = np.flatnonzero(fallen[:last] >= _SLOWED * fallen[last])
    begin = int(alike[-1]) + 1 if len(alike) else 0
    before = begin + int(window[begin : last + 1].argmin())
    rise = float(window[last + 1 :].min() - window[before])
    return rise >= least * (last + 1 - before)


# The cheap ones first: most series are done after the first.
_CONDITIONS: tuple[tuple[WhyNot, Callable[[_Window], bool]], ...] = (
    (WhyNot.TOO_SMALL, _is_large),
    (WhyNot.STEPS, _has_no_steps),
    (WhyNot.STOPPED, _rises_lately),
    (WhyNot.NO_TREND, _has_trend),
    (WhyNot.SLOWING, _keeps_pace),
    (WhyNot.BENDING, _is_straight),
)

_FOR_LOW: Final = 10
"""Units whose smallest value is a saw-tooth's low, wherever in its tooth it is."""

_LONGER_PAUSE: Final = 1.5
"""Python collects all of its garbage when a quarter more has come: each pause is longer."""


def is_usual_pause(values: Floats, growth: Growth) -> bool:
    """True if it paused like this before and went on: garbage is collected now and then.

    Args:
        values: The judged values, `[n]`.
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


_HIGHER_LOW: Final = 0.3
_SINCE_FALL: Final = 4


def rises_between_falls(values: Floats, slope: float) -> bool:
    """True if it fell by less than it had risen, and rises again: a saw-tooth with rising lows.

    Args:
        values: The judged values, `[n]`.
        slope: Change per unit of the growth that was found.
    """
    window = values[window_start(len(values)) :]
    steps = np.diff(window)
    least = max(_NOISES * noise_of(window), _NOISES * slope)
    falls = np.flatnonzero(-steps > least)
    if not len(falls):
        return False
    begins = falls[-2] + 1 if len(falls) > 1 else 0
    tooth = window[begins : falls[-1] + 1]
    after = window[falls[-1] + 1 :]
    has_risen = float(tooth[-1] - tooth.min())
    if float(after.min() - tooth.min()) < _HIGHER_LOW * has_risen:
        return False
    if len(after) < _SINCE_FALL:
        return True  # it has just fallen: too early to say that it is over
    lately = after[-2 * _SINCE_FALL :]
    rise = theil_sen_slope(np.arange(len(lately), dtype=np.float64), lately) or 0.0
    return rise >= _SLOWED * slope
