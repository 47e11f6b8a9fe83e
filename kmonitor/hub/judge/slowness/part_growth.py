"""Growth of one part of the time of epochs, from unit to unit.

A part grows from unit to unit if the low end of the interval of its slope makes half of a
difference that is felt, over the window; if its values rise in Mann-Kendall's test; if the later
half of them rises too, which a level that was left once does not; and if computing did not grow
with it. Other work of the machine only adds: where computing took longer than its median, a part
is assumed to have done so as well, and of two units that follow each other the faster one counts.
(Memory's envelope, made for saw-teeth, would halve the few values that there are.) Noise widens
the interval, so the steeper the growth, or the smaller its noise, the sooner it is called. The
last units are judged by themselves as well: growth that began late is a small part of a long
window, whose middle slope is that of before.

A part must have grown as it was measured, too: one that sleeps takes as long on a busy machine,
and adjusted for computing that was slower at first it seems to grow. It is judged as it was
measured as well: where computing scatters by itself, that would be added to a part that does not.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.base.trend import Slope, median, theil_sen_interval, theil_sen_slope
from kmonitor.hub.judge.growth import MAX_UNITS, MIN_UNITS, Growth, window_start
from kmonitor.hub.judge.slowness.own_work import shows_work_of, worked_seconds
from kmonitor.hub.judge.slowness.parts import MOST_POINTS, seconds_of, without_first
from kmonitor.hub.judge.statistics import Floats, interval_widening, p_of_no_rise
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.events import EPOCH_PARTS

_P_OF_NO_RISE: Final = 0.002
_GOES_ON: Final = 0.5
"""Slope of the later half, as a share of the slope of all, from which growth continues."""

_LEAST_WHOLE_S: Final = 1e-6
_LATE_UNITS: Final = 20
_CONFIDENCE: Final = 0.95
_CONFIDENCE_OF_FASTER: Final = 0.99
"""Confidence for values that are the smaller of two: they scatter little for their number."""

_SURELY_OF_FASTER: Final = 0.5
"""Share of a difference that is felt that has to be sure."""

_CONFIDENCE_LATELY: Final = 0.999
"""Confidence for a window that moves: some window of a long run rises by chance."""

_CONFIDENCE_OTHERS: Final = 0.8
"""Confidence with which another part grew as well."""

_LEAST_RARE: Final = 7
"""Number of units with a rare part, with the first, that show a trend: six that only rise are no
chance."""

_SETS_APART: Final = 3.0
_MOST_OF_IT: Final = 0.8
"""Factor by which a unit with a rare part takes longer in it than most, and the share of its time
that such units take."""

NOW_AND_THEN: Final = frozenset({"checkpoints", "validation"})
"""Parts that not every unit has."""


def growth_of_part(
    units: Sequence[Unit], name: str, least_s: float, *, is_adjusted: bool = True
) -> Growth | None:
    """Growth from unit to unit, over the units with that part: not all may have validation.

    Args:
        units: Measured units.
        name: Name of the part.
        least_s: Smallest rise that is felt, seconds.
        is_adjusted: False to judge it as it was measured, whatever computing took.
    """
    seconds = seconds_of(units, name)
    rare = rare_units(seconds, name)
    is_rare = rare is not None
    at = np.arange(len(seconds)) if rare is None else rare
    if len(at) < (_LEAST_RARE if is_rare else MIN_UNITS):
        return None
    # The first of them traces what the others find.
    window = at[max(1, len(at) - MAX_UNITS) :]
    if is_rare or not is_adjusted or name == "compute":
        return _growth_in(window, seconds, least_s, _CONFIDENCE, seconds)
    growth = _adjusted_growth(units, name, window, _SURELY_OF_FASTER * least_s)
    if growth is not None:
        return growth
    sure_s = _SURELY_OF_FASTER * least_s
    steps = without_first(units, name)
    growth = _growth_in(window, steps, sure_s, _CONFIDENCE_OF_FASTER, steps)
    if growth is not None:
        return growth
    shares = _by_share(units, name)
    return _growth_in(window, shares, sure_s, _CONFIDENCE_OF_FASTER, seconds)


def rare_units(seconds: Floats, name: str) -> NDArray[np.intp] | None:
    """Indices of the units with a part that only some have; None where it comes with each.

    Callbacks that work in each n-th unit take a little time in the others, too.
    """
    if name in NOW_AND_THEN:
        return None if seconds[1:].all() else np.flatnonzero(seconds)
    if name != "callbacks":
        return None
    at = np.flatnonzero(seconds > _SETS_APART * median(seconds))
    is_apart = len(at) >= _LEAST_RARE and not (np.diff(at) == 1).any()
    is_most = float(seconds[at].sum()) >= _MOST_OF_IT * float(seconds.sum())
    return at if is_apart and is_most else None


def growth_of_work(units: Sequence[Unit], name: str, least_s: float) -> Growth | None:
    """Growth of a part by what the process itself works in it; None without it, or if unknown.

    Other processes add nothing to it, so that less growth is enough.

    Args:
        units: Measured units.
        name: Name of the part.
        least_s: Smallest rise that is felt, seconds.
    """
    if len(units) < MIN_UNITS or not shows_work_of(units, name):
        return None
    window = np.arange(max(1, len(units) - MAX_UNITS), len(units))
    return _growth_in(
        window, worked_seconds(units, name), least_s, _CONFIDENCE, seconds_of(units, name)
    )


def _adjusted_growth(
    units: Sequence[Unit], name: str, window: NDArray[np.intp], sure_s: float
) -> Growth | None:
    """Growth as if computing had taken its median time; the wait for first batches is in it."""
    seconds = seconds_of(units, name)
    adjusted = _faster_of_two(seconds / _slowness(units))
    if name == "input":
        window = window[window >= window_start(len(units))]  # its threads start at first
    return _growth_in(window, adjusted, sure_s, _CONFIDENCE_OF_FASTER, seconds)


def _growth_in(
    window: NDArray[np.intp], judged: Floats, sure_s: float, confidence: float, seconds: Floats
) -> Growth | None:
    """Growth over all units of a window, or over the last ones."""
    growth = _growth_within(window, judged, sure_s, confidence)
    if growth is None and len(window) > _LATE_UNITS:
        growth = _growth_within(window[-_LATE_UNITS:], judged, sure_s, _CONFIDENCE_LATELY)
    return None if growth is None else _as_measured(growth, seconds, window)


def _as_measured(growth: Growth, seconds: Floats, window: NDArray[np.intp]) -> Growth | None:
    """The growth with the slope of the part as it was measured; None if that did not grow.

    A part that sleeps or waits is no slower on a busy machine: adjusted for slower computing in
    the first units it seems to grow. Where noise leaves open by how much the measured one grew,
    the slope stays that of what was judged.
    """
    at = window[(window >= growth.first) & (seconds[window] > 0.0)]
    measured = seconds[at]
    slope = _interval(at.astype(np.float64), measured, _CONFIDENCE) if len(at) > 1 else None
    if slope is None or growth.slope is None or slope.middle < _GOES_ON * growth.slope.middle:
        return None
    if slope.low <= 0.0:
        return growth
    return replace(growth, slope=slope, rise=slope.middle * (growth.last - growth.first))


def _by_share(units: Sequence[Unit], name: str) -> Floats:
    """Durations as if all parts together had taken their median time.

    Other processes slow all of them at once: the share of one scatters less than its time.
    """
    each_unit = [name for name in EPOCH_PARTS if name not in NOW_AND_THEN]
    whole: Floats = np.sum([seconds_of(units, each) for each in each_unit], axis=0)
    return seconds_of(units, name) * (median(whole) / np.maximum(whole, _LEAST_WHOLE_S))


def _faster_of_two(seconds: Floats) -> Floats:
    """Return the faster one of each unit and the next; the last as it is."""
    return np.append(np.minimum(seconds[:-1], seconds[1:]), seconds[-1:])


def _slowness(units: Sequence[Unit]) -> Floats:
    """Computing time of each unit over the median, `[n]`; 1 where it is shorter."""
    compute = seconds_of(units, "compute")
    middle_s = median(compute)
    return np.maximum(1.0, compute / middle_s) if middle_s > 0.0 else np.ones(len(compute))


def _growth_within(
    window: NDArray[np.intp], seconds: Floats, sure_s: float, confidence: float
) -> Growth | None:
    x = window.astype(np.float64)
    y = seconds[window]
    slope = _interval(x, y, confidence)
    units = float(x[-1] - x[0])
    if slope is None or slope.low * units < sure_s:
        return None
    half = len(window) // 2
    lately = theil_sen_slope(x[half:], y[half:], max_points=MOST_POINTS) or 0.0
    p = p_of_no_rise(y)
    if lately < _GOES_ON * slope.middle or p >= _P_OF_NO_RISE:
        return None
    first = int(window[0])
    last = int(window[-1])
    return Growth(None, first, last, rise=slope.middle * units, slope=slope, p_of_no_rise=p)


def interval_of(seconds: Floats) -> Slope | None:
    """Change per unit, with an interval as wide as serially dependent values need."""
    return interval_at(np.arange(len(seconds), dtype=np.float64), seconds)


def interval_at(x: Floats, seconds: Floats) -> Slope | None:
    """The same where not every unit is one of these, `[n]` each."""
    return _interval(x, seconds, _CONFIDENCE)


def _interval(x: Floats, y: Floats, confidence: float) -> Slope | None:
    """The slope, with an interval as wide as serially dependent values need."""
    slope = theil_sen_interval(x, y, confidence=confidence, max_points=MOST_POINTS)
    if slope is None:
        return None
    middle = slope.middle
    widening = interval_widening(y - middle * x)
    return Slope(
        middle, middle - widening * (middle - slope.low), middle + widening * (slope.high - middle)
    )


def sure_slope(seconds: Floats) -> float:
    """Change per unit; 0 where noise alone may explain it."""
    x = np.arange(len(seconds), dtype=np.float64)
    slope = theil_sen_interval(x, seconds, confidence=_CONFIDENCE_OTHERS, max_points=MOST_POINTS)
    return 0.0 if slope is None or slope.low <= 0.0 else slope.middle
