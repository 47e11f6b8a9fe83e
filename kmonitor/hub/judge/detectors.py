"""Detectors of growth in memory and step times: states of a series, from unit to unit.

| state | condition | may trigger |
|---|---|---|
| measuring | too few units, or the interval holds both growth and none | - |
| rising | the 80% interval of the change a unit is above 0, and it goes on; or each of the \
last two units added traces, and memory; a fall to a higher low does not end it | - |
| steady | the 95% interval excludes what would fill the room in ten times as long; for times, \
what made them 15 % longer | - |
| growing | each unit adds the same, or each of seven about the same, or after jumps each of the \
last eight; or five judgements in a row found a trend, or five of six; or memory rises and each \
of the last six units added traces or compiled code, or each of the last eight about the same \
bytes (of children six readings in as many), or the script keeps about the same bytes more from \
count to count, those of eight units; two counts suffice where memory agrees, and four of objects \
without a size where the lows of memory rise; but nothing that was emptied before, and held as \
much | alert |
| leak suspected | growing, and for 20 units something counted explains it; or two of the last \
four units left traces of models that are gone, and memory rose | alert, `auto` |
| slowing | it was growing, and three judgements in a row found that it slows down, or for six \
units each has added clearly less | - |
| cleared | it was growing or slowing, and three judgements in a row found that it adds less \
than a third of what it did | - |

An alarm outlasts a restart or reload until enough units after it were judged.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np

from kmonitor.base.trend import Slope, median
from kmonitor.hub.judge.counters import (
    CODE_COUNTERS,
    HELD_BYTES,
    KEPT,
    LEFT_TRACES,
    Counter,
    CounterGrowth,
    CounterKind,
    counted_growth,
    counter_growth,
    kept_growth,
    place_key,
    steadily_counted_growth,
    steady_kept_growth,
    still_growing,
)
from kmonitor.hub.judge.emptied_places import was_emptied
from kmonitor.hub.judge.growth import (
    MIN_UNITS,
    RAM_FLOOR,
    Floor,
    Growth,
    WhyNot,
    fell_to_higher_low,
    has_stopped,
    is_usual_pause,
    judge_growth,
    rises_between_falls,
)
from kmonitor.hub.judge.slope_changes import since_change
from kmonitor.hub.judge.statistics import Floats

UNITS_TO_SUSPECT: Final = 20
"""Units after which growth that a count explains is a suspected leak; before, it may stop."""

TO_ALARM: Final = 5
"""Judgements in a row that find growth; fewer would alarm on long warm-ups."""

TO_CLEAR: Final = 3
"""Judgements in a row that speak against growth."""

TO_CLEAR_COUNTED: Final = 10
"""The same while a count still grows, and evenly."""

_MIN_FITS: Final = 3
_TIMES_AS_LONG: Final = 10.0
_SLOWS: Final = frozenset({WhyNot.SLOWING, WhyNot.BENDING})
_ENDS: Final = frozenset({WhyNot.STOPPED, WhyNot.TOO_SMALL})
_OF_SHAPE: Final = frozenset({WhyNot.STEPS, WhyNot.SLOWING})
"""Conditions on the shape of a rise, which one unit may hide."""


STEP_TIME_FLOOR: Final = Floor(0.0, 0.10)
"""A tenth of the step time; less is not felt, and clocks of processors vary by as much."""


class GrowthState(StrEnum):
    """Knowledge about a series; growth is a fact, a leak never more than a suspicion."""

    MEASURING = "measuring"
    RISING = "rising"
    STEADY = "steady"
    GROWING = "growing"
    SUSPECTED = "leak suspected"
    SLOWING = "slowing"
    CLEARED = "cleared"


ALARMED: Final = frozenset({GrowthState.GROWING, GrowthState.SUSPECTED})
EXPLAINED: Final = ALARMED | {GrowthState.RISING, GrowthState.SLOWING}
"""States in which the cause is searched."""

QUIET: Final = frozenset(GrowthState) - EXPLAINED
"""States in which nothing grows, as far as it is known."""


class UnitKind(StrEnum):
    STEP = "step"
    CALL = "call"
    EPOCH = "epoch"
    FIT = "fit"
    FOLD = "fold"


COUNTED_WITHIN: Final = frozenset({UnitKind.STEP, UnitKind.CALL})
"""Metrics judged by pieces of time, and described by the steps or calls in them."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """State of a series after its last unit.

    Attributes:
        growth: The last judgement: window, slope with interval; None before the first.
        grew_with: Counters that grew over the same window; while it is rising, only those counted
            one by one.
        alarmed_units: Units since it turned to growing; 0 unless alarmed or slowing.
        in_a_row: Judgements in a row that contradict the state.
        in_row_before: Those before the last one that did not, if it was a single exception.
    """

    state: GrowthState = GrowthState.MEASURING
    growth: Growth | None = None
    grew_with: tuple[CounterGrowth, ...] = ()
    alarmed_units: int = 0
    in_a_row: int = 0
    in_row_before: int = 0

    @property
    def is_open_alarm(self) -> bool:
        """True if growth was found, and not yet its end."""
        return self.state in ALARMED or self.state is GrowthState.SLOWING


def next_judgement(
    before: Judgement,
    values: Floats,
    counters: Sequence[Counter] = (),
    *,
    floor: Floor = RAM_FLOOR,
    room: float | None = None,
    is_whole: bool = True,
) -> Judgement:
    """The judgement after one more unit.

    Args:
        before: Judgement after the previous unit; `Judgement()` at first.
        values: One value per unit since the last start of a process or reload, the new one last;
            units that were not measured are left out, `[n]`, finite.
        counters: Counters over the same units.
        floor: Smallest rise that counts.
        room: Amount by which it may still grow, in the unit of the values; None: its own level
            again.
        is_whole: False for parts of an epoch, at whose end the script may release what it keeps.
    """
    growth = judge_growth(values, floor)
    since = None
    if floor is not STEP_TIME_FLOOR and (before.is_open_alarm or growth.is_growing):
        since = since_change(values, growth, floor)
    growth = since or growth
    kept = steady_kept_growth(counters, growth, values) if is_whole else []
    counted = counted_growth(counters)
    if _is_left_behind(counted, values):
        return _suspected(before, growth, counted, counters)
    if before.is_open_alarm:
        if len(values) < MIN_UNITS and not growth.is_growing:
            return replace(before, alarmed_units=before.alarmed_units + 1)
        if since is not None and not since.is_growing:
            return _slower(before, since, values, counters)
        return _alarmed(before, growth, values, counters)
    return _quiet(before, growth, values, counters, room, kept)


def _quiet(
    before: Judgement,
    growth: Growth,
    values: Floats,
    counters: Sequence[Counter],
    room: float | None,
    kept: Sequence[CounterGrowth],
) -> Judgement:
    """The judgement after one that found no growth."""
    if before.state is GrowthState.CLEARED and growth.is_growing and _is_flat(values, growth):
        # The window still contains the growth that has ended.
        growth = replace(growth, why_not=WhyNot.STOPPED)
    in_a_row, in_row_before = _rows(before, growth)
    if growth.is_growing and (in_a_row + in_row_before >= TO_ALARM or growth.is_straight):
        return _alarmed(Judgement(GrowthState.GROWING), growth, values, counters)
    steadily = _borne_out((*steadily_counted_growth(counters, growth), *kept), growth)
    if steadily and growth.rising is not None:
        return Judgement(GrowthState.GROWING, growth, steadily, 1)
    counted = counted_growth(counters)
    if before.state is GrowthState.RISING and before.growth is not None:
        goes_on = _rose(values) or fell_to_higher_low(values, growth)
        growth = replace(
            growth, rising=growth.rising or (before.growth.rising if goes_on else None)
        )
    if growth.is_growing or growth.rising is not None or (counted and _rose(values)):
        return Judgement(GrowthState.RISING, growth, counted, 0, in_a_row, in_row_before)
    state = _quiet_state(before, growth, values, room)
    if state is GrowthState.STEADY and _may_be_kept(growth, values, counters):
        state = GrowthState.MEASURING
    return Judgement(state, growth)


def _rows(before: Judgement, growth: Growth) -> tuple[int, int]:
    """Judgements in a row that found growth, and those before a single exception.

    An exception is a unit in which memory goes on rising, though not in the usual shape.
    """
    if growth.is_growing:
        return before.in_a_row + 1, before.in_row_before
    is_exception = growth.rising is not None and growth.why_not in _OF_SHAPE
    return 0, before.in_a_row if is_exception else 0


def _borne_out(found: tuple[CounterGrowth, ...], growth: Growth) -> tuple[CounterGrowth, ...]:
    """Counts that memory does not contradict: of bytes none if it may not have grown at all."""
    slope = growth.slope
    if growth.why_not is WhyNot.TOO_FEW or (slope is not None and slope.low > 0.0):
        return found
    return tuple(one for one in found if one.kind in CODE_COUNTERS)


def _quiet_state(
    before: Judgement, growth: Growth, values: Floats, room: float | None
) -> GrowthState:
    if len(values) < MIN_UNITS:
        return GrowthState.MEASURING
    if before.state is GrowthState.CLEARED:
        return GrowthState.CLEARED
    return GrowthState.STEADY if _is_steady(growth, values, room) else GrowthState.MEASURING


def _may_be_kept(growth: Growth, values: Floats, counters: Sequence[Counter]) -> bool:
    """True if memory surely rose, by an amount that counts, and something kept grows with it."""
    slope = growth.slope
    if slope is None or slope.low < _SURELY * slope.middle or has_stopped(values, slope.middle):
        return False
    rise = slope.low * (growth.last - growth.first)
    is_large = rise >= RAM_FLOOR.least(median(values), slope.low)
    return is_large and bool(kept_growth(counters, growth))


_SURELY: Final = 0.5
"""Share of the slope that the lower end of its interval has where it excludes 0 by far."""


def _is_steady(growth: Growth, values: Floats, room: float | None) -> bool:
    """True if the interval excludes growth that would fill the room within ten times as long."""
    if growth.slope is None:
        return False
    left = median(values) if room is None else room
    most = growth.slope.high * _TIMES_AS_LONG * len(values)
    return most <= 0.0 or most < left


def _is_left_behind(counted: Sequence[CounterGrowth], values: Floats) -> bool:
    """True if two units left traces that nothing uses any more, and memory rose."""
    is_counted = any(one.kind in LEFT_TRACES for one in counted)
    return is_counted and len(values) > 2 and bool(values[-1] > values[-3])  # noqa: PLR2004


def _rose(values: Floats) -> bool:
    return len(values) > 2 and bool(values[-1] > values[-2] > values[-3])  # noqa: PLR2004


def _suspected(
    before: Judgement,
    growth: Growth,
    counted: tuple[CounterGrowth, ...],
    counters: Sequence[Counter],
) -> Judgement:
    found = _grown(counters, growth, counted) if growth.is_growing else counted
    return Judgement(GrowthState.SUSPECTED, growth, found, before.alarmed_units + 1)


def _grown(
    counters: Sequence[Counter], growth: Growth, counted: tuple[CounterGrowth, ...] = ()
) -> tuple[CounterGrowth, ...]:
    """Counters that grew over the window, and those that were counted."""
    rated = (counter_growth(each, growth) for each in counters if each.kind not in KEPT)
    found = [one for one in rated if one is not None] + kept_growth(counters, growth)
    kinds = {(one.kind, one.function) for one in found}
    return (*(one for one in counted if (one.kind, one.function) not in kinds), *found)


def _alarmed(
    before: Judgement, growth: Growth, values: Floats, counters: Sequence[Counter]
) -> Judgement:
    units = before.alarmed_units + 1
    grew_with = before.grew_with
    if _has_filled(before, values, counters) or was_emptied(grew_with, counters, values):
        return Judgement(GrowthState.CLEARED, replace(growth, why_not=WhyNot.STOPPED))
    if not growth.is_growing:
        now = replace(before, alarmed_units=units)
        return _against(now, growth, values, goes_on=_goes_on(counters, growth))
    grew_with = _grown(counters, growth, steadily_counted_growth(counters, growth))
    if not any(one.kind in HELD_BYTES for one in grew_with):
        grew_with += tuple(still_growing(before.grew_with, counters))
    explains = any(one.kind is not CounterKind.FREE_BYTES for one in grew_with)
    was_suspected = before.state is GrowthState.SUSPECTED
    is_kept = any(one.kind in KEPT for one in grew_with)
    may_have_filled = is_kept and (_is_flat(values, growth, 1) or _fills(values))
    is_long = max(len(values), units) >= UNITS_TO_SUSPECT and not may_have_filled
    is_long = is_long or was_suspected
    state = GrowthState.SUSPECTED if explains and is_long else GrowthState.GROWING
    return Judgement(state, growth, grew_with, units)


def _slower(
    before: Judgement, since: Growth, values: Floats, counters: Sequence[Counter]
) -> Judgement:
    """The judgement after an alarm whose growth has become slower, and goes on."""
    if _goes_on(counters, since):
        return _alarmed(before, replace(since, why_not=None), values, counters)
    units = before.alarmed_units + 1
    return Judgement(GrowthState.SLOWING, since, before.grew_with, units)


def _goes_on(counters: Sequence[Counter], growth: Growth) -> bool:
    """True if a count still grows."""
    if counted_growth(counters) or steadily_counted_growth(counters, growth):
        return True
    fresh = [each for each in counters if each.kind in KEPT and _is_fresh(each)]
    return bool(kept_growth(fresh, growth) or _traced(counters, growth))


_FRESH: Final = 4
_STILL: Final = 0.3


def _is_fresh(counter: Counter) -> bool:
    """True if one of the last units counted a place, and it grew about as before.

    In long pauses between counts a cache of the script's own may have become full.
    """
    (at,) = np.isfinite(counter.values).nonzero()
    if len(at) < 2 or at[-1] < len(counter.values) - _FRESH:  # noqa: PLR2004 - a rate takes two
        return False
    rates = np.diff(counter.values[at]) / np.diff(at)
    return bool(rates[-1] >= _STILL * median(rates))


_FLAT: Final = 0.3


def _is_flat(values: Floats, growth: Growth | None, units: int = 2) -> bool:
    """True if the last units added less than a third of what the earlier ones did."""
    if growth is None or growth.slope is None or len(values) <= units:
        return False
    return bool(values[-1] - values[-1 - units] < _FLAT * units * growth.slope.middle)


_LESS: Final = 0.75
_LITTLE: Final = 0.4


def _fills(values: Floats) -> bool:
    """True if each third of the units added less than the one before, and the last one little.

    So does a cache of the script's that meets the same data more and more often.
    """
    third = (len(values) - 1) // 3
    first, second, last = np.diff(values[-1 - 3 * third :: third])
    return bool(last <= _LESS * second and second <= _LESS * first and last <= _LITTLE * first)


def _has_filled(before: Judgement, values: Floats, counters: Sequence[Counter]) -> bool:
    """True if all places that explained the growth hold the same as before, and memory as well.

    A cache of the script's own has an end that nobody knows until it is met.
    """
    kept = {place_key(one.kept) for one in before.grew_with if one.kept is not None}
    stopped = {place_key(one.kept) for one in counters if one.kept and one.has_stopped}
    return bool(kept) and kept <= stopped and _is_flat(values, before.growth)


def _traced(counters: Sequence[Counter], growth: Growth) -> tuple[CounterGrowth, ...]:
    """Traces that grew over the window, though not in each of the last units.

    On a busy machine a unit may end before its traces are counted.
    """
    return tuple(one for one in _grown(counters, growth) if one.kind in _OF_TRACES)


_OF_TRACES: Final = LEFT_TRACES | {CounterKind.TRACES}


def _against(before: Judgement, growth: Growth, values: Floats, *, goes_on: bool) -> Judgement:
    """The state after a judgement that found no growth; it turns only on evidence against growth.

    Args:
        before: Judgement after the previous unit.
        growth: The new judgement.
        goes_on: True if a count still grows.
    """
    found = before.growth.slope if before.growth is not None else None
    if _is_growth_ongoing(growth, values, None if found is None else found.middle):
        return before
    if goes_on and found is not None and _is_as_small_as_before(growth, found):
        return before
    is_over = growth.why_not in _ENDS or found is None or has_stopped(values, found.middle)
    if not is_over and (goes_on or growth.why_not not in _SLOWS):
        return before
    against = before.in_a_row + 1
    if against < (TO_CLEAR_COUNTED if goes_on else TO_CLEAR):
        # The evidence stays that of the last judgement that found growth.
        return replace(before, in_a_row=against)
    if is_over:
        return Judgement(GrowthState.CLEARED, growth)
    return replace(before, state=GrowthState.SLOWING, growth=growth, in_a_row=0)


def _is_as_small_as_before(growth: Growth, found: Slope) -> bool:
    """True if growth is only too small to be called without a count, as when it was called."""
    slope = growth.slope
    is_same = slope is not None and slope.low > 0.0 and slope.middle >= _AS_BEFORE * found.middle
    return is_same and growth.why_not is WhyNot.TOO_SMALL


_AS_BEFORE: Final = 0.5


def _is_growth_ongoing(growth: Growth, values: Floats, slope: float | None) -> bool:
    """True if the only evidence against growth is that garbage is collected now and then."""
    if growth.why_not is WhyNot.STOPPED and is_usual_pause(values, growth):
        return True
    return slope is not None and rises_between_falls(values, slope)


def unit_of(n_fits: int, n_folds: int = 0) -> UnitKind:
    """Kind of unit to judge by: in a loop of models an epoch of one says nothing of the next."""
    if n_folds >= _MIN_FITS:
        return UnitKind.FOLD
    return UnitKind.FIT if n_fits >= _MIN_FITS else UnitKind.EPOCH


_SLOWER_BY: Final = 0.15
"""Part of a step's time: slower by less over all units so far counts as steady."""

_FIRST_OF_KIND: Final = 3


def next_slowdown_judgement(before: Judgement, step_s: Floats) -> Judgement:
    """The judgement of step times after one more unit.

    Args:
        before: Judgement after the previous unit; `Judgement()` at first.
        step_s: Median step time of each unit since the last start or reload, seconds, `[n]`; in a
            loop of models one per fit, made comparable by `as_if_of_one_kind` if they differ.
    """
    room = _SLOWER_BY * _TIMES_AS_LONG * median(step_s)
    return next_judgement(before, step_s, floor=STEP_TIME_FLOOR, room=room)


def as_if_of_one_kind(step_s: Floats, kinds: Sequence[Hashable]) -> Floats:
    """Step times of models as if all were of one kind, compared with the first ones of their own.

    In a search over models a larger one is slower without anything being wrong: each is compared
    with its own kind only.

    Args:
        step_s: One per fit, seconds, above 0, `[n]`.
        kinds: Property by which models are comparable, for example (parameters, batch size),
            `[n]`.

    Returns:
        Step time over the median of the first three of its kind, times the median of these over
        all fits, seconds, `[n]`. If all are of one kind: the step times.
    """
    firsts: dict[Hashable, list[float]] = {}
    for kind, value in zip(kinds, step_s, strict=True):
        of_kind = firsts.setdefault(kind, [])
        if len(of_kind) < _FIRST_OF_KIND:
            of_kind.append(float(value))
    normal = np.array([median(firsts[kind]) for kind in kinds])
    return step_s * (median(normal) / normal)
