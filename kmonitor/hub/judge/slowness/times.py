"""Times of epochs and steps: a jump to a slower level, and the part that took longer.

Each part of an epoch was timed, so the one that grew is counted, not guessed. Computing itself may
be slower for reasons outside of the training, as another process on the machine: it is called
slower only if it takes three times as long, or by the trend of the whole, and its cause is open.
<<<<<<< HEAD
Less growth is enough while the main thread waits for a processor no longer than at first, which
excludes most of these reasons. Where the wait for input is not known apart from computing, a jump
to 2.5 times as long is enough.

A part grows from unit to unit if the low end of the interval of its slope makes half of a
difference that is felt, over the window; if its values rise in Mann-Kendall's test; if the later
half of them rises too, which a level that was left once does not; and if computing did not grow
with it. Other work of the machine only adds: where computing took longer than its median, a part
is assumed to have done so as well, and of two units that follow each other the faster one counts.
(Memory's envelope, made for saw-teeth, would halve the few values that there are.) Noise widens
the interval, so the steeper the growth, or the smaller its noise, the sooner it is called. The
last units are judged by themselves as well: growth that began late is a small part of a long
window, whose middle slope is that of before.
=======
Where the wait for input is not known apart from computing, 2.5 times as long is enough.
>>>>>>> 29bdbc183cc568f13a75e128ba09d4ffd6c8541f
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

<<<<<<< HEAD
from kmonitor.base.trend import Slope, theil_sen_interval, theil_sen_slope
=======
from kmonitor.base.trend import Slope, theil_sen_slope
from kmonitor.hub.judge.causes import (
    PYTHON_VALUES,
    STEPS_OF_KERAS,
    Cause,
    Confidence,
    GrowthExplanation,
    Remedy,
)
>>>>>>> 29bdbc183cc568f13a75e128ba09d4ffd6c8541f
from kmonitor.hub.judge.detectors import (
    ALARMED,
    TO_CLEAR,
    GrowthState,
    Judgement,
)
<<<<<<< HEAD
from kmonitor.hub.judge.growth import MAX_UNITS, MIN_UNITS, Growth, has_stopped, window_start
from kmonitor.hub.judge.slowness.parts import (
    HALF,
    MOST_POINTS,
    OF_STEPS,
    PartOfTime,
    class_of,
    grown_part,
    has_input,
    is_beyond,
    seconds_of,
    share_of,
)
from kmonitor.hub.judge.slowness.slower_steps import (
    waits_no_longer_for_cpu,
)
from kmonitor.hub.judge.statistics import Floats, interval_widening, noise_of, p_of_no_rise
=======
from kmonitor.hub.judge.growth import MIN_UNITS, Growth, has_stopped
from kmonitor.hub.judge.slowness.part_growth import (
    MOST_POINTS,
    NOW_AND_THEN,
    growth_of_part,
    seconds_of,
    sure_slope,
)
from kmonitor.hub.judge.slowness.slower_steps import advice_on_input, explain_machine
from kmonitor.hub.judge.statistics import Floats, noise_of
>>>>>>> 29bdbc183cc568f13a75e128ba09d4ffd6c8541f
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.events import EPOCH_PARTS
from kmonitor_agent.wire.messages.verdict_events import VerdictMetric

TO_CONFIRM: Final = 5
"""Units in a row at the slower level."""

_SLOWER: Final = 1.3
_FEW_BEFORE: Final = 3
_SLOWER_THAN_FEW: Final = 1.8
"""Factor of slower steps, where only one or two units were faster."""

_MOST_BEFORE: Final = 20

_LEAST_JUMP_S: Final = 0.05
"""Smallest jump, seconds per unit: a busy machine adds as much to very short units."""

_LEAST_RISE: Final = 0.1
"""Smallest rise, as a share of a unit's time, as for the whole: a smaller one is not felt."""

_LEAST_RISE_S: Final = 0.025
"""Smallest rise, seconds per unit: one turn of another process (24 ms at most by Linux' scheduler)
in each."""

<<<<<<< HEAD
_P_OF_NO_RISE: Final = 0.002
_GOES_ON: Final = 0.5
"""Slope of the later half, as a share of the slope of all, from which growth continues."""

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

=======
_BEYOND_COMPUTE: Final = 3.0
"""Factor by which a part must have grown more than computing: else everything is slower, by
something outside."""

_MOST_OF_TIME: Final = 0.3
"""Share of an epoch's time from which a part other than computing is reported."""
>>>>>>> 29bdbc183cc568f13a75e128ba09d4ffd6c8541f

_EARLY: Final = 5
"""Units after the first with which computing is compared."""

_MORE_COMPUTE: Final = 2.0
"""Growth of computing since the first units, relative to them, that must be sure: another process
takes half of a core, and seldom more."""

_MORE_WITH_INPUT: Final = 0.75
"""The same where the wait for input is part of it."""

_MORE_UNDISTURBED: Final = 0.25
"""The same while the main thread is known to wait for a processor no longer than at first."""

_LEAST_RARE: Final = 7
"""Number of validations or checkpoints, with the first, that show a trend: six that only rise are
no chance."""

_JUMP_OF_COMPUTE: Final = 3.0
"""Factor of a jump of computing that is reported."""

_JUMP_WITH_INPUT: Final = 2.5
"""The same where the wait for input is part of it."""


_PARTS: Final = (
    "between_epochs",
    "between_fits",
    "callbacks",
    "checkpoints",
    "compiling",
    "input",
    "rest",
    "validation",
)
"""Parts that are judged, each by its own time; the others depend on the machine."""

<<<<<<< HEAD
_NOW_AND_THEN: Final = frozenset({"checkpoints", "validation"})
=======
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


@dataclass(frozen=True, slots=True)
class PartOfTime:
    """A part that grew, or that takes most of the time.

    Attributes:
        name: Name of the part, as in `EpochParts`.
        share: Share of the growth, or of the time.
        callback: Class of the callback, if the part is one of callbacks.
    """

    name: str
    share: float
    callback: str = ""
>>>>>>> 29bdbc183cc568f13a75e128ba09d4ffd6c8541f


@dataclass(frozen=True, slots=True)
class TimeAlarm:
    """A part that became slower; it stays until something speaks against it.

    Attributes:
        part: The part that grew.
        growth: Growth of the part from unit to unit, or of the whole at a jump, which has no
            slope; as it was when it was last found.
        began: Number of the first unit of the growth.
        middle_s: Duration of the part half-way up, seconds, below which it is over.
        against: Judgements in a row that speak against it.
    """

    part: PartOfTime
    growth: Growth
    began: int
    middle_s: float
    against: int = 0


def judge_time(
    metric: VerdictMetric,
    judgement: Judgement,
    values: Floats,
    units: Sequence[Unit],
    before: TimeAlarm | None,
) -> tuple[Judgement, TimeAlarm | None]:
    """The judgement, or that one part grows, or that the last units are at a slower level.

    A timed part scatters less than the whole, which contains everything that the machine does.

    Args:
        metric: Metric of the step or the epoch.
        judgement: Judgement by the trend of the whole.
        values: Measured durations, seconds, `[n]`.
        before: Alarm after the previous unit.
    """
    parts = [each for each in _PARTS if metric == "epoch_time" or each in OF_STEPS]
    a_unit = (units[-1].steps or 1) if metric == "step_time" else 1
    found = None
    if judgement.state not in ALARMED:
        found = _find_jump_of_part(values, units, a_unit, parts)
    found = found or _find_growing_part(metric, values, units, a_unit, parts)
    held = _moved_on(before, units)
    if held is not None and (found is None or found.part.name != held.part.name):
        found = held
    if found is None or judgement.state in ALARMED:
        return judgement, found
    alarmed_units = len(units) - found.growth.first if found.growth.slope is None else 0
    growth = _a_step(found.growth, a_unit)
    if growth.slope is None:
        growth = replace(growth, rise=_rise_lately(values, growth.first))
    return Judgement(GrowthState.GROWING, growth, alarmed_units=alarmed_units), found


def _rise_lately(values: Floats, first: int) -> float:
    """Rise from before a jump to the newest units: it may have become smaller, or larger."""
    before = np.median(values[1:first][-_MOST_BEFORE:])
    return max(0.0, float(np.median(values[first:][-TO_CONFIRM:]) - before))


def _a_step(growth: Growth, steps: int) -> Growth:
    """Growth of a part per step, from that of `steps` steps; a jump stays as it is."""
    slope = growth.slope
    if slope is None:
        return growth
    slope = Slope(slope.middle / steps, slope.low / steps, slope.high / steps)
    return replace(growth, slope=slope, rise=growth.rise / steps)


def _find_jump_of_part(
    values: Floats, units: Sequence[Unit], a_unit: int, parts: Sequence[str]
) -> TimeAlarm | None:
    first = find_jump(values)
    part = None if first is None else grown_part(units, first)
    if first is None or part is None or part.name not in parts:
        compute = seconds_of(units, "compute")
<<<<<<< HEAD
        first = find_jump(compute, _JUMP_OF_COMPUTE if has_input(units) else _JUMP_WITH_INPUT)
=======
        first = find_jump(compute, _JUMP_OF_COMPUTE if _has_input(units) else _JUMP_WITH_INPUT)
>>>>>>> 29bdbc183cc568f13a75e128ba09d4ffd6c8541f
        part = None if first is None else grown_part(units, first)
    if first is None or part is None or part.name not in (*parts, "compute"):
        return None
    rise = float(np.median(values[first:]) - np.median(values[1:first]))
    if rise * a_unit < _LEAST_JUMP_S:
        return None
    growth = Growth(None, first, len(values) - 1, rise=rise)
    return _alarm(part, growth, units)


def _find_growing_part(
    metric: VerdictMetric,
    values: Floats,
    units: Sequence[Unit],
    a_unit: int,
    parts: Sequence[str],
) -> TimeAlarm | None:
    least_s = max(_LEAST_RISE * float(np.median(values)) * a_unit, _LEAST_RISE_S)
    if len(units) < MIN_UNITS:
        return None
<<<<<<< HEAD
    for name in (*parts, "compute"):
        least_s = max(least_s, _least_compute_s(units)) if name == "compute" else least_s
        growth = _growth_of_part(units, name, least_s)
        if growth is None or (metric == "step_time" and not _is_of_steps(growth, values, a_unit)):
            continue
        grown = {
            each: _sure_slope(seconds_of(units, each)[growth.first :]) for each in EPOCH_PARTS
        }
        if name in _NOW_AND_THEN and growth.slope is not None:
            grown[name] = growth.slope.middle  # the units without it have no time of it
        if is_beyond(units, name, grown):
            part = PartOfTime(name, share_of(grown, name), class_of(units, name, None))
=======
    early_s = float(np.median(seconds_of(units, "compute")[1 : 1 + _EARLY]))
    for name in (*parts, "compute"):
        least_s = max(least_s, _MORE_COMPUTE * early_s) if name == "compute" else least_s
        growth = growth_of_part(units, name, least_s)
        if growth is None or (metric == "step_time" and not _is_of_steps(growth, values, a_unit)):
            continue
        grown = {each: sure_slope(seconds_of(units, each)[growth.first :]) for each in EPOCH_PARTS}
        if _is_beyond(units, name, grown):
            part = PartOfTime(name, _share(grown, name), _class_of(units, name, None))
>>>>>>> 29bdbc183cc568f13a75e128ba09d4ffd6c8541f
            return _alarm(part, growth, units)
    return None


def _least_compute_s(units: Sequence[Unit]) -> float:
    early_s = float(np.median(seconds_of(units, "compute")[1 : 1 + _EARLY]))
    if not has_input(units):
        return _MORE_WITH_INPUT * early_s
    is_undisturbed = waits_no_longer_for_cpu(units[1:])
    return (_MORE_UNDISTURBED if is_undisturbed else _MORE_COMPUTE) * early_s


def _is_of_steps(growth: Growth, values: Floats, steps: int) -> bool:
    """True if steps grew as well: a callback may take its time at an epoch's end."""
    window = values[growth.first : growth.last + 1]
    x = np.arange(len(window), dtype=np.float64)
    slope = theil_sen_slope(x, window, max_points=MOST_POINTS) or 0.0
<<<<<<< HEAD
    return growth.slope is not None and slope * steps >= HALF * growth.slope.middle


def _growth_of_part(units: Sequence[Unit], name: str, least_s: float) -> Growth | None:
    """Growth from unit to unit, over the units with that part: not all may have validation."""
    seconds = seconds_of(units, name)
    # A part that comes with each epoch is judged as the others are.
    is_rare = name in _NOW_AND_THEN and not seconds[1:].all()
    at = np.flatnonzero(seconds) if is_rare else np.arange(len(seconds))
    if len(at) < (_LEAST_RARE if is_rare else MIN_UNITS):
        return None
    confidence = _CONFIDENCE
    sure_s = least_s
    if name != "compute" and not is_rare:
        seconds /= _slowness(units)
        seconds[:-1] = np.minimum(seconds[:-1], seconds[1:])
        confidence = _CONFIDENCE_OF_FASTER
        sure_s *= _SURELY_OF_FASTER
    # The first of them traces what the others find.
    window = at[max(1, len(at) - MAX_UNITS) :] if is_rare else at[window_start(len(at)) :]
    growth = _growth_within(window, seconds, sure_s, confidence)
    if growth is None and len(window) > _LATE_UNITS:
        growth = _growth_within(at[-_LATE_UNITS:], seconds, sure_s, _CONFIDENCE_LATELY)
    return growth


def _slowness(units: Sequence[Unit]) -> Floats:
    """Computing time of each unit over the median, `[n]`; 1 where it is shorter."""
    compute = seconds_of(units, "compute")
    middle_s = float(np.median(compute))
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
    rise = slope.middle * units
    shown = _interval(x, y, _CONFIDENCE)
    return Growth(None, first, last, rise=rise, slope=shown, p_of_no_rise=p)


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


def _sure_slope(seconds: Floats) -> float:
    """Change per unit; 0 where noise alone may explain it."""
    x = np.arange(len(seconds), dtype=np.float64)
    slope = theil_sen_interval(x, seconds, confidence=_CONFIDENCE_OTHERS, max_points=MOST_POINTS)
    return 0.0 if slope is None or slope.low <= 0.0 else slope.middle


=======
    return growth.slope is not None and slope * steps >= _SHARE * growth.slope.middle


>>>>>>> 29bdbc183cc568f13a75e128ba09d4ffd6c8541f
def _alarm(part: PartOfTime, growth: Growth, units: Sequence[Unit]) -> TimeAlarm:
    early = float(np.median(_known_seconds(units[: growth.first], part.name)))
    late = float(np.median(_known_seconds(units, part.name)[-TO_CONFIRM:]))
    middle_s = (early + late) / 2
    return TimeAlarm(part, growth, units[growth.first].number, middle_s)


def _moved_on(before: TimeAlarm | None, units: Sequence[Unit]) -> TimeAlarm | None:
    """The previous alarm with the indices of these units; None: it is over.

    A noisy unit, or a fast one, is no evidence that it is over.
    """
    if before is None:
        return None
    first = next((at for at, unit in enumerate(units) if unit.number == before.began), None)
    against = before.against + 1 if _is_against(before, units) else 0
    if first is None or against >= TO_CLEAR:
        return None
    last = before.growth.last + first - before.growth.first
    growth = replace(before.growth, first=first, last=last)
    return replace(before, growth=growth, against=against)


def _is_against(before: TimeAlarm, units: Sequence[Unit]) -> bool:
    seconds = _known_seconds(units, before.part.name)
    if float(np.median(seconds[-TO_CONFIRM:])) < before.middle_s:
        return True
    if before.growth.slope is None:
        return False
    slope = before.growth.slope.middle * len(units) / len(seconds)
    return has_stopped(seconds, slope, _to_see(seconds, slope))


def _to_see(seconds: Floats, slope: float) -> int:
    """Number of units from whose scatter a slope emerges: its standard error is a sixth of it."""
    return math.ceil((6 * math.sqrt(12) * noise_of(seconds) / slope) ** (2 / 3))


def _known_seconds(units: Sequence[Unit], name: str) -> Floats:
    """Durations of the units that have the part; of all units where none has."""
    seconds = seconds_of(units, name)
    is_known = seconds > 0.0
    return seconds[is_known] if name in NOW_AND_THEN and is_known.any() else seconds


def find_jump(values: Floats, least_times: float = _SLOWER) -> int | None:
    """Index of the first unit of a slower level that lasts to the end; None without one.

    The first unit is left out: models are traced and data read for the first time there.

    Args:
        values: Durations, seconds, `[n]`.
        least_times: Factor from which a level is slower.
    """
    for first in range(2, len(values) - TO_CONFIRM + 1):
        before = values[1:first][-_MOST_BEFORE:]
        lowest = float(values[first:].min())
        times = least_times if len(before) >= _FEW_BEFORE else max(least_times, _SLOWER_THAN_FEW)
        if lowest >= times * float(np.median(before)) and lowest > float(before.max()):
            return first
    return None
<<<<<<< HEAD
=======


def grown_part(
    units: Sequence[Unit], first: int | None = None, names: Sequence[str] = EPOCH_PARTS
) -> PartOfTime | None:
    """The part that grew most, if it is at least half of the growth; None: unknown.

    Args:
        units: Measured units.
        first: First unit of a slower level; None: it grows from unit to unit.
        names: Names of the parts among which it is.
    """
    grown = {name: _growth(seconds_of(units, name), first) for name in names}
    whole = sum(seconds for seconds in grown.values() if seconds > 0.0)
    name = max(grown, key=grown.__getitem__)
    if grown[name] < _SHARE * whole or whole <= 0.0 or not _is_beyond(units, name, grown, first):
        return None
    return PartOfTime(name, _share(grown, name), _class_of(units, name, first))


def _class_of(units: Sequence[Unit], name: str, first: int | None) -> str:
    """The class of callbacks that grew most; empty where the part is none of callbacks."""
    named = {each for unit in units for each in unit.callback_times if each[0] == name}
    return _largest(
        {
            each[1]: _growth(
                np.array([unit.callback_times.get(each, 0.0) for unit in units]), first
            )
            for each in sorted(named)
        }
    )


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
    name = _largest(sums)
    if sums[name] < _MOST_OF_TIME * whole:
        return None
    by_class: dict[str, float] = {}
    for unit in lately:
        for (part, class_), seconds in unit.callback_times.items():
            if part == name:
                by_class[class_] = by_class.get(class_, 0.0) + seconds
    return PartOfTime(name, sums[name] / whole, _largest(by_class))


def explain_time(
    metric: VerdictMetric,
    judgement: Judgement,
    units: Sequence[Unit],
    kind: UnitKind,
    known: PartOfTime | None = None,
) -> tuple[GrowthExplanation, PartOfTime] | None:
    """The part that makes it slower, or that takes most of the time; None: unknown.

    Args:
        metric: Metric of the step or the epoch.
        units: Measured units, to which the judgement's indices refer.
        known: The part that is known to grow.
    """
    growth = judgement.growth
    if known is not None and known.name not in _OPEN:
        return _explanation(known, growth, units, kind), known
    if judgement.state in EXPLAINED and growth is not None:
        part = known or _part_of_growth(metric, growth, units)
        return _explain_part(part, growth, units, kind)
    is_judged = judgement.state is not GrowthState.MEASURING or len(units) >= MIN_UNITS
    part = largest_part(units) if metric == "epoch_time" and is_judged else None
    return None if part is None else (_explanation(part, None, units, kind), part)


def _part_of_growth(metric: VerdictMetric, growth: Growth, units: Sequence[Unit]) -> PartOfTime:
    """The part that grew; one without a name where all became slower, or none was timed."""
    if not units[-1].times:
        return PartOfTime("", 0.0)
    names = EPOCH_PARTS
    if metric == "step_time":
        names = tuple(name for name in EPOCH_PARTS if name in {*_OF_STEPS, "compute"})
    if growth.slope is None:
        part = grown_part(units, growth.first, names)
    else:
        part = grown_part(units[growth.first : growth.last + 1], None, names)
    return part or PartOfTime("", 0.0)


def _explain_part(
    part: PartOfTime, growth: Growth, units: Sequence[Unit], kind: UnitKind
) -> tuple[GrowthExplanation, PartOfTime]:
    if part.name not in _OPEN:
        return _explanation(part, growth, units, kind), part
    found = explain_machine(growth, units, tuple(_not_grown(growth, units, kind)))
    if part.name != "compute" or _has_input(units):
        return found, part
    if found.cause is Cause.UNKNOWN:
        found = replace(found, advice=advice_on_input(units, growth))
    return found, replace(part, name=COMPUTE_AND_INPUT)


def _not_grown(growth: Growth, units: Sequence[Unit], kind: UnitKind) -> Iterator[str]:
    """Names of the parts that do not explain the growth; computing is what it remains open for."""
    if not units[-1].times:
        return
    at = growth.first if growth.slope is None else None
    window = units if at is not None else units[growth.first : growth.last + 1]
    grown = {name: _growth(seconds_of(window, name), at) for name in EPOCH_PARTS}
    whole = sum(seconds for seconds in grown.values() if seconds > 0.0)
    between = "between_epochs" if kind is UnitKind.EPOCH else "between_fits"
    for name in ("input", "callbacks", "compiling", between):
        if grown[name] <= _RULED_OUT * whole and (name != "input" or _has_input(units)):
            yield name


def _explanation(
    part: PartOfTime, growth: Growth | None, units: Sequence[Unit], kind: UnitKind
) -> GrowthExplanation:
    advice = _ADVICE_ON_GROWTH.get(part.name, ())
    if part.name == "input":
        advice = advice_on_input(units, growth)
    if part.name == "rest" and units[-1].fit and units[-1].fit.data_kind == _ENDS_ITSELF:
        advice = (Remedy.LOOK_AT_DATA,)
    if part.name == "compiling" and kind is UnitKind.FIT:
        advice = _advice_on_compiling(units[-1])
    return GrowthExplanation(
        Cause.PART, Confidence.COUNTED, function=part.callback or None, advice=advice
    )


def _advice_on_compiling(fit: Unit) -> tuple[Remedy, ...]:
    """Against compiling in each fit: for new shapes, for new models, or either.

    Between the last two traces of a model's step a shape differs, or no tensor does: then they
    are of two models. A model that is gone leaves none.
    """
    changed = {fit.changed[name] for name in STEPS_OF_KERAS & fit.changed.keys()} - {""}
    if not changed:
        return (Remedy.BUILD_ONCE, Remedy.PAD)
    return (Remedy.BUILD_ONCE,) if changed == {PYTHON_VALUES} else (Remedy.PAD,)


def _largest(amounts: Mapping[str, float]) -> str:
    return max(amounts, key=amounts.__getitem__, default="")


def _growth(seconds: Floats, first: int | None) -> float:
    if first is not None:
        return float(np.median(seconds[first:]) - np.median(seconds[1:first]))
    return theil_sen_slope(np.arange(len(seconds), dtype=np.float64), seconds) or 0.0


def _is_beyond(
    units: Sequence[Unit], name: str, grown: Mapping[str, float], first: int | None = None
) -> bool:
    """True if it grew by a larger factor than computing did: a busy machine slows down everything.

    Args:
        units: Measured units.
        name: The part.
        grown: Growth of each part, seconds.
        first: First unit of a jump: factors are then relative to the time before it.
    """
    of = units if first is None else units[1:first]
    level, compute = (float(np.median(seconds_of(of, each))) for each in (name, "compute"))
    if name == "compute" or level <= 0.0 or compute <= 0.0:
        return True
    return grown[name] / level >= _BEYOND_COMPUTE * max(0.0, grown["compute"]) / compute
>>>>>>> 29bdbc183cc568f13a75e128ba09d4ffd6c8541f
