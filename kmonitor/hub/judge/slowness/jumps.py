"""Jumps of times to a slower level, apart from growth that crosses the same levels steadily.

Times that rise by the same amount from unit to unit are soon all above those before, as after a
jump. A line fits them as well as two levels do, and the later ones go on rising.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from kmonitor.base.trend import median, theil_sen_interval, theil_sen_slope
from kmonitor.hub.judge.growth import Growth
from kmonitor.hub.judge.slowness.parts import MOST_POINTS, seconds_of, without_first
from kmonitor.hub.judge.statistics import Floats, p_of_no_rise
from kmonitor.hub.judge.units import Unit

TO_CONFIRM: Final = 5
"""Units in a row at the slower level."""

_SLOWER: Final = 1.3
_FEW_BEFORE: Final = 3
_SLOWER_THAN_FEW: Final = 1.8
"""Factor of slower steps, where only one or two units were faster."""

_FAR_SLOWER: Final = 2.0
_FAR_SLOWER_THAN_FEW: Final = 3.0
"""Factors of a level of one part."""

MOST_BEFORE: Final = 20

_MANY_BEFORE: Final = 6
"""Units of which one may be slow for a reason of its own, such as another program."""

ABOUT_AS_WELL: Final = 1.2
"""Deviations from a line, as a multiple of those from two levels, at most."""

BETTER: Final = 1.0
"""The same from which a jump that was reported is growth."""

_CLEARLY_WORSE: Final = 1.5
"""The same from which growth that was reported was a jump."""

_GOES_ON: Final = 0.5
"""Rise within the slower units, as a share of the jump, from which it is no level."""

_SURELY: Final = 0.8
"""Confidence with which the part rises: that it is slower is known already."""

_APART: Final = 0.95
"""Share of the pairs of an earlier and a later unit of which the later one took longer."""


def find_jump(values: Floats, least_times: float = _SLOWER) -> int | None:
    """Index of the first unit of a slower level that lasts to the end; None without one.

    The first unit is left out: models are traced and data read for the first time there.

    Args:
        values: Durations, seconds, `[n]`.
        least_times: Factor from which a level is slower.
    """
    firsts = range(2, len(values) - TO_CONFIRM + 1)
    levels = [first for first in firsts if _is_slower(values, first, least_times)]
    clear = (first for first in levels if values[first:].min() > _before(values, first).max())
    others = (first for first in levels if _is_beyond_usual(values, first))
    return next(clear, None) or next(others, None)


def _is_slower(values: Floats, first: int, least_times: float) -> bool:
    before = _before(values, first)
    times = least_times if len(before) >= _FEW_BEFORE else max(least_times, _SLOWER_THAN_FEW)
    return float(values[first:].min()) >= times * median(before)


def _is_beyond_usual(values: Floats, first: int) -> bool:
    """True if units are slower than all but one of those before, and the first is one of them."""
    before = _before(values, first)
    half_way = (median(before) + median(values[first:])) / 2
    is_beyond = float(values[first:].min()) > slowest_usual(before)
    return is_beyond and float(values[first]) >= half_way


def _before(values: Floats, first: int) -> Floats:
    return values[1:first][-MOST_BEFORE:]


def find_level_of_part(seconds: Floats, least_s: float) -> int | None:
    """Index of the first unit of a far slower level of one part, which no earlier unit reached.

    The noise of the other parts hides such a level in the whole.

    Args:
        seconds: Durations of the part, `[n]`.
        least_s: Smallest rise.
    """
    firsts = range(2, len(seconds) - TO_CONFIRM + 1)
    if not firsts or median(seconds[-TO_CONFIRM:]) - float(seconds[1:].min()) < least_s:
        return None
    lowest_later = np.minimum.accumulate(seconds[::-1])[::-1]
    gaps = [float(lowest_later[at]) - slowest_usual(_before(seconds, at)) for at in firsts]
    first = firsts[int(np.argmax(gaps))]
    before_s = median(_before(seconds, first))
    later_s = median(seconds[first:])
    is_far = later_s >= (_FAR_SLOWER if first > _FEW_BEFORE else _FAR_SLOWER_THAN_FEW) * before_s
    is_level = float(lowest_later[first]) >= (before_s + later_s) / 2
    is_found = max(gaps) > 0.0 and is_far and is_level and later_s - before_s >= least_s
    return first if is_found else None


def slowest_usual(seconds: Floats) -> float:
    """The longest time; of many units the longest but one.

    One slow unit, long ago, must not hide a level that lasts.
    """
    return float(np.sort(seconds)[-2 if len(seconds) >= _MANY_BEFORE else -1])


def is_apart(units: Sequence[Unit], name: str, first: int) -> bool:
    """True if a part took longer from a unit on than before: its own noise explains no jump.

    The wait for the first batch of each epoch varies with the start of threads, and now and then
    by far: that for the others may be apart by itself, or nearly all values of the whole have to.
    """
    if _is_apart(without_first(units, name), first):
        return True
    return name == "input" and _share_above(seconds_of(units, name), first) >= _APART


def _is_apart(seconds: Floats, first: int) -> bool:
    before = _before(seconds, first)
    later = seconds[first:]
    rise = median(later) - median(before)
    if rise <= 0.0:
        return False
    is_beyond_noise = rise > slowest_usual(before) - float(before.min())
    return is_beyond_noise or _share_above(seconds, first) >= _APART


def _share_above(seconds: Floats, first: int) -> float:
    before = _before(seconds, first)
    return float(np.mean(seconds[first:][:, np.newaxis] > before))


def steady_growth(
    values: Floats,
    units: Sequence[Unit],
    name: str,
    first: int,
    *,
    most: float = ABOUT_AS_WELL,
) -> Growth | None:
    """Growth of a part from unit to unit that looks like a jump; None: it is a jump.

    Args:
        values: Measured durations, seconds, `[n]`, which have to grow like the part.
        units: Measured units.
        name: The part.
        first: First unit of the slower level.
        most: Deviations from a line, as a multiple of those from two levels, at most.
    """
    seconds = seconds_of(units, name)
    both = (seconds, values)
    if not all(goes_on(each, first) for each in both):
        return None
    begins = (
        begin
        for begin in (_begin(seconds, first), 1)
        if max(_line_over_levels(each, first, begin) for each in both) <= most
    )
    found = (_rising_from(seconds, begin) for begin in begins)
    return max(
        (each for each in found if each is not None),
        key=lambda each: each.slope.low if each.slope else 0.0,
        default=None,
    )


def _rising_from(seconds: Floats, begin: int) -> Growth | None:
    window = seconds[begin:]
    x = np.arange(len(window), dtype=np.float64)
    surely = theil_sen_interval(x, window, confidence=_SURELY, max_points=MOST_POINTS)
    slope = theil_sen_interval(x, window, max_points=MOST_POINTS)
    if slope is None or surely is None or surely.low <= 0.0:
        return None
    rise = slope.middle * (len(window) - 1)
    p = p_of_no_rise(window)
    return Growth(None, begin, len(seconds) - 1, rise=rise, slope=slope, p_of_no_rise=p)


def is_clear_jump(units: Sequence[Unit], name: str, first: int) -> bool:
    """True if two levels fit a part clearly better than a line does, over enough units."""
    seconds = seconds_of(units, name)
    if len(seconds) - first < 2 * TO_CONFIRM:
        return False
    return _line_over_levels(seconds, first, _begin(seconds, first)) > _CLEARLY_WORSE


def likeliest_jump(units: Sequence[Unit], name: str) -> int | None:
    """Index of the first unit of the later of the two levels that fit a part best.

    None for too few units.
    """
    firsts = range(2, len(units) - TO_CONFIRM + 1)
    if not firsts:
        return None
    seconds = without_first(units, name)
    if median(seconds[-TO_CONFIRM:]) <= seconds[1:].mean():
        seconds = seconds_of(units, name)  # the wait for first batches is what grew
    return min(firsts, key=lambda first: _from_levels(seconds, first, 1))


def _begin(seconds: Floats, first: int) -> int:
    """Index of the first unit to compare: as many before the slower ones as there are of them."""
    return max(1, 2 * first - len(seconds))


def _line_over_levels(seconds: Floats, first: int, begin: int) -> float:
    """Deviations from a line over those from two levels."""
    of_levels = _from_levels(seconds, first, begin)
    whole = seconds[begin:]
    x = np.arange(len(whole), dtype=np.float64)
    rest = whole - (theil_sen_slope(x, whole, max_points=MOST_POINTS) or 0.0) * x
    of_line = float(np.abs(rest - median(rest)).sum())
    return of_line / of_levels if of_levels > 0.0 else np.inf


def _from_levels(seconds: Floats, first: int, begin: int) -> float:
    levels = (seconds[begin:first], seconds[first:])
    return sum(float(np.abs(each - median(each)).sum()) for each in levels)


def goes_on(seconds: Floats, first: int) -> bool:
    """True if the units of a slower level rise by much of the jump: it is no level."""
    later = seconds[first:]
    x = np.arange(len(later), dtype=np.float64)
    slope = theil_sen_slope(x, later, max_points=MOST_POINTS) or 0.0
    jump = median(later) - median(_before(seconds, first))
    return slope * (len(later) - 1) >= _GOES_ON * jump
