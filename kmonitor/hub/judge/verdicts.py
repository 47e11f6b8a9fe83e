"""Judgements as verdicts, and the choice of verdicts to store.

A verdict may wake its owner and restart a training, so a false alarm costs more than a late one,
and the word must not say more than its number. Counts are reported at once: traces that dead
models left are a fact after two units. Measurements need enough units to separate a trend from a
sawtooth, a warm-up or a cache that fills (`growth`); until then the rate is shown with its
interval and called rising.

A state that was called is taken back only on evidence against it, never for lack of evidence: a
judgement that flaps is not read again. A judgement also outlives a reload, a restart and the hub,
which reads its last verdict back (`remembered`), since an action that did not help once should not
be tried again. Verdicts are stored when their state turns or their numbers change visibly: a row
for each unit would hide the ones that matter.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from typing import Final, assert_never

from msgspec.structs import replace

from kmonitor.base.trend import Slope
from kmonitor.hub.judge.causes import (
    ARENAS,
    FILLING,
    PYTHON_VALUES,
    Cause,
    GrowthExplanation,
    Remedy,
)
from kmonitor.hub.judge.counters import (
    ONCE,
    CounterGrowth,
    CounterKind,
)
from kmonitor.hub.judge.detectors import (
    ALARMED,
    COUNTED_WITHIN,
    EXPLAINED,
    QUIET,
    UNITS_TO_SUSPECT,
    GrowthState,
    Judgement,
    UnitKind,
)
from kmonitor.hub.judge.evidence.uncollected import NoAlarm
from kmonitor.hub.judge.forecast import (
    spacing,
    unit_seconds,
)
from kmonitor.hub.judge.growth import Growth
from kmonitor.hub.judge.unit_series import (
    growing_part,
)
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.events import (
    CorrelatedGrowth,
    LimitForecast,
    Verdict,
)
from kmonitor_agent.wire.messages.verdict_events import (
    ALARMED_STATES,
    KINDS_DIFFER,
    MAY_BE_GARBAGE,
    TIME_METRICS,
    ArenaFill,
    CacheFill,
    VerdictMetric,
    VerdictState,
)

_OLDER: Final = 2**31
"""Index of the last unit of another hub's judgement: before all that this hub reads."""


def remembered(event: Verdict) -> Judgement:
    """The judgement of an earlier hub, as far as its verdict contains it."""
    growth = None
    if event.slope is not None:
        ends = (event.slope_low, event.slope_high)
        low, high = (event.slope if end is None else end for end in ends)
        growth = Growth(None, 0, _OLDER, event.rise, Slope(event.slope, low, high))
    units = event.units if event.state in ALARMED_STATES else 0
    return Judgement(state_of(event.state), growth, alarmed_units=units)


_STATES: Final[dict[GrowthState, VerdictState]] = {
    GrowthState.MEASURING: "measuring",
    GrowthState.RISING: "rising",
    GrowthState.STEADY: "steady",
    GrowthState.GROWING: "growing",
    GrowthState.SUSPECTED: "suspected",
    GrowthState.SLOWING: "slowing",
    GrowthState.CLEARED: "cleared",
}


def state_of(seed: VerdictState) -> GrowthState:
    """The state of a judgement for a stored state."""
    return next(state for state, verdict_state in _STATES.items() if verdict_state == seed)


@dataclass(frozen=True, slots=True)
class JudgementDetails:
    """A judgement and its basis.

    Attributes:
        units: Measured units, to which the judgement's indices refer.
        unit: Number of the run's newest unit.
    """

    metric: VerdictMetric
    unit_kind: UnitKind
    judgement: Judgement
    units: Sequence[Unit]
    unit: int


_LONGEST_NAME: Final = 1000


def verdict_event(
    details: JudgementDetails, found: GrowthExplanation | None, forecast: LimitForecast | None
) -> Verdict:
    """The event; its `t_s` is a run time, until the hub knows which process it belongs to.

    Args:
        found: Explanation of the growth, if it was searched.
        forecast: When a limit is met.
    """
    units = details.units
    growth = details.judgement.growth
    because = () if found is None else found.because
    verdict = Verdict(
        t_s=units[-1].ended_s,
        metric=details.metric,
        state=_state(details.judgement, because, len(units)),
        per=details.unit_kind.value,
        units=details.unit if details.unit_kind in COUNTED_WITHIN else len(units),
        unit=details.unit,
        to_s=units[-1].ended_s,
        from_s=units[0].start_s,
        forecast=forecast,
        unit_s=unit_seconds(units),
        on_host=details.metric == "vram" and "allocator" in units[-1].low,
    )
    stride = 1.0
    if growth is not None and growth.slope is not None and growth.last < len(units):
        window = units[growth.first : growth.last + 1]
        is_even = details.unit_kind in COUNTED_WITHIN  # as `values_of` has them
        stride = spacing(units if is_even else window)
        verdict = replace(
            verdict,
            from_s=window[0].start_s,
            to_s=window[-1].ended_s,
            window=window[-1].number - window[0].number if is_even else len(window),
            slope=growth.slope.middle / stride,
            slope_low=growth.slope.low / stride,
            slope_high=growth.slope.high / stride,
            rise=growth.rise,
            why_not=_why_not(details.judgement.state, growth),
        )
        part = growing_part(units, growth) if _is_located(details) else None
        if part is not None:
            verdict = replace(verdict, where=part[0], where_part=part[1])
    return verdict if found is None else _with_cause(verdict, found, stride)


def incomparable_verdict(
    metric: VerdictMetric, units: Sequence[Unit], kind: UnitKind
) -> Verdict | None:
    """Verdict on step times of which no two can be compared; None: none were measured."""
    if metric != "step_time" or not any(math.isfinite(unit.step_s) for unit in units):
        return None
    details = JudgementDetails(metric, kind, Judgement(), units, units[-1].number)
    return replace(verdict_event(details, None, None), why_not=KINDS_DIFFER)


Passing = CacheFill | ArenaFill | GrowthExplanation | NoAlarm
"""Reason why a rise is no alarm."""


def judgement_on_rise(
    judgement: Judgement, before: Judgement, passing: Passing | None
) -> Judgement:
    """The judgement of a rise that is no alarm.

    Args:
        before: The judgement before.
        passing: The reason; None: it is not clear yet.
    """
    if judgement.state in ALARMED:
        return replaced(judgement, state=GrowthState.RISING, in_a_row=0)
    if passing is NoAlarm.TOOTH and judgement.state is GrowthState.RISING:
        state = before.state if before.state in QUIET else GrowthState.RISING
        return replaced(judgement, state=state)
    return judgement


def verdict_on_rise(
    details: JudgementDetails, passing: Passing, forecast: LimitForecast | None
) -> Verdict:
    match passing:
        case NoAlarm.GARBAGE:
            return replace(verdict_event(details, None, forecast), why_not=MAY_BE_GARBAGE)
        case NoAlarm.TOOTH:
            return verdict_event(details, None, forecast)
        case CacheFill():
            return replace(verdict_event(details, FILLING, forecast), filling=passing)
        case ArenaFill():
            return replace(verdict_event(details, ARENAS, forecast), arenas=passing)
        case GrowthExplanation():
            return verdict_event(details, passing, forecast)
        case _:
            assert_never(passing)


def with_traces(
    found: GrowthExplanation | None, part: str, traced: GrowthExplanation | None
) -> GrowthExplanation | None:
    """The explanation with the traces that grew since as evidence.

    Where more time is spent compiling, they show the function, and whether new shapes are why.

    Args:
        part: Name of the part that took longer at a jump; empty: unknown.
    """
    if found is None or traced is None:
        return found
    if found.cause is Cause.UNKNOWN:
        return traced
    found = replaced(found, because=(*found.because, *traced.because))
    if part != "compiling" or traced.cause is not Cause.RETRACING:
        return found
    found = replaced(found, function=traced.function, changed=traced.changed)
    if traced.changed != PYTHON_VALUES:
        return found
    return replaced(found, advice=(Remedy.TENSORS_NOT_NUMBERS, Remedy.FUNCTION_ONCE))


def _is_located(details: JudgementDetails) -> bool:
    is_whole = details.unit_kind not in COUNTED_WITHIN
    return details.metric == "ram" and details.judgement.state in EXPLAINED and is_whole


def _why_not(state: GrowthState, growth: Growth) -> str:
    is_said = state not in {GrowthState.SUSPECTED, GrowthState.RISING, GrowthState.MEASURING}
    return growth.why_not.name.lower() if is_said and growth.why_not is not None else ""


def _with_cause(verdict: Verdict, found: GrowthExplanation, stride: float) -> Verdict:
    return replace(
        verdict,
        cause=found.cause.name.lower(),
        sureness=found.confidence.name.lower(),
        name=(found.function or "")[:_LONGEST_NAME],
        changed=found.changed[:_LONGEST_NAME],
        kept=found.kept,
        grew_with=[
            _correlated_growth(one, 1.0 if one.kind in ONCE else stride) for one in found.because
        ][:32],
        advice=[each.name.lower() for each in found.advice],
        ruled_out=list(found.ruled_out),
    )


def _state(judgement: Judgement, because: Sequence[CounterGrowth], n_units: int) -> VerdictState:
    is_explained = judgement.state is GrowthState.GROWING and any(
        one.kind is CounterKind.PYTHON_BYTES for one in because
    )
    if is_explained and n_units >= UNITS_TO_SUSPECT:
        return "suspected"  # by what *Diagnose* found: no series that the judgement could see
    return _STATES[judgement.state]


def _correlated_growth(one: CounterGrowth, stride: float) -> CorrelatedGrowth:
    return CorrelatedGrowth(
        kind=one.kind.name.lower(),
        per_unit=one.per_unit.middle / stride,
        low=one.per_unit.low / stride,
        high=one.per_unit.high / stride,
        name=(one.function if one.kept is None else one.kept.place)[:_LONGEST_NAME],
    )


_ANOTHER: Final = 0.25
"""Relative difference of numbers from which a verdict is stored again."""

_NOT_BEFORE_UNITS: Final = 5

_EXPLAINED_STATES: Final = ALARMED_STATES | {"rising", "slowing"}


def differs(before: Verdict | None, after: Verdict) -> bool:
    """True if a verdict is worth storing after the last stored one."""
    if before is None:
        return after.state != "measuring"
    if after.state != before.state:
        # After a start or reload it always has to measure again: no news.
        return after.state != "measuring" or before.state in ALARMED_STATES
    if after.state not in _EXPLAINED_STATES:
        is_due = after.unit >= before.unit + _NOT_BEFORE_UNITS
        return is_due and _is_forecast_another(before, after)
    if _says(before) != _says(after):
        return True
    if after.unit < before.unit + _NOT_BEFORE_UNITS:
        return False
    is_other_jump = after.since > 0 and _is_another(before.rise, after.rise)
    is_other_slope = _is_another(before.slope, after.slope)
    is_time = after.metric in TIME_METRICS  # noise hides a slowdown's end for longer
    is_longer = is_time and _is_another(float(before.window), float(after.window))
    is_other = is_other_jump or is_other_slope or is_longer
    return is_other or _is_forecast_another(before, after)


def _says(verdict: Verdict) -> tuple[object, ...]:
    named = (verdict.per, verdict.cause, verdict.name, *_slow_parts(verdict), verdict.since)
    return (*named, verdict.advice, len(verdict.tried))


def _slow_parts(verdict: Verdict) -> list[str]:
    """Parts of the time that the text names."""
    if verdict.metric not in TIME_METRICS:
        return []
    return sorted(each.where for each in verdict.slower_parts) or [verdict.where]


def turns(before: Verdict | None, after: Verdict) -> bool:
    """True if a verdict reads differently from the last stored one.

    Growth of a graph is a fact and no suspicion: both states of its alarm read the same.
    """
    if before is None:
        return True
    if after.metric == "graph" and {before.state, after.state} <= ALARMED_STATES:
        return False
    is_quiet = after.state not in _EXPLAINED_STATES
    if is_quiet and before.forecast is None and after.forecast is not None:
        return True
    if after.metric in TIME_METRICS and {before.state, after.state} <= ALARMED_STATES:
        # The part in the log has to be the one that makes it slow now.
        parts = _slow_parts(before), _slow_parts(after)
        return all(map(all, parts)) and parts[0] != parts[1]
    return before.state != after.state


def _is_forecast_another(before: Verdict, after: Verdict) -> bool:
    was = before.forecast
    comes = after.forecast
    if was is None or comes is None:
        return (was is None) != (comes is None)
    # With a tolerance: a limit that is the available memory changes all the time.
    if was.of != comes.of or _is_another(was.limit, comes.limit):
        return True
    # As units of the run: time that merely went by changes nothing.
    left = max(1.0, was.units + before.unit - after.unit)
    return abs(comes.units - left) > _ANOTHER * left


def _is_another(before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before is not after
    return abs(after - before) > _ANOTHER * abs(before)
