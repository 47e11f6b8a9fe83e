"""Growth since the last change of its slope: a second leak starts, or one of two ends.

The trend of a whole window mixes the slopes before and after the change. After one that the noise
does not explain, the rate, the forecast and the places that explain it are those since then.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kmonitor.base.trend import Slope, median, theil_sen_interval
from kmonitor.hub.judge.growth import Floor, Growth, WhyNot, window_start
from kmonitor.hub.judge.statistics import Floats, noise_of

_LEAST_UNITS: Final = 6
"""Minimum number of units since a change."""

_LEAST_BEFORE: Final = 4
_NEIGHBOURS: Final = 5
_JUMP_NOISES: Final = 8.0

_CLEAR: Final = 25.0
"""F-value of a bend from which it is no noise. It is the largest of all possible bends, for which
the bound of 1% is about 12, and values that follow their neighbours need more."""

_CHANGED: Final = 0.25
"""Relative difference of two slopes from which a verdict reads differently."""

_NOISES: Final = 3.0
_MOST_CHANGES: Final = 3


def since_change(values: Floats, growth: Growth, floor: Floor) -> Growth | None:
    """The judgement of the units since the slope changed; None if it did not, or growth ended.

    Where it is steeper than before, that is growth, whatever the whole window looks like.

    Args:
        values: The judged values, `[n]`.
        growth: The judgement of the whole window.
        floor: Smallest change that counts.
    """
    change = last_change(values, floor)
    if change is None or change.slope.low <= 0.0:
        return None
    units = len(values) - 1 - change.first
    rise = change.slope.middle * units
    why_not = growth.why_not
    if change.is_steeper:
        why_not = None
    elif why_not is not None:
        if rise < floor.least(median(values), change.slope.middle):
            return None
        why_not = WhyNot.SLOWING
    return replace(growth, why_not=why_not, first=change.first, rise=rise, slope=change.slope)


@dataclass(frozen=True, slots=True)
class SlopeChange:
    """The last change of a slope.

    Attributes:
        first: Index of the unit at which it changed.
        slope: Change per unit since then, with its 95% interval.
        is_steeper: True if each unit adds more than before.
    """

    first: int
    slope: Slope
    is_steeper: bool


def last_change(values: Floats, floor: Floor) -> SlopeChange | None:
    """The last change of the slope; None if there was none, or none that lasts for six units.

    Between falls, as of a saw-tooth, no change is found: each tooth would be one. A single jump
    is none either.

    Args:
        values: `[n]`.
        floor: Smallest change that counts.
    """
    start = min(window_start(len(values)), max(0, len(values) - 1))
    found = None
    for _ in range(_MOST_CHANGES):
        window = _without_jumps(values[start:])
        at = _bend(window)
        change = None if at is None else _change(window, at, floor)
        if change is None:
            break
        start += change.first
        found = replace(change, first=start)
    return found


def _change(window: Floats, at: int, floor: Floor) -> SlopeChange | None:
    before = _slope(window[: at + 1])
    after = _slope(window[at:])
    if before is None or after is None:
        return None
    if before.low <= after.high and after.low <= before.high:
        return None
    steepest = max(after.middle, before.middle)
    difference = abs(after.middle - before.middle)
    least = floor.least(median(window), difference)
    is_large = difference * (len(window) - 1 - at) >= least
    if not is_large or difference < _CHANGED * steepest or _falls(window, steepest):
        return None
    return SlopeChange(at, after, after.middle > before.middle)


def _without_jumps(window: Floats) -> Floats:
    """Values as if each single step that is far above its neighbours had been one of them."""
    steps = np.diff(window)
    if len(steps) < _NEIGHBOURS:
        return window
    around = np.pad(steps, _NEIGHBOURS // 2, mode="reflect")
    usual = np.median(sliding_window_view(around, _NEIGHBOURS), axis=-1)
    least = np.maximum(_JUMP_NOISES * noise_of(window), np.abs(usual))
    steps = np.where(steps - usual > least, usual, steps)
    return np.concatenate((window[:1], window[0] + np.cumsum(steps)))


def _falls(window: Floats, slope: float) -> bool:
    least = max(_NOISES * noise_of(window), slope)
    return bool(np.any(-np.diff(window) > least))


def _bend(window: Floats) -> int | None:
    """Index at which two lines that meet there fit best, if clearly better than one."""
    n = len(window)
    if n < _LEAST_BEFORE + _LEAST_UNITS:
        return None
    x = np.arange(n, dtype=np.float64)
    line = np.linalg.qr(np.stack((np.ones(n), x), axis=1))[0]
    rest = window - line @ (line.T @ window)
    at = np.arange(_LEAST_BEFORE - 1, n - _LEAST_UNITS + 1)
    hinges = np.maximum(x[:, None] - at[None, :], 0.0)
    hinges -= line @ (line.T @ hinges)
    gains = (rest @ hinges) ** 2 / (hinges**2).sum(axis=0)
    best = int(np.argmax(gains))
    left = float(rest @ rest - gains[best])
    is_clear = float(gains[best]) * (n - _LEAST_UNITS) >= _CLEAR * max(left, 0.0)
    return int(at[best]) if is_clear and gains[best] > 0.0 else None


def _slope(values: Floats) -> Slope | None:
    return theil_sen_interval(np.arange(len(values), dtype=np.float64), values)
