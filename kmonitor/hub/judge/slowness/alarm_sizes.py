"""Alarms on time by their size: time that each adds by now, and its share of all.

A second part may become slower during an alarm: then both make the units slower, and each
has a rate or a rise of its own. A part counts from a quarter of the additional time on, until it
is a tenth, so that noise of the others does not make it come and go.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from kmonitor.base.trend import median
from kmonitor.hub.judge.growth import Growth
from kmonitor.hub.judge.slowness.jumps import MOST_BEFORE, TO_CONFIRM
from kmonitor.hub.judge.slowness.part_growth import interval_of
from kmonitor.hub.judge.slowness.parts import WITHIN_STEPS, growth_of, seconds_of, share_of
from kmonitor.hub.judge.slowness.time_alarms import (
    TimeAlarm,
    felt_rise,
    growth_now,
    known_seconds,
    rise_lately,
    times,
)
from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.events import EPOCH_PARTS

_FAR_MORE: Final = 2.0
"""Factor of the rise of an earlier part from which another one is named before it."""

_TO_COUNT: Final = 0.25
_STILL_COUNTS: Final = 0.1
"""Shares of the additional time from which a part counts, and down to which it does."""

_LEAST_SHARE: Final = 0.25
"""Smallest share of a part from which the growth of the whole is computed: smaller ones are noise
of the others."""


def with_newest_rise(alarm: TimeAlarm, values: Floats, units: Sequence[Unit]) -> TimeAlarm:
    """The alarm on a jump with its newest rise that is felt; another one as it is."""
    if not alarm.is_jump:
        return alarm
    rise = felt_rise(alarm, values, units)
    return replace(alarm, growth=replace(alarm.growth, rise=rise)) if rise > 0.0 else alarm


def those_that_count(
    held: Sequence[TimeAlarm], new: Sequence[TimeAlarm], units: Sequence[Unit]
) -> tuple[TimeAlarm, ...]:
    """The alarms on large parts of the additional time, each with its share, the largest first.

    Args:
        held: Alarms that go on, in their order so far.
        new: Alarms on other parts, which just began.
        units: Measured units.
    """
    alarms = [*held, *new]
    if len(alarms) < 2:  # noqa: PLR2004 - nothing to compare with
        return tuple(_with_share(each, units) for each in alarms)
    rises = [rise_now(each, units) for each in alarms]
    whole = sum(rises) + _rise_of_others(alarms, units)
    least = [_STILL_COUNTS] * len(held) + [_TO_COUNT] * len(new)
    counted = [
        (replace(each, part=replace(each.part, share=rise / whole)), rise)
        for each, rise, share in zip(alarms, rises, least, strict=True)
        if whole > 0.0 and rise >= share * whole
    ]
    if not counted:
        return tuple(alarms[:1])
    lead = counted[0]
    for each in counted[1:]:
        lead = each if each[1] >= _FAR_MORE * lead[1] else lead
    return (lead[0], *(each[0] for each in counted if each is not lead))


def _with_share(alarm: TimeAlarm, units: Sequence[Unit]) -> TimeAlarm:
    part = alarm.part
    grown = grown_within(units, part.name, growth_now(alarm, units))
    if alarm.a_unit > 1:
        grown = {name: seconds for name, seconds in grown.items() if name in WITHIN_STEPS}
    beside_s = grown.pop(part.beside, 0.0)
    grown[part.name] += beside_s if alarm.is_jump else 0.0  # a slope has both
    return replace(alarm, part=replace(part, share=share_of(grown, part.name)))


def rise_now(alarm: TimeAlarm, units: Sequence[Unit]) -> float:
    """Seconds by which a unit takes longer in the part than before; of a rare part the mean."""
    seconds = known_seconds(units, alarm.part)
    more_s = max(0.0, median(seconds[-TO_CONFIRM:]) - alarm.early_s)
    return more_s * len(seconds) / len(units)


def _rise_of_others(alarms: Sequence[TimeAlarm], units: Sequence[Unit]) -> float:
    """Seconds by which all other parts take longer than before the first of the alarms."""
    names = set[str]().union(*(each.names for each in alarms))
    earliest = min(alarms, key=lambda each: each.growth.first)
    first = earliest.growth.first
    before = slice(max(1, first - MOST_BEFORE), first)
    if not earliest.is_jump:
        before = slice(first, first + TO_CONFIRM)
    parts = WITHIN_STEPS if earliest.a_unit > 1 else {*EPOCH_PARTS}
    others = (seconds_of(units, name) for name in sorted(parts - names))
    return sum(max(0.0, median(each[-TO_CONFIRM:]) - median(each[before])) for each in others)


def grown_within(units: Sequence[Unit], name: str, growth: Growth) -> dict[str, float]:
    """Additional time of each part, with the noise of the others; of one part it is known."""
    if growth.slope is None:
        return {each: growth_of(seconds_of(units, each), growth.first) for each in EPOCH_PARTS}
    window = units[growth.first : growth.last + 1]
    grown = {each: growth_of(seconds_of(window, each), None) for each in EPOCH_PARTS}
    grown[name] = growth.slope.middle  # of a rare part between the units that have it
    return grown


def growth_of_whole(alarms: Sequence[TimeAlarm], values: Floats, units: Sequence[Unit]) -> Growth:
    """Growth of all parts per unit, or of the median step, whose few slow ones are not in it.

    The growth of one part says that of all with less noise, but not beside that of another.
    """
    lead = alarms[0]
    growth = growth_now(lead, units)
    is_of_steps = lead.a_unit > 1
    is_direct = is_of_steps or len(alarms) > 1
    whole = values if is_of_steps else np.array([sum(unit.times.values()) for unit in units])
    if lead.is_jump:
        is_of_parts = len(alarms) > 1 and not is_of_steps
        rise = rise_lately(whole, growth.first) if is_of_parts else 0.0
        return replace(growth, rise=max(growth.rise, rise))
    slope = interval_of(whole[growth.first : growth.last + 1]) if is_direct else None
    if slope is None:
        return times(growth, 1 / (lead.a_unit * max(_LEAST_SHARE, lead.part.share)))
    return replace(growth, slope=slope, rise=slope.middle * (growth.last - growth.first))
