"""Counters beside memory, and which of them grew over the same units."""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.base.trend import Slope, median, theil_sen_interval, theil_sen_slope
from kmonitor.hub.judge.growth import Growth, do_lows_rise
from kmonitor.hub.judge.statistics import Floats, are_about_even, is_within_tooth
from kmonitor_agent.wire.messages.events import KeptObjects


class CounterKind(StrEnum):
    """Kind of quantity that a counter counts, once per unit."""

    TRACES = "live traces"
    RETAINED = "traces retained only by the gradient registry, of models that are gone"
    DISUSED = "traces retained only by the gradient registry, of weights that are alive"
    FUNCTIONS = "functions registered with the runtime"
    BLOCKS = "small blocks allocated by Python"
    PYTHON_BYTES = "bytes allocated by Python code"
    ALLOCATOR_BYTES = "bytes allocated by the framework's allocator"
    NATIVE_BYTES = "bytes allocated with malloc"
    FREE_BYTES = "free bytes that malloc keeps"
    CODE = "regions of compiled machine code"
    CHILDREN_BYTES = "resident set size of child processes"
    KEPT_BYTES = "bytes retained by one part of the script"
    KEPT_OBJECTS = "objects of unknown size retained by one part of the script"
    NAMED = "file descriptors, threads or processes with the same name"
    MAJOR_FAULTS = "major page faults"
    COLLECTIONS = "full garbage collections"
    NAMED_BYTES = "blocks of shared memory with the same name"
    OPERATIONS = "operations added to live traces in one epoch or fit"
    FIRST_UNIT = "memory growth during the first epoch or fit"


PlaceKey = tuple[str, str, str]
"""(Kind of objects, container, location)."""


def place_key(kept: KeptObjects) -> PlaceKey:
    return kept.kind, kept.container, kept.place


ONCE: Final = frozenset({CounterKind.FIRST_UNIT, CounterKind.OPERATIONS})
"""Kinds that are no change per unit."""


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter of a run.

    Attributes:
        kind: Quantity counted.
        values: One value per unit, for the same units as the judged series; NaN where not read,
            `[n]`.
        function: Function that the traces belong to; empty: all.
        kept: Kept objects and their place, as last counted.
        has_stopped: True if the last counts found the same objects there as before.
        most_share: Multiple of the judged growth beyond which kept bytes do not explain it.
        moments: Positions of the readings among the units, where they are not those of the units:
            the objects may be counted anywhere in a part of time, `[n]`.
    """

    kind: CounterKind
    values: Floats
    function: str = ""
    kept: KeptObjects | None = None
    has_stopped: bool = False
    most_share: float = math.inf
    moments: Floats | None = None


@dataclass(frozen=True, slots=True)
class CounterGrowth:
    """A counter that grew over a window.

    Attributes:
        kind: Quantity counted.
        per_unit: Change per unit with its interval, in the counter's unit.
        function: Function that the traces belong to, or the line that allocated; empty: all.
        kept: Kept objects and their place.
    """

    kind: CounterKind
    per_unit: Slope
    function: str = ""
    kept: KeptObjects | None = None


LEFT_TRACES: Final = frozenset({CounterKind.RETAINED, CounterKind.DISUSED})
"""Kinds of traces that nothing uses any more."""

CODE_COUNTERS: Final = LEFT_TRACES | {CounterKind.TRACES, CounterKind.CODE}
"""Kinds that are counted one by one, and are no data."""

HELD_BYTES: Final = frozenset({CounterKind.ALLOCATOR_BYTES, CounterKind.KEPT_BYTES})
"""Kinds of bytes that something holds, which explain growth whatever malloc takes beside them."""

KEPT: Final = frozenset({CounterKind.KEPT_BYTES, CounterKind.KEPT_OBJECTS})
OF_PIPELINES: Final = ("Dataset_", "__wrapped__", "tf_data_")
"""Prefixes of functions of data pipelines: they take kilobytes, and explain no growth."""


def counted_growth(counters: Sequence[Counter]) -> tuple[CounterGrowth, ...]:
    """Traces that the last two units added to: a count, which needs no statistics.

    For traces that nothing uses any more, two of the last four units suffice: such traces show
    when Python has collected.

    Args:
        counters: Counters over all units; only kinds that are counted one by one matter.
    """
    found: list[CounterGrowth] = []
    for counter in counters:
        if counter.kind not in CODE_COUNTERS or _is_of_pipeline(counter):
            continue
        among = _AMONG if counter.kind in LEFT_TRACES else _LATELY
        added = np.diff(counter.values[-among - 1 :])
        times = np.count_nonzero(added >= _LEAST_A_UNIT[counter.kind])
        if times < _LATELY or not np.all(added >= 0.0):
            continue
        middle = float(np.mean(added))
        low = float(added.min())
        high = float(added.max())
        found.append(CounterGrowth(counter.kind, Slope(middle, low, high), counter.function))
    return tuple(found)


_LATELY: Final = 2
_AMONG: Final = 4

_GOES_ON: Final = 6
_EVEN_BYTES: Final = 8
_BYTES: Final = frozenset({CounterKind.NATIVE_BYTES, CounterKind.ALLOCATOR_BYTES})
_LEAST_READINGS: Final = 4
_KEPT_UNITS: Final = 7.5
"""Bytes that are kept as a multiple of their growth a unit: those of eight units, with noise."""

_SHARED_UNITS: Final = 7
"""Units over which shared memory must grow, as in `counts` where its end is far."""

_EVEN_SHARED: Final = 0.3
"""Smallest rate of shared memory as a part of the median, as in `counts`."""

_NEWEST_AMONG: Final = 4
"""Last units that must have a reading."""

_CODE_AMONG: Final = 12
"""Units considered for code and shared memory, which are read every second or few: not every short
unit has a reading of its own."""


def steadily_counted_growth(
    counters: Sequence[Counter], growth: Growth
) -> tuple[CounterGrowth, ...]:
    """Counts that each of the last six units added to: they continue, however memory scatters.

    For code, which the first unit compiles anyway, two of the last twelve units suffice, one of
    them among the last six; for bytes eight units must add about the same, and explain the growth.
    For those of children, which are read now and then, six readings in eight units or more.

    Args:
        growth: The judgement of memory.
    """
    found: list[CounterGrowth] = []
    for counter in counters:
        per_unit = 0.0 if _is_of_pipeline(counter) else _steady_growth(counter)
        if per_unit > 0.0 and per_unit >= _least(counter.kind, growth):
            slope = Slope(per_unit, per_unit, per_unit)
            found.append(CounterGrowth(counter.kind, slope, counter.function))
    return tuple(found)


def _steady_growth(counter: Counter) -> float:
    """Change per unit that the last units agree on; 0 if they disagree."""
    if counter.kind is CounterKind.NAMED_BYTES:
        return _steady_rate(counter.values[-_CODE_AMONG - 1 :])
    if counter.kind is CounterKind.CHILDREN_BYTES:
        return _even_rate(counter.values[-_CODE_AMONG - 1 :])
    if counter.kind in _BYTES:
        return _even_bytes(counter.values)
    if counter.kind is CounterKind.CODE:
        added = np.diff(counter.values[1:][-_CODE_AMONG - 1 :])
        times = np.count_nonzero(added > 0.0)
        is_steady = times >= _LATELY and bool(np.any(added[-_GOES_ON:] > 0.0))
    else:
        added = np.diff(counter.values[-_GOES_ON - 1 :])
        is_steady = counter.kind in CODE_COUNTERS and bool(np.all(added > 0.0))
    is_steady = is_steady and len(added) >= _GOES_ON and bool(np.all(added >= 0.0))
    return float(np.mean(added)) if is_steady else 0.0


def _even_bytes(values: Floats) -> float:
    """Change per unit over the last eight units or a few more; 0 if it is not about even.

    Short units are not all read.
    """
    at = _read_at(values)
    begins = at[at <= at[-1] - _EVEN_BYTES] if len(at) else at
    if not len(begins) or is_within_tooth(values):
        return 0.0
    at = at[at >= begins[-1]]
    rates = np.diff(values[at]) / np.diff(at)
    is_steady = len(at) >= _LEAST_READINGS and are_about_even(rates)
    return median(rates) if is_steady else 0.0


def _read_at(values: Floats) -> NDArray[np.intp]:
    """Indices of the readings in the last units; none if the last of them is old."""
    (at,) = np.isfinite(values).nonzero()
    at = at[at >= len(values) - _CODE_AMONG - 1]
    return at if len(at) and at[-1] >= len(values) - _NEWEST_AMONG else at[:0]


def _steady_rate(values: Floats) -> float:
    """Change per unit between readings that not every unit has; 0 if they disagree."""
    (at,) = np.isfinite(values).nonzero()
    if len(at) < _LEAST_READINGS or at[-1] - at[0] < _SHARED_UNITS:
        return 0.0
    rates = np.diff(values[at]) / np.diff(at)
    if rates.min() <= 0.0 or rates.min() < _EVEN_SHARED * median(rates):
        return 0.0
    return float((values[at[-1]] - values[at[0]]) / (at[-1] - at[0]))


def _even_rate(values: Floats) -> float:
    """Change per unit between readings at any time in a unit; 0 if they are not about even.

    From one to another there is a unit's growth more or less than units: rates are over half of
    the last ones.
    """
    (at,) = np.isfinite(values).nonzero()
    if len(at) < _GOES_ON or at[-1] - at[0] < _SHARED_UNITS:
        return 0.0
    first = min(len(at) - _GOES_ON, int(np.flatnonzero(at <= at[-1] - _SHARED_UNITS)[-1]))
    at = at[first:]
    half = len(at) // 2
    rates = (values[at][half:] - values[at][:-half]) / (at[half:] - at[:-half])
    is_steady = bool(np.all(np.diff(values[at]) >= 0.0)) and are_about_even(rates)
    return median(rates) if is_steady else 0.0


def _is_of_pipeline(counter: Counter) -> bool:
    return counter.function.startswith(OF_PIPELINES)


_LEAST_A_UNIT: Final = {
    CounterKind.TRACES: 0.5,
    CounterKind.RETAINED: 0.5,
    CounterKind.DISUSED: 0.5,
    CounterKind.FUNCTIONS: 0.5,
    CounterKind.CODE: 4.0,
}
_LEAST_PART_OF_GROWTH: Final = 0.4
"""Share of the growth from which bytes explain it."""

_SHARED_PART: Final = 0.5
"""The same for blocks of shared memory, which other processes may use too."""

BYTES_A_BLOCK: Final = 128.0
"""Average size of Python's blocks, which are at most 512 bytes; most objects take 32 to 200."""

_LATE_PART: Final = 0.3
_OF_STAIRS: Final = 6
"""Last units in which traces that nothing uses have to rise: the collector frees their functions
now and then, so that they come a few at a time."""

_MIN_UNITS: Final = 5
_MAX_POINTS: Final = 60
"""Points for a slope. Counters hardly scatter, and pairs cost time: with 185 points 1.5 ms a
counter."""


def counter_growth(counter: Counter, growth: Growth) -> CounterGrowth | None:
    """Growth of a counter over the window of a judgement; None if there is none, or no reading.

    It counts as growing if the interval of its slope is above 0, the slope is large enough,
    and the last third of the window still grows.

    Args:
        counter: Counts over the same units as the judged series.
    """
    if _is_of_pipeline(counter):
        return None
    if counter.kind in KEPT:
        return _kept_growth(counter, growth)
    values = counter.values[growth.first : growth.last + 1]
    x = np.arange(len(values), dtype=np.float64)
    if np.isfinite(values).sum() < _MIN_UNITS:
        return _growth_by_few(counter, growth)
    slope = theil_sen_interval(x, values, max_points=_MAX_POINTS)
    if slope is None or slope.low <= 0.0 or slope.middle < _least(counter.kind, growth):
        return None
    third = max(_OF_STAIRS if counter.kind in LEFT_TRACES else 3, len(values) // 3)
    late = theil_sen_slope(x[-third:], values[-third:], max_points=_MAX_POINTS)
    if late is not None and late < _LATE_PART * slope.middle:
        return None
    return CounterGrowth(counter.kind, slope, counter.function)


def _growth_by_few(counter: Counter, growth: Growth) -> CounterGrowth | None:
    """Growth of a counter that few units of a window have read; None if it is not about even."""
    values = counter.values[growth.first : growth.last + 1]
    (at,) = np.isfinite(values).nonzero()
    if len(at) < _FEWEST_READINGS or at[-1] - at[0] < _MOST_OF_WINDOW * (len(values) - 1):
        return None
    rates = np.diff(values[at]) / np.diff(at)
    middle = median(rates)
    if not are_about_even(rates) or middle < _least(counter.kind, growth):
        return None
    slope = Slope(middle, float(rates.min()), float(rates.max()))
    return CounterGrowth(counter.kind, slope, counter.function)


_FEWEST_READINGS: Final = 3
_MOST_OF_WINDOW: Final = 0.5

_KEPT_SHARE: Final = 0.5
"""Share of the growth from which kept bytes explain it, those of all named places together."""

_OF_INTERVALS: Final = 0.8
"""Share of the units in which the number of objects of unknown size must rise."""

_ONE_A_UNIT: Final = 0.9
"""Two counts of objects without a size say something if each unit between them added one."""

_FEWEST_COUNTS: Final = 2
"""Counts take a hundredth of the time on average: there is one in a few units, or ten."""


_LEAST_NAMED: Final = 0.05
"""Minimum share of the growth of a place that is named beside a larger one."""

_MOST_NAMED: Final = 3


def kept_growth(
    counters: Sequence[Counter], growth: Growth, share: float = _KEPT_SHARE
) -> list[CounterGrowth]:
    """Growth of kept objects that explains growth, the largest first.

    Several places may explain it together: at most three are named.

    Args:
        counters: Counts over the same units as the judged series.
        share: Smallest share of the growth for which kept bytes explain it.
    """
    of_kept = (counter for counter in counters if counter.kind in KEPT)
    found = [one for each in of_kept if (one := _kept_growth(each, growth, _LEAST_NAMED))]
    sized = [one for one in found if one.kind is CounterKind.KEPT_BYTES]
    sized = sorted(sized, key=lambda one: -one.per_unit.middle)[:_MOST_NAMED]
    explained = sum(one.per_unit.middle for one in sized)
    if growth.slope is not None and explained < share * growth.slope.middle:
        sized = []
    return [*sized, *(one for one in found if one.kind is not CounterKind.KEPT_BYTES)]


def kept_since_start(
    counters: Sequence[Counter], growth: Growth, share: float
) -> list[CounterGrowth]:
    """Growth of places that were counted once, and hold an object for each unit until then.

    Short units are not all counted. Objects of a place came since the start if they are no larger
    than the growth of memory meanwhile.

    Args:
        counters: Counts over the same units as the judged series, from the first one on.
        share: Smallest share of the growth that the place has to explain.
    """
    found: list[CounterGrowth] = []
    for counter in counters:
        (at,) = np.isfinite(counter.values).nonzero()
        kept = counter.kept
        if counter.kind is not CounterKind.KEPT_BYTES or kept is None or len(at) != 1:
            continue
        units = int(at[0]) + 1
        per_unit = float(counter.values[at[0]]) / units
        judged = 0.0 if growth.slope is None else growth.slope.middle
        if kept.container and kept.count >= units and share * judged <= per_unit <= judged:
            found.append(
                CounterGrowth(counter.kind, Slope(per_unit, per_unit, per_unit), kept=kept)
            )
    return found


def still_growing(
    found: Iterable[CounterGrowth], counters: Sequence[Counter]
) -> list[CounterGrowth]:
    """Pick the bytes that explained growth and go on growing, whatever their share is now.

    Where memory rises in jumps, the share of what fills it differs from window to window.

    Args:
        found: Counters that explained it until now.
        counters: Counts over the same units as the judged series.
    """
    now = {_key(one.kind, one.function, one.kept): one.values for one in counters}
    return [
        one
        for one in found
        if one.kind in HELD_BYTES
        and (values := now.get(_key(one.kind, one.function, one.kept))) is not None
        and _recent_rate(values) >= _LATE_PART * one.per_unit.middle
    ]


def _key(kind: CounterKind, function: str, kept: KeptObjects | None) -> tuple[Hashable, ...]:
    return kind, function, None if kept is None else place_key(kept)


def _recent_rate(values: Floats) -> float:
    """Change per unit in the last counts, between the lower ones: old and new copies overlap."""
    (at,) = np.isfinite(values).nonzero()
    at = at[-_CODE_AMONG:]
    lows = np.minimum(values[at][1:], values[at][:-1])
    return theil_sen_slope(at[1:].astype(np.float64), lows) or 0.0


def steady_kept_growth(
    counters: Sequence[Counter], growth: Growth, memory: Floats
) -> list[CounterGrowth]:
    """Growth of what is kept that explains growth and is about even from count to count.

    Counts begin when memory has risen for a few units: bytes of eight units show that it has been
    so from the start, as nothing else is kept in that place. Short units are not all counted: two
    counts suffice if memory rose as evenly, and by as much between them. Objects of unknown size
    explain it if memory never falls back to where it was.

    Args:
        counters: See `kept_growth`.
        memory: The judged series, `[n]`.
    """
    kept = (one for one in counters if one.kind in KEPT and not is_within_tooth(one.values))
    even = [one for one in kept if _is_kept_evenly(one, memory)]
    sized = [one for one in even if one.kind is CounterKind.KEPT_BYTES]
    if len(sized) < len(even) and not do_lows_rise(memory, growth):
        even = sized
    return kept_growth(even, growth)


def _is_kept_evenly(counter: Counter, memory: Floats) -> bool:
    values = counter.values
    (at,) = np.isfinite(values).nonzero()
    at = at[at >= len(values) - _EVEN_BYTES - 1]
    if len(at) < _FEWEST_COUNTS or at[-1] < len(values) - _LATELY:
        return False
    moments = at if counter.moments is None else counter.moments[at]
    rates = np.diff(values[at]) / np.diff(moments)
    bytes_now = values[at[-1]]
    if len(at) < _LEAST_READINGS:
        if counter.kind is CounterKind.KEPT_OBJECTS:
            return False
        kept = float(values[at[-1]] - values[at[0]])
        if not _is_of_memory(kept, memory[at[0] :], int(at[-1] - at[0])):
            return False
        # Memory says that it went on since.
        bytes_now += (len(values) - 1 - at[-1]) * median(rates)
    is_long = bool(bytes_now >= _KEPT_UNITS * median(rates))
    return is_long and (len(rates) < _FEWEST_COUNTS or are_about_even(rates))


_SAME_BYTES: Final = 0.2
"""Difference of kept bytes and memory's growth, as a part of that, at most."""


def _is_of_memory(kept: float, memory: Floats, counted: int) -> bool:
    """True if memory rose evenly since a count, and by the kept bytes until the last one.

    Args:
        kept: Bytes that came between the counts.
        memory: The judged series since the first count, `[n]`.
        counted: Index of the last count.
    """
    steps = np.diff(memory)
    rise = float(memory[counted] - memory[0])
    is_same = abs(rise - kept) <= _SAME_BYTES * rise
    return is_same and len(steps) >= _LEAST_READINGS - 1 and are_about_even(steps)


def with_newest_kept(
    found: Sequence[CounterGrowth], kept: Sequence[CounterGrowth]
) -> list[CounterGrowth]:
    """Counters that grew, with newer growth of kept objects in place of an older one."""
    kinds = {one.kind for one in kept}
    return [*(one for one in found if one.kept is None or one.kind not in kinds), *kept]


def _kept_growth(
    counter: Counter, growth: Growth, share: float = _KEPT_SHARE
) -> CounterGrowth | None:
    """Growth of kept objects from count to count; None if it does not explain the growth."""
    values = counter.values[: growth.last + 1]
    (counted,) = np.isfinite(values).nonzero()
    at = counted[counted >= growth.first]
    if len(at) == 1:
        # In a short window, as after a change of the slope, the one before says how it grew.
        at = counted[-_FEWEST_COUNTS:]
    if len(at) < _FEWEST_COUNTS or growth.slope is None:
        return None
    rates = np.diff(values[at]) / np.diff(at)
    middle = float((values[at[-1]] - values[at[0]]) / (at[-1] - at[0]))
    if counter.kind is CounterKind.KEPT_BYTES:
        judged = growth.slope.middle
        is_too_much = judged > 0.0 and middle > counter.most_share * judged
        explains = middle >= share * judged and not is_too_much
    else:
        least = 0.0 if len(at) > _FEWEST_COUNTS else _ONE_A_UNIT
        explains = np.count_nonzero(rates > least) >= _OF_INTERVALS * len(rates)
    if not explains or middle <= 0.0 or rates[-1] <= 0.0:
        return None
    slope = Slope(middle, float(rates.min()), float(rates.max()))
    return CounterGrowth(counter.kind, slope, kept=counter.kept)


def _least(kind: CounterKind, growth: Growth) -> float:
    found = _LEAST_A_UNIT.get(kind)
    if found is not None:
        return found
    is_shared = kind is CounterKind.NAMED_BYTES
    part = _SHARED_PART if is_shared else _LEAST_PART_OF_GROWTH
    least = part * (growth.slope.middle if growth.slope else 0.0)
    return least / BYTES_A_BLOCK if kind is CounterKind.BLOCKS else least
