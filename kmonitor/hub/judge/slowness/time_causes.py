"""Causes of slower epochs and steps: the part that takes longer, or what is outside of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from msgspec import structs

from kmonitor.base.trend import median
from kmonitor.hub.judge.causes import (
    PYTHON_VALUES,
    STEPS_OF_KERAS,
    Cause,
    Confidence,
    GrowthExplanation,
    Remedy,
)
from kmonitor.hub.judge.detectors import EXPLAINED, GrowthState, Judgement, UnitKind
from kmonitor.hub.judge.forecast import spacing
from kmonitor.hub.judge.growth import MIN_UNITS, Growth
from kmonitor.hub.judge.slowness.alarm_sizes import rise_now
from kmonitor.hub.judge.slowness.parts import (
    BETWEEN,
    HALF,
    WITHIN_STEPS,
    PartOfTime,
    grown_part,
    growth_of,
    has_input,
    largest,
    named_part,
    seconds_of,
)
from kmonitor.hub.judge.slowness.slower_steps import advice_on_input, explain_machine
from kmonitor.hub.judge.slowness.time_alarms import TimeAlarm, growth_now
from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.events import EPOCH_PARTS
from kmonitor_agent.wire.messages.verdict_events import (
    RECENT_UNITS,
    SlowerPart,
    VerdictMetric,
)

_MOST_OF_TIME: Final = 0.3
"""Share of an epoch's time from which a part other than computing is reported."""

_RULED_OUT: Final = 0.1
"""Share of the growth below which a part does not explain it."""

COMPUTE_AND_INPUT: Final = "compute_and_input"
"""Name of computing where the wait for input is part of it."""

_OPEN: Final = frozenset({"compute", "ours", ""})

_ADVICE: Final[dict[str, tuple[Remedy, ...]]] = {
    "input": (),
    "callbacks": (Remedy.EACH_NTH,),
    "checkpoints": (Remedy.SAVE_LESS,),
    "compiling": (Remedy.PAD,),
    "between_epochs": (Remedy.LOOK_BETWEEN,),
    "between_fits": (Remedy.LOOK_BETWEEN,),
}
"""Advice on parts that should take little of the time; on input it depends on the data."""

_ADVICE_ON_GROWTH: Final = _ADVICE | {"validation": (Remedy.VALIDATE_LESS,)}

_ENDS_ITSELF: Final = "pydataset"
"""Kind of data with an `on_epoch_end` of its own, which Keras calls after the last step."""


def largest_part(units: Sequence[Unit]) -> PartOfTime | None:
    """The part other than computing that takes most of the recent time, if that is much.

    Args:
        units: Measured units.
    """
    lately = [unit for unit in units[-RECENT_UNITS:] if unit.times]
    whole = sum(sum(unit.times.values()) for unit in lately)
    if len(lately) < RECENT_UNITS or whole <= 0.0:
        return None
    sums = {name: sum(unit.times.get(name, 0.0) for unit in lately) for name in _ADVICE}
    name = largest(sums)
    if sums[name] < _MOST_OF_TIME * whole:
        return None
    by_class: dict[str, float] = {}
    for unit in lately:
        for (part, class_), seconds in unit.callback_times.items():
            if part == name:
                by_class[class_] = by_class.get(class_, 0.0) + seconds
    return PartOfTime(name, sums[name] / whole, largest(by_class))


def explain_time(
    metric: VerdictMetric,
    judgement: Judgement,
    units: Sequence[Unit],
    kind: UnitKind,
    alarms: Sequence[TimeAlarm] = (),
) -> tuple[GrowthExplanation, PartOfTime] | None:
    """The part that makes it slower, or that takes most of the time; None: unknown.

    Args:
        metric: Metric of the step or the epoch.
        units: Measured units, to which the judgement's indices refer.
        alarms: Alarms on parts that are known to grow, of which the first is explained.
    """
    growth = judgement.growth
    known = alarms[0].part if alarms else None
    if alarms and growth is not None and growth.first == alarms[0].growth.first:
        # With the newest units, which the rate is of as well, the cause would flap.
        growth = alarms[0].growth
    if known is not None and known.name not in _OPEN:
        return _explanation(known, growth, units, kind), known
    if judgement.state in EXPLAINED and growth is not None:
        part = known or _part_of_growth(metric, growth, units)
        return _explain_part(part, growth, units, kind)
    is_judged = judgement.state is not GrowthState.MEASURING or len(units) >= MIN_UNITS
    part = largest_part(units) if metric == "epoch_time" and is_judged else None
    return None if part is None else (_explanation(part, None, units, kind), part)


def slower_parts(
    metric: VerdictMetric, alarms: Sequence[TimeAlarm], units: Sequence[Unit], kind: UnitKind
) -> list[SlowerPart]:
    """The parts of alarms, if there are several, each with its size and advice.

    Args:
        metric: Metric of the step or the epoch.
        units: Measured units, to which the alarms' indices refer.
    """
    if len(alarms) <= 1:
        return []
    return [_slower_part(metric, each, units, kind) for each in alarms]


def _slower_part(
    metric: VerdictMetric, alarm: TimeAlarm, units: Sequence[Unit], kind: UnitKind
) -> SlowerPart:
    growth = growth_now(alarm, units)
    window = units[growth.first : growth.last + 1]
    judgement = Judgement(GrowthState.GROWING, growth)
    cause, part = explain_time(metric, judgement, units, kind, [alarm]) or (None, alarm.part)
    slower = SlowerPart(
        where=part.name,
        share=part.share,
        name=part.callback,
        advice=[] if cause is None else [each.name.lower() for each in cause.advice],
    )
    if growth.slope is None:
        rise = rise_now(alarm, units) / alarm.a_unit
        return structs.replace(slower, since=window[0].number, rise=rise)
    return structs.replace(slower, slope=growth.slope.middle / alarm.a_unit / spacing(window))


def comes_first(growth: Growth, alarms: Sequence[TimeAlarm]) -> bool:
    """True if the part that took longer is a better cause than traces that grew with it.

    A jump is no growth of traces, and what happens between epochs or fits is the script's.
    """
    return growth.slope is None or (bool(alarms) and alarms[0].part.name in BETWEEN)


def _part_of_growth(metric: VerdictMetric, growth: Growth, units: Sequence[Unit]) -> PartOfTime:
    """The part that grew; one without a name where all became slower, or none was timed."""
    if not units[-1].times:
        return PartOfTime("", 0.0)
    names = EPOCH_PARTS
    if metric == "step_time":
        names = tuple(name for name in EPOCH_PARTS if name in WITHIN_STEPS)
    window, first = _window_of(growth, units)
    return grown_part(window, first, names) or PartOfTime("", 0.0)


def _window_of(growth: Growth, units: Sequence[Unit]) -> tuple[Sequence[Unit], int | None]:
    """Units to compare, and the first one of a jump in them; None: it grows from unit to unit."""
    if growth.slope is None:
        return units, growth.first
    return units[growth.first : growth.last + 1], None


def _waiting_for_input(growth: Growth, units: Sequence[Unit]) -> PartOfTime | None:
    """The wait for Python's data where computing grew as much, which waits for it as well."""
    window, first = _window_of(growth, units)
    grown = {name: growth_of(seconds_of(window, name), first) for name in EPOCH_PARTS}
    part = named_part(window, "compute", grown)
    return part if part.beside and part.share >= HALF else None


def _explain_part(
    part: PartOfTime, growth: Growth, units: Sequence[Unit], kind: UnitKind
) -> tuple[GrowthExplanation, PartOfTime]:
    if part.name not in _OPEN:
        return _explanation(part, growth, units, kind), part
    not_grown = tuple(_not_grown(growth, units, kind))
    found = explain_machine(growth, units, not_grown, is_compute=part.name == "compute")
    waiting = None if part.name or not units[-1].times else _waiting_for_input(growth, units)
    if found.cause is Cause.UNKNOWN and waiting is not None:
        return _explanation(waiting, growth, units, kind), waiting
    if part.name != "compute" or has_input(units):
        return found, part
    if found.cause is Cause.UNKNOWN:
        found = replace(found, advice=advice_on_input(units, growth))
    return found, replace(part, name=COMPUTE_AND_INPUT)


def _not_grown(growth: Growth, units: Sequence[Unit], kind: UnitKind) -> Iterator[str]:
    """Names of the parts that do not explain the growth; computing is what it remains open for."""
    if not units[-1].times:
        return
    window, at = _window_of(growth, units)
    grown = {name: growth_of(seconds_of(window, name), at) for name in EPOCH_PARTS}
    newest = {name: _newest_growth(seconds_of(window, name)) for name in EPOCH_PARTS}
    between = "between_epochs" if kind is UnitKind.EPOCH else "between_fits"
    for name in ("input", "callbacks", "compiling", between):
        is_out = _is_small_part(name, grown) and _is_small_part(name, newest)
        if is_out and (name != "input" or has_input(units)):
            yield name


def _newest_growth(seconds: Floats) -> float:
    """Rise in the newest unit, which a part may have made slow that took no longer before."""
    return float(seconds[-1] - median(seconds[:-1])) if len(seconds) > 1 else 0.0


def _is_small_part(name: str, grown: Mapping[str, float]) -> bool:
    return grown[name] <= _RULED_OUT * sum(each for each in grown.values() if each > 0.0)


def _explanation(
    part: PartOfTime, growth: Growth | None, units: Sequence[Unit], kind: UnitKind
) -> GrowthExplanation:
    advice = _ADVICE_ON_GROWTH.get(part.name, ())
    if part.name == "input":
        advice = advice_on_input(units, growth)
    if part.name == "rest" and units[-1].fit and units[-1].fit.data_kind == _ENDS_ITSELF:
        advice = (Remedy.LOOK_AT_DATA,)
    if part.name == "compiling":
        advice = _advice_on_compiling(units) if kind is UnitKind.FIT else _advice_on_traces(units)
    return GrowthExplanation(
        Cause.PART, Confidence.COUNTED, function=part.callback or None, advice=advice
    )


def _advice_on_traces(units: Sequence[Unit]) -> tuple[Remedy, ...]:
    """Against compiling in each epoch: for Python's values if all functions differ in those."""
    changed = set(units[-1].changed.values())
    if changed == {PYTHON_VALUES} and not STEPS_OF_KERAS & units[-1].changed.keys():
        return (Remedy.TENSORS_NOT_NUMBERS, Remedy.FUNCTION_ONCE)
    return (Remedy.PAD,)


def _advice_on_compiling(units: Sequence[Unit]) -> tuple[Remedy, ...]:
    """Against compiling in each fit: for new shapes, for new models, or either.

    Between the last two traces of a model's step a shape differs, or no tensor does: then they
    are of two models, or of one that was compiled twice, which leaves traces that nothing uses.
    """
    fit = units[-1]
    changed = {fit.changed[name] for name in STEPS_OF_KERAS & fit.changed.keys()} - {""}
    once = Remedy.COMPILE_ONCE if fit.disused > 0.0 else Remedy.BUILD_ONCE
    if changed == {PYTHON_VALUES}:
        return (once,)
    return (Remedy.PAD,) if changed and once is Remedy.BUILD_ONCE else (once, Remedy.PAD)
