"""Detectors of growth in memory and step times: growing, suspected or cleared.

A state turns slowly: it takes several judgements in a row, one way or back.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np

from kmonitor.hub.judge.counters import Counter, CounterGrowth, CounterKind, counter_growth
from kmonitor.hub.judge.growth import (
    MIN_UNITS,
    RAM_FLOOR,
    Floor,
    Growth,
    WhyNot,
    is_usual_pause,
    judge_growth,
    rises_between_falls,
)
from kmonitor.hub.judge.statistics import Floats

UNITS_TO_SUSPECT: Final = 20
"""A leak is not suspected earlier: what grows for 20 units may still stop by itself."""

TO_ALARM: Final = 5
"""Judgements in a row that find growth; fewer alarm on warm-ups that go on for long."""

TO_CLEAR: Final = 3
"""Judgements in a row that do not."""

_MIN_FITS: Final = 3


class GrowthState(StrEnum):
    """What is known of a series; growth is a fact, a leak never more than a suspicion."""

    LEARNING = "learning"
    STEADY = "steady"
    GROWING = "growing"
    SUSPECTED = "leak suspected"
    CLEARED = "cleared"


ALARMED: Final = frozenset({GrowthState.GROWING, GrowthState.SUSPECTED})


class UnitKind(StrEnum):
    """What one unit of a series is."""

    EPOCH = "epoch"
    FIT = "fit"
    FOLD = "fold"


@dataclass(frozen=True, slots=True)
class Judgement:
    """State of a series after its last unit.

    Attributes:
        state: What is known.
        growth: The last judgement: window, slope with interval; None before the first.
        grew_with: Counters that grew over the same window; empty unless alarmed.
        alarmed_units: Units since it turned to growing; 0 unless alarmed.
        in_a_row: Judgements in a row that contradict the state.
    """

    state: GrowthState = GrowthState.LEARNING
    growth: Growth | None = None
    grew_with: tuple[CounterGrowth, ...] = ()
    alarmed_units: int = 0
    in_a_row: int = 0


def next_judgement(
    before: Judgement,
    values: Floats,
    counters: Sequence[Counter] = (),
    *,
    floor: Floor = RAM_FLOOR,
) -> Judgement:
    """The judgement after one more unit.

    An alarm outlasts a restart or reload until enough units after it were judged.

    Args:
        before: That of the unit before; `Judgement()` at first.
        values: One value a unit since the last start of a process or reload, the new one last;
            units that were not measured are left out, `[n]`, finite.
        counters: Of the same units; used only while it grows.
        floor: What is too small to speak of.
    """
    if len(values) < MIN_UNITS:
        if before.state in ALARMED:
            return replace(before, alarmed_units=before.alarmed_units + 1)
        return Judgement()
    growth = judge_growth(values, floor)
    if before.state in ALARMED:
        return _alarmed(before, growth, values, counters)
    in_a_row = before.in_a_row + 1 if growth.is_growing else 0
    if in_a_row >= TO_ALARM:
        return _alarmed(Judgement(GrowthState.GROWING), growth, values, counters)
    state = GrowthState.CLEARED if before.state is GrowthState.CLEARED else GrowthState.STEADY
    if growth.is_growing and before.state is GrowthState.LEARNING:
        # It rose from the first: not steady, and not yet known to grow.
        state = GrowthState.LEARNING
    return Judgement(state, growth, in_a_row=in_a_row)


def _alarmed(
    before: Judgement, growth: Growth, values: Floats, counters: Sequence[Counter]
) -> Judgement:
    if not growth.is_growing and _is_growth_ongoing(before, growth, values):
        return replace(before, alarmed_units=before.alarmed_units + 1)
    against = 0 if growth.is_growing else before.in_a_row + 1
    if against >= TO_CLEAR:
        return Judgement(GrowthState.CLEARED, growth)
    units = before.alarmed_units + 1
    if against:
        # The evidence stays that of the last judgement that found growth.
        return replace(before, alarmed_units=units, in_a_row=against)
    found = (counter_growth(counter, growth) for counter in counters)
    grew_with = tuple(one for one in found if one is not None)
    explains = any(one.kind is not CounterKind.FREE_BYTES for one in grew_with)
    is_suspected = len(values) >= UNITS_TO_SUSPECT and explains
    state = GrowthState.SUSPECTED if is_suspected else GrowthState.GROWING
    return Judgement(state, growth, grew_with, units)


def _is_growth_ongoing(before: Judgement, growth: Growth, values: Floats) -> bool:
    """Whether what speaks against growth is only that garbage is collected now and then."""
    if growth.why_not is WhyNot.STOPPED and is_usual_pause(values, growth):
        return True
    found = before.growth.slope if before.growth is not None else None
    return found is not None and rises_between_falls(values, found.middle)


def unit_of(n_fits: int, n_folds: int = 0) -> UnitKind:
    """Kind of unit to judge by: in a loop of models an epoch of one says nothing of the next.

    Args:
        n_fits: Fits that ended.
        n_folds: Folds that ended.
    """
    if n_folds >= _MIN_FITS:
        return UnitKind.FOLD
    return UnitKind.FIT if n_fits >= _MIN_FITS else UnitKind.EPOCH


STEP_TIME_FLOOR: Final = Floor(0.0, 0.10)
"""A tenth of the step time; less is not felt, and clocks of processors vary by as much."""

_FIRST_OF_KIND: Final = 3


def next_slowdown_judgement(before: Judgement, step_s: Floats) -> Judgement:
    """The judgement of step times after one more unit.

    Args:
        before: That of the unit before; `Judgement()` at first.
        step_s: Median step time of each unit since the last start or reload, seconds, `[n]`; in a
            loop of models one a fit, made comparable by `relative_to_own_kind` if they differ.
    """
    return next_judgement(before, step_s, floor=STEP_TIME_FLOOR)


def relative_to_own_kind(step_s: Floats, kinds: Sequence[Hashable]) -> Floats:
    """Step times of models as parts of what models of the same kind took at first.

    In a search over models a larger one is slower without anything being wrong: each is compared
    with its own kind only.

    Args:
        step_s: One a fit, seconds, above 0, `[n]`.
        kinds: What makes models comparable, for example (parameters, batch size), `[n]`.

    Returns:
        Step time over the median of the first three of its kind, `[n]`; 1 is as fast as then.
    """
    firsts: dict[Hashable, list[float]] = {}
    for kind, value in zip(kinds, step_s, strict=True):
        of_kind = firsts.setdefault(kind, [])
        if len(of_kind) < _FIRST_OF_KIND:
            of_kind.append(float(value))
    return np.array(
        [value / float(np.median(firsts[kind])) for kind, value in zip(kinds, step_s, strict=True)]
    )
