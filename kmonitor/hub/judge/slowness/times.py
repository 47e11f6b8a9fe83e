"""Times of epochs and steps: a jump to a slower level, and the part that took longer.

Each part of an epoch was timed, so the one that grew is counted, not guessed. Computing itself may
be slower for reasons outside of the training, as another process on the machine: it is called
slower only if it takes three times as long, or by the trend of the whole, and its cause is open.
Less growth is enough while the main thread waits for a processor no longer than at first, which
excludes most of these reasons. So does more processor time of the process itself: then a jump to
one and a half times as long is enough. Where the wait for input is not known apart from computing,
a jump to 2.5 times as long is enough.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from kmonitor.base.trend import median
from kmonitor.hub.judge.detectors import (
    ALARMED,
    GrowthState,
    Judgement,
)
from kmonitor.hub.judge.growth import MIN_UNITS, Growth
from kmonitor.hub.judge.slowness.alarm_sizes import (
    grown_within,
    growth_of_whole,
    those_that_count,
    with_newest_rise,
)
from kmonitor.hub.judge.slowness.even_steps import with_even_steps
from kmonitor.hub.judge.slowness.jumps import (
    BETTER,
    TO_CONFIRM,
    find_jump,
    find_level_of_part,
    goes_on,
    is_apart,
    is_clear_jump,
    likeliest_jump,
    steady_growth,
)
from kmonitor.hub.judge.slowness.own_work import knows_own_work, works_more
from kmonitor.hub.judge.slowness.part_growth import (
    NOW_AND_THEN,
    growth_of_part,
    growth_of_work,
    rare_units,
    sure_slope,
)
from kmonitor.hub.judge.slowness.parts import (
    BETWEEN,
    HALF,
    WITHIN_STEPS,
    PartOfTime,
    class_of,
    grown_part,
    has_input,
    is_beyond,
    named_part,
    seconds_of,
    share_of,
    without_first,
)
from kmonitor.hub.judge.slowness.slower_steps import (
    before_and_later,
    is_by_others,
    is_undisturbed,
    retraced_operations,
)
from kmonitor.hub.judge.slowness.time_alarms import (
    LARGE_PART,
    LEAST_RISE,
    TimeAlarm,
    alarm_on,
    is_of_steps,
    moved_on,
    rise_lately,
    with_part,
)
from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.events import EPOCH_PARTS
from kmonitor_agent.wire.messages.verdict_events import VerdictMetric

_LEAST_JUMP_S: Final = 0.05
"""Smallest jump, seconds per unit: a busy machine adds as much to very short units."""

_LEAST_RISE_S: Final = 0.025
"""Smallest rise, seconds per unit: one turn of another process (24 ms at most by Linux' scheduler)
in each."""

_EARLY: Final = 5
"""Units after the first with which a part is compared."""

_MORE_COMPUTE: Final = 2.0
"""Growth of computing since the first units, relative to them, that must be sure: another process
takes half of a core, and seldom more."""

_MORE_WITH_INPUT: Final = 0.75
"""The same where the wait for input is part of it."""

_MORE_UNDISTURBED: Final = 0.25
"""The same while the main thread is known to wait for a processor no longer than at first; and of
any part by the work of the process itself."""

_JUMP_OF_COMPUTE: Final = 3.0
"""Factor of a jump of computing that is reported."""

_JUMP_WITH_INPUT: Final = 2.5
"""The same where the wait for input is part of it."""

_JUMP_UNDISTURBED: Final = 2.0
"""The same while the main thread waits for a processor no longer than at first, or where the
functions were traced again in that unit."""

_FAR_APART: Final = 1.5
"""Factor between the slowest of the earlier units and the fastest of the later ones."""

_OWN_UNITS: Final = 3
"""Units at a slower level, which a part that rises steadily crosses one by one."""

_MOST_ALARMS: Final = 2
"""Parts that are named together."""

_PARTS: Final = (
    "between_epochs",
    "between_fits",
    "callbacks",
    "checkpoints",
    "compiling",
    "input",
    "rest",
    "validation",
    "compute",
)
"""Parts that are judged, each by its own time; computing depends on the machine too."""


def judge_time(
    metric: VerdictMetric,
    judgement: Judgement,
    values: Floats,
    units: Sequence[Unit],
    before: Sequence[TimeAlarm],
) -> tuple[Judgement, tuple[TimeAlarm, ...]]:
    """The judgement, or that parts grow, or that the last units are at a slower level.

    A timed part scatters less than the whole, which contains everything that the machine does.

    Args:
        metric: Metric of the step or the epoch.
        judgement: Judgement by the trend of the whole.
        values: Measured durations, seconds, `[n]`.
        before: Alarms after the previous unit, the one that is named first before the others.
    """
    growth = judgement.growth
    if judgement.state in ALARMED and growth is not None and is_by_others(growth, units):
        judgement = Judgement(GrowthState.RISING, growth)
    is_alarmed = judgement.state in ALARMED
    alarms = _alarms(metric, values, units, before, is_alarmed=is_alarmed)
    if not alarms:
        return judgement, ()
    lead = alarms[0]
    growth = growth_of_whole(alarms, values, units)
    if is_alarmed:
        is_newer = _is_newer(lead, judgement)
        return (replace(judgement, growth=growth) if is_newer else judgement), alarms
    alarmed_units = len(units) - growth.first if lead.is_jump else 0
    return Judgement(GrowthState.GROWING, growth, alarmed_units=alarmed_units), alarms


def _alarms(
    metric: VerdictMetric,
    values: Floats,
    units: Sequence[Unit],
    before: Sequence[TimeAlarm],
    *,
    is_alarmed: bool,
) -> tuple[TimeAlarm, ...]:
    """The alarms that go on, and one on another part; each part is judged by itself."""
    names = [each for each in _PARTS if metric == "epoch_time" or each in WITHIN_STEPS]
    a_unit = (units[-1].steps or 1) if metric == "step_time" else 1
    held: list[TimeAlarm] = []
    for alarm in before:
        same = moved_on(alarm.for_steps(a_unit), values, units)
        own = [name for name in names if name in alarm.names]
        found = _find(metric, values, units, own, is_alarmed=is_alarmed)
        held += filter(None, [_held_or_found(same, found, values, units)])
    new: list[TimeAlarm] = []
    while len(held) + len(new) < _MOST_ALARMS:
        alarms = held + new
        others = [name for name in names if all(name not in each.names for each in alarms)]
        found = _find(metric, values, units, others, is_alarmed=is_alarmed)
        if found is None and not alarms and not is_alarmed:
            found = _find_level(values, units, a_unit, others)
        if found is None:
            break
        if any(found.names & each.names for each in alarms):
            # Computing that grew as well waits for the input, whose alarm is known already.
            held = [_renewed(each, found, values, units) for each in held]
            break
        new.append(found)
    counted = those_that_count(held, new, units)
    return tuple(with_newest_rise(each, values, units) for each in counted)


def _renewed(
    held: TimeAlarm, found: TimeAlarm, values: Floats, units: Sequence[Unit]
) -> TimeAlarm:
    if not found.names & held.names:
        return held
    return _held_or_found(held, found, values, units) or held


def _find(
    metric: VerdictMetric,
    values: Floats,
    units: Sequence[Unit],
    names: Sequence[str],
    *,
    is_alarmed: bool,
) -> TimeAlarm | None:
    """The alarm on one of these parts, which made a jump or grows."""
    a_unit = (units[-1].steps or 1) if metric == "step_time" else 1
    jump = None if is_alarmed else _find_jump_of_part(values, units, a_unit, names)
    return jump or _find_growing_part(metric, values, units, a_unit, names)


def _is_newer(alarm: TimeAlarm, judgement: Judgement) -> bool:
    """True if a part grew lately, while the whole shows it no longer: its evidence is older."""
    is_older = judgement.growth is not None and judgement.growth.last < alarm.growth.last
    return alarm.growth.slope is not None and is_older


def _held_or_found(
    held: TimeAlarm | None,
    found: TimeAlarm | None,
    values: Floats,
    units: Sequence[Unit],
) -> TimeAlarm | None:
    """The alarm that goes on, or the new one of the same part.

    A jump stays one while noise around its level looks like a trend, and the reverse.
    """
    if held is None or found is None:
        return held or found
    if found.part.name != held.part.name:  # of computing it is the wait for input, or is not
        return held
    if held.is_jump and not found.is_jump:
        # Only growth since the jump speaks against it.
        first = held.growth.first
        grows = steady_growth(values, units, held.part.name, first, most=BETTER)
        return held if grows is None else found
    if found.is_jump and not held.is_jump:
        # Such a part is not in the whole, which a jump has to show as well.
        is_judged = found.part.name not in NOW_AND_THEN
        is_clear = is_judged and is_clear_jump(units, found.part.name, found.growth.first)
        return found if is_clear else held
    return found


def _find_jump_of_part(
    values: Floats, units: Sequence[Unit], a_unit: int, parts: Sequence[str]
) -> TimeAlarm | None:
    timed = [name for name in parts if name != "compute"]
    each_unit = (
        name for name in sorted(NOW_AND_THEN.intersection(parts)) if _is_in_all(units, name)
    )
    wholes = [(values, timed), *((with_part(values, units, name), (name,)) for name in each_unit)]
    found = (_jump_in(whole, find_jump(whole), units, a_unit, names) for whole, names in wholes)
    jump = next((each for each in found if each is not None), None)
    if jump is not None or "compute" not in parts:
        return jump
    return _jump_in(values, _jump_of_compute(units), units, a_unit, parts)


def _find_level(
    values: Floats, units: Sequence[Unit], a_unit: int, parts: Sequence[str]
) -> TimeAlarm | None:
    """The alarm of a part that takes far longer, and a large part of the time before."""
    least_s = LARGE_PART * median(values[1:]) * a_unit
    for name in (each for each in parts if each != "compute"):
        seconds = without_first(units, name)
        first = find_level_of_part(seconds, least_s)
        if first is None:
            continue
        is_in_whole = rise_lately(values, first) * a_unit >= HALF * rise_lately(seconds, first)
        jump = _jump_in(values, first, units, a_unit, (name,)) if is_in_whole else None
        if jump is not None and not (jump.is_jump and goes_on(seconds, first)):
            return jump
    return None


def _jump_in(
    whole: Floats, first: int | None, units: Sequence[Unit], a_unit: int, names: Sequence[str]
) -> TimeAlarm | None:
    """The alarm where one of these parts makes most of a jump of the whole."""
    part = None if first is None else grown_part(units, first)
    if first is None or part is None or part.name not in names:
        return None
    rise = median(whole[first:]) - median(whole[1:first])
    rise = min(rise, rise_lately(whole, first))
    if rise * a_unit < _LEAST_JUMP_S or not is_apart(units, part.name, first):
        return None
    # A part that is left out of the whole has grown by itself.
    measured = seconds_of(units, part.name) if part.name in NOW_AND_THEN else whole
    growth = steady_growth(measured, units, part.name, first)
    return alarm_on(part, growth or Growth(None, first, len(whole) - 1, rise=rise), units, a_unit)


def _is_in_all(units: Sequence[Unit], name: str) -> bool:
    return bool(seconds_of(units, name)[1:].all())


def _jump_of_compute(units: Sequence[Unit]) -> int | None:
    """First unit of slower computing; None also where other processes are the reason."""
    first = _slower_compute(units)
    if first is None or is_by_others(Growth(None, first, len(units) - 1), units):
        return None
    return first


def _slower_compute(units: Sequence[Unit]) -> int | None:
    """First unit of slower computing; less is enough where other processes are no reason."""
    compute = seconds_of(units, "compute")
    first = find_jump(compute, _JUMP_OF_COMPUTE if has_input(units) else _JUMP_WITH_INPUT)
    if first is None:
        first = _jump_of_work(units)
    if first is not None:
        return first
    first = find_jump(compute, _JUMP_UNDISTURBED)
    if first is None or not has_input(units):
        return None
    if _is_retraced(units, first):
        return first
    is_clean = float(compute[first:].min()) >= _FAR_APART * float(compute[1:first].max())
    return first if is_clean and is_undisturbed(units[1:]) else None


def _jump_of_work(units: Sequence[Unit]) -> int | None:
    """First unit of slower computing of a process that works longer, or traced a function then."""
    first = likeliest_jump(units, "compute")
    if first is None or not (works_more(units, first) or _is_retraced(units, first)):
        return None
    compute = seconds_of(units, "compute")
    before_s = median(compute[1:first])
    later_s = median(compute[first:])
    is_first = float(compute[first]) >= (before_s + later_s) / 2
    return first if is_first and later_s >= _FAR_APART * before_s else None


def _is_retraced(units: Sequence[Unit], first: int) -> bool:
    """True if a function was traced in that unit; where its own work is known, that decides."""
    return not knows_own_work(units) and retraced_operations(units, first) > 0.0


def _find_growing_part(
    metric: VerdictMetric,
    values: Floats,
    units: Sequence[Unit],
    a_unit: int,
    parts: Sequence[str],
) -> TimeAlarm | None:
    least_s = max(LEAST_RISE * median(values) * a_unit, _LEAST_RISE_S)
    if len(units) < MIN_UNITS:
        return None
    for name in parts:
        growth = _growth_of(units, name, least_s)
        if growth is None or (metric == "step_time" and not is_of_steps(growth, values, a_unit)):
            continue
        grown = {each: sure_slope(seconds_of(units, each)[growth.first :]) for each in EPOCH_PARTS}
        is_rare = rare_units(seconds_of(units, name), name) is not None
        if is_rare and growth.slope is not None:
            grown[name] = growth.slope.middle  # the units without it have no time of it
        if is_beyond(units, name, grown) and not _is_just_a_jump(units, name, growth):
            is_left_out = is_rare or name in NOW_AND_THEN
            jump = None if is_left_out else _clear_jump(name, values, units)
            if jump is not None and jump.rise < LEAST_RISE * median(values):
                continue
            part = _part_that_grew(units, name, jump or growth)
            if part is not None and not _is_by_others(name, jump or growth, units):
                return alarm_on(part, jump or growth, units, a_unit)
    return None


def _growth_of(units: Sequence[Unit], name: str, least_s: float) -> Growth | None:
    own_s = max(least_s, _MORE_UNDISTURBED * _early_s(units, name))
    if name == "compute":
        least_s = max(least_s, _least_compute_s(units))
    return growth_of_part(units, name, least_s) or growth_of_work(units, name, own_s)


def _is_by_others(name: str, growth: Growth, units: Sequence[Unit]) -> bool:
    """True if a part takes longer since others take the processors, which slows down all parts.

    Beside them computing scatters: its growth is that of its median, not what is sure of it.
    """
    if name in NOW_AND_THEN or not is_by_others(growth, units):
        return False
    before, later = before_and_later(growth, units)
    levels = {each: (seconds_of(before, each), seconds_of(later, each)) for each in EPOCH_PARTS}
    grown = {each: median(late) - median(early) for each, (early, late) in levels.items()}
    return name == "compute" or not is_beyond(before, name, grown)


def _part_that_grew(units: Sequence[Unit], name: str, growth: Growth) -> PartOfTime | None:
    """The part with its share; None for computing that is less than half of the growth."""
    rare = rare_units(seconds_of(units, name), name)
    having = units if rare is None else [units[int(at)] for at in rare]
    part = named_part(units, name, grown_within(units, name, growth), class_of(having, name, None))
    return None if part.name == "compute" and part.share < HALF else part


def _clear_jump(name: str, values: Floats, units: Sequence[Unit]) -> Growth | None:
    """A slower level of a part whose noise hid the jump, and which rises as a trend does."""
    first = likeliest_jump(units, name)
    if first is None or not (is_clear_jump(units, name, first) and is_apart(units, name, first)):
        return None
    return Growth(None, first, len(units) - 1, rise=rise_lately(values, first))


def _is_just_a_jump(units: Sequence[Unit], name: str, growth: Growth) -> bool:
    """True if this part, or more so another, has just left the range of its earlier values.

    If another part did, that is what makes the newest units slower, and noise of this one before
    may look like a trend. The next units show it.
    """
    for other in EPOCH_PARTS:
        if other == "compiling":
            continue
        fewest, share = (_OWN_UNITS, HALF) if other == name else (1, 1.0)
        seconds = seconds_of(units, other)[growth.first :]
        for newest in range(fewest, min(TO_CONFIRM, len(seconds) - 1) + 1):
            more_s = float(seconds[-newest:].min() - seconds[:-newest].max())
            if more_s > share * growth.rise:
                return True
    return False


def _least_compute_s(units: Sequence[Unit]) -> float:
    early_s = _early_s(units, "compute")
    if not has_input(units):
        return _MORE_WITH_INPUT * early_s
    return (_MORE_UNDISTURBED if is_undisturbed(units[1:]) else _MORE_COMPUTE) * early_s


def _early_s(units: Sequence[Unit], name: str) -> float:
    return median(seconds_of(units, name)[1 : 1 + _EARLY])


def are_uneven(measured: Sequence[Unit], timed: Sequence[Unit]) -> bool:
    """True if few units can be compared, since the number of steps changes.

    Args:
        measured: Units with as many steps as the newest.
        timed: All units whose duration is known.
    """
    return len(measured) < MIN_UNITS and len(measured) < HALF * len(timed)


def judge_uneven(
    units: Sequence[Unit], before: Sequence[TimeAlarm]
) -> tuple[Judgement, tuple[TimeAlarm, ...]]:
    """The judgement of units whose numbers of steps differ, by the time between them.

    Args:
        units: Units whose duration is known.
        before: Alarms after the previous unit.
    """
    walls = np.array([unit.wall_s for unit in units])
    steps = median([unit.steps for unit in units])
    held = next(filter(None, (moved_on(each, walls, units) for each in before)), None)
    found = _find_growing_between(with_even_steps(units, steps)) or held
    if found is None:
        return Judgement(), ()
    return Judgement(GrowthState.GROWING, found.growth), (found,)


def _find_growing_between(units: Sequence[Unit]) -> TimeAlarm | None:
    if len(units) < MIN_UNITS:
        return None
    wall_s = median([unit.wall_s for unit in units])
    for name in BETWEEN:
        # Computing scatters more where few steps represent an epoch: it is compared as a whole.
        least_s = max(LEAST_RISE * wall_s, _LEAST_RISE_S)
        growth = growth_of_part(units, name, least_s, is_adjusted=False)
        if growth is None:
            continue
        grown = {each: sure_slope(seconds_of(units, each)[growth.first :]) for each in EPOCH_PARTS}
        if is_beyond(units, name, grown):
            share = share_of(grown_within(units, name, growth), name)
            return alarm_on(PartOfTime(name, share), growth, units)
    return None
