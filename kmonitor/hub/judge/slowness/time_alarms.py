"""Alarms on a part of the time that became slower, from their first unit to their end.

The evidence that raises an alarm also decides its end: beside other processes the time that a
part takes scatters by more than it grows, while the processor time that the process takes for it
goes on growing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from kmonitor.base.trend import Slope, median
from kmonitor.hub.judge.detectors import TO_CLEAR
from kmonitor.hub.judge.growth import Growth, has_stopped
from kmonitor.hub.judge.slowness.jumps import MOST_BEFORE, TO_CONFIRM, likeliest_jump
from kmonitor.hub.judge.slowness.own_work import shows_work_of, worked_seconds, works_more
from kmonitor.hub.judge.slowness.part_growth import (
    NOW_AND_THEN,
    interval_at,
    interval_of,
    rare_units,
    sure_slope,
)
from kmonitor.hub.judge.slowness.parts import HALF, PartOfTime, growth_of, seconds_of
from kmonitor.hub.judge.statistics import Floats, noise_of
from kmonitor.hub.judge.units import Unit

LEAST_RISE: Final = 0.1
"""Smallest rise, as a share of a unit's time, as for the whole: a smaller one is not felt."""

LARGE_PART: Final = 0.25
"""Share of a unit's time from which what a part takes more than before is still felt."""


@dataclass(frozen=True, slots=True)
class TimeAlarm:
    """A part that became slower; it stays until something speaks against it.

    Attributes:
        part: The part that grew.
        growth: Growth of the part from unit to unit, or of the whole at a jump, which has no
            slope; as it was when it was last found, or last felt.
        began: Number of the first unit of the growth.
        early_s: Duration of the part before, seconds.
        middle_s: Duration of the part half-way up, seconds, below which it is over, unless what
            is left is a large part of the time.
        against: Judgements in a row that speak against it.
        a_unit: Number of steps that take these seconds; 1 where each unit is one.
    """

    part: PartOfTime
    growth: Growth
    began: int
    early_s: float
    middle_s: float
    against: int = 0
    a_unit: int = 1

    @property
    def is_jump(self) -> bool:
        """True for a slower level, False for growth from unit to unit."""
        return self.growth.slope is None

    def for_steps(self, a_unit: int) -> Self:
        """The same where the units make another number of steps."""
        by = a_unit / self.a_unit
        return replace(
            self,
            growth=self.growth if self.is_jump else times(self.growth, by),
            early_s=self.early_s * by,
            middle_s=self.middle_s * by,
            a_unit=a_unit,
        )

    @property
    def names(self) -> set[str]:
        """The part, with another one that takes longer because of it."""
        return {self.part.name, self.part.beside} - {""}


def times(growth: Growth, by: float) -> Growth:
    """Growth of as many times the seconds."""
    slope = growth.slope
    if slope is not None:
        slope = Slope(slope.middle * by, slope.low * by, slope.high * by)
    return replace(growth, slope=slope, rise=growth.rise * by)


def alarm_on(
    part: PartOfTime, growth: Growth, units: Sequence[Unit], a_unit: int = 1
) -> TimeAlarm:
    """The alarm on growth of a part.

    Args:
        part: The part that grew.
        growth: Its growth.
        units: Measured units.
        a_unit: Number of their steps, where those are judged.
    """
    seconds = known_seconds(units, part)
    early = median(known_seconds(units[: growth.first], part))
    if growth.slope is not None:
        # Before it there may be only the first unit, which traces.
        early = min(early, median(known_seconds(units[growth.first :][:TO_CONFIRM], part)))
        window = slice(growth.first, growth.last + 1)
        slope = interval_of(_seconds_of(units, part)[window]) if part.beside else None
        if slope is not None:
            rise = slope.middle * (growth.last - growth.first)
            growth = replace(growth, slope=slope, rise=rise)
    middle = (early + median(seconds[-TO_CONFIRM:])) / 2
    return TimeAlarm(part, growth, units[growth.first].number, early, middle, a_unit=a_unit)


def rise_lately(values: Floats, first: int) -> float:
    """Rise from before a jump to the newest units: it may have become smaller, or larger."""
    before = median(values[1:first][-MOST_BEFORE:])
    return max(0.0, median(values[first:][-TO_CONFIRM:]) - before)


def felt_rise(alarm: TimeAlarm, values: Floats, units: Sequence[Unit]) -> float:
    """Rise of a jump to the newest units; 0 where it is too small to be felt."""
    whole = with_part(values, units, alarm.part.name)
    first = alarm.growth.first
    rise = rise_lately(whole, first)
    return rise if rise >= LEAST_RISE * median(whole[1:first]) else 0.0


def with_part(values: Floats, units: Sequence[Unit], name: str) -> Floats:
    """Durations with a part that is left out of them, since not every unit has it."""
    return values + seconds_of(units, name) if name in NOW_AND_THEN else values


def known_seconds(units: Sequence[Unit], part: PartOfTime) -> Floats:
    """Durations of the units that have the part; of all units where none has."""
    return _seconds_of(units, part)[_known_at(units, part)]


def _known_at(units: Sequence[Unit], part: PartOfTime) -> NDArray[np.intp]:
    rare = rare_units(_seconds_of(units, part), part.name)
    return np.arange(len(units)) if rare is None or not len(rare) else rare


def growth_now(alarm: TimeAlarm, units: Sequence[Unit]) -> Growth:
    """Growth of the part up to the newest unit, while nothing speaks against it.

    Where noise leaves open whether that differs from when it was found, it is as it was then.
    """
    growth = alarm.growth
    if alarm.is_jump or alarm.against:
        return growth
    at = _known_at(units, alarm.part)
    at = at[at >= growth.first]
    slope = interval_at(at.astype(np.float64), _seconds_of(units, alarm.part)[at])
    was = growth.slope.middle if growth.slope is not None else 0.0
    if slope is None or not (slope.low > 0.0 or 0.0 < slope.middle <= slope.high < was):
        return growth
    last = len(units) - 1
    return replace(growth, last=last, slope=slope, rise=slope.middle * (last - growth.first))


def is_of_steps(growth: Growth, values: Floats, steps: int) -> bool:
    """True if the median step surely grew as well as the part, which a few slow steps may do."""
    slope = sure_slope(values[growth.first : growth.last + 1])
    return growth.slope is not None and slope * steps >= HALF * growth.slope.middle


def _has_left_steps(alarm: TimeAlarm, values: Floats, units: Sequence[Unit]) -> bool:
    """True if the median step no longer grows as the part does."""
    if alarm.a_unit == 1 or alarm.growth.slope is None:
        return False
    grown = growth_of(values[alarm.growth.first :], None) * alarm.a_unit
    slope = growth_now(alarm, units).slope or alarm.growth.slope
    return grown < HALF * slope.middle


def _seconds_of(units: Sequence[Unit], part: PartOfTime) -> Floats:
    seconds = seconds_of(units, part.name)
    return seconds + seconds_of(units, part.beside) if part.beside else seconds


def moved_on(before: TimeAlarm | None, values: Floats, units: Sequence[Unit]) -> TimeAlarm | None:
    """The previous alarm with the indices of these units; None: it is over.

    A noisy unit, or a fast one, is no evidence that it is over. Growth that has stopped is a level
    then, as after a jump: as long as the part takes as long, it is not over.
    """
    if before is None:
        return None
    first = next((at for at, unit in enumerate(units) if unit.number == before.began), None)
    if first is None:
        return None
    last = before.growth.last + first - before.growth.first
    alarm = replace(before, growth=replace(before.growth, first=first, last=last))
    if _is_clearly_over(alarm, values, units):
        return None
    against = alarm.against + 1 if _is_against(alarm, values, units) else 0
    if against >= TO_CLEAR:
        return _level_after(alarm, values, units)
    return replace(alarm, against=against)


def _is_clearly_over(alarm: TimeAlarm, values: Floats, units: Sequence[Unit]) -> bool:
    """True if nothing is left of a jump: to wait would be to report a rise that there is not."""
    if not alarm.is_jump or felt_rise(alarm, values, units) > 0.0:
        return False
    return float(known_seconds(units, alarm.part)[-TO_CLEAR:].max()) < alarm.middle_s


def _level_after(before: TimeAlarm, values: Floats, units: Sequence[Unit]) -> TimeAlarm | None:
    """Growth that has stopped as a slower level, if the units are still slower; else None."""
    if before.is_jump or not _is_still_slow(before, values, units):
        return None
    first = likeliest_jump(units, before.part.name)
    rise = 0.0 if first is None else rise_lately(values, first)
    if first is None or rise < LEAST_RISE * median(values):
        return None
    growth = Growth(None, first, len(units) - 1, rise=rise)
    return replace(before, growth=growth, began=units[first].number, against=0)


def _is_against(before: TimeAlarm, values: Floats, units: Sequence[Unit]) -> bool:
    if _goes_on_working(before, units):
        return False
    if not _is_still_slow(before, values, units):
        return True
    if before.growth.slope is None:
        return False
    if _has_left_steps(before, values, units):
        return True
    seconds = known_seconds(units, before.part)
    slope = before.growth.slope.middle * len(units) / len(seconds)
    return has_stopped(seconds, slope, _to_see(seconds, slope))


def _goes_on_working(alarm: TimeAlarm, units: Sequence[Unit]) -> bool:
    """True if the process's own work shows the growth, and that it lasts."""
    name = alarm.part.name
    if not shows_work_of(units, name):
        return False
    first = alarm.growth.first
    if alarm.is_jump:
        return works_more(units, first)
    worked = worked_seconds(units, name)
    grown = interval_of(worked[first : alarm.growth.last + 1])
    if grown is None or grown.low <= 0.0:
        return False
    middle_s = median(worked[first : alarm.growth.last + 1])
    is_high = median(worked[-TO_CONFIRM:]) >= middle_s
    return is_high and not has_stopped(worked, grown.middle, _to_see(worked, grown.middle))


def _is_still_slow(before: TimeAlarm, values: Floats, units: Sequence[Unit]) -> bool:
    """True while the part takes long: on a machine that was busy the rise was larger."""
    lately_s = median(known_seconds(units, before.part)[-TO_CONFIRM:])
    if lately_s >= before.middle_s:
        return True
    whole_s = median([sum(unit.times.values()) for unit in units[-TO_CONFIRM:]])
    whole = with_part(values, units, before.part.name)
    rise = median(whole[-TO_CONFIRM:]) - median(whole[1 : 1 + TO_CONFIRM])
    is_felt = rise >= LEAST_RISE * median(whole)  # a median step has nothing of a few slow ones
    return is_felt and lately_s >= before.early_s + LARGE_PART * whole_s


def _to_see(seconds: Floats, slope: float) -> int:
    """Number of units from whose scatter a slope emerges: its standard error is a sixth of it."""
    return math.ceil((6 * math.sqrt(12) * noise_of(seconds) / slope) ** (2 / 3))
