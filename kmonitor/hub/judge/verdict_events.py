"""A judgement as the event that is stored, and whether it says anything new."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from kmonitor.hub.judge.causes import Diagnosis
from kmonitor.hub.judge.counters import ONCE, CounterGrowth, CounterKind
from kmonitor.hub.judge.detectors import UNITS_TO_SUSPECT, Per, State
from kmonitor.hub.judge.detectors import Verdict as Judgement
from kmonitor.hub.judge.limit_ahead import spacing
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.events import GrewWith, LimitForecast, Verdict
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES, VerdictMetric, VerdictState

_STATES: Final[dict[State, VerdictState]] = {
    State.LEARNING: "learning",
    State.STEADY: "steady",
    State.GROWING: "growing",
    State.SUSPECTED: "suspected",
    State.CLEARED: "cleared",
}
_ANOTHER: Final = 0.25
"""Figures that differ by such a part are told again."""

_NOT_BEFORE_UNITS: Final = 5
_LONGEST_NAME: Final = 1000


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and what it was made of.

    Attributes:
        metric: Of which metric.
        per: What a unit is.
        verdict: The judgement.
        units: Those that were measured, the judgement's indices count them.
        unit: Number of the run's newest unit.
    """

    metric: VerdictMetric
    per: Per
    verdict: Judgement
    units: Sequence[Unit]
    unit: int


def state_of(seed: VerdictState) -> State:
    """A stored state as the judgement knows it."""
    return next(state for state, told in _STATES.items() if told == seed)


def verdict_event(
    judged: Judged, found: Diagnosis | None, forecast: LimitForecast | None
) -> Verdict:
    """The event; its `t_s` is a run time, until the hub knows which process it belongs to.

    Args:
        judged: The verdict.
        found: What grows, if it was looked for.
        forecast: When a limit is met.
    """
    units, growth = judged.units, judged.verdict.growth
    because = () if found is None else found.because
    told = Verdict(
        t_s=units[-1].ended_s,
        metric=judged.metric,
        state=_state(judged.verdict, because, len(units)),
        per="fit" if judged.per is Per.FIT else "epoch",
        units=len(units),
        unit=judged.unit,
        to_s=units[-1].ended_s,
        from_s=units[0].began_s,
        forecast=forecast,
    )
    stride = 1.0
    if growth is not None and growth.slope is not None:
        window = units[growth.first : growth.last + 1]
        stride = spacing(window)
        told = replace(
            told,
            from_s=window[0].began_s,
            to_s=window[-1].ended_s,
            window=len(window),
            slope=growth.slope.middle / stride,
            slope_low=growth.slope.low / stride,
            slope_high=growth.slope.high / stride,
            rise=growth.rise,
            why_not="" if growth.why_not is None else growth.why_not.name.lower(),
        )
    return told if found is None else _with_cause(told, found, stride)


def _with_cause(told: Verdict, found: Diagnosis, stride: float) -> Verdict:
    return replace(
        told,
        cause=found.cause.name.lower(),
        sureness=found.sureness.name.lower(),
        name=(found.function or "")[:_LONGEST_NAME],
        changed=found.changed[:_LONGEST_NAME],
        grew_with=[_told(one, 1.0 if one.kind in ONCE else stride) for one in found.because][:32],
        advice=[each.name.lower() for each in found.advice],
    )


def differs(before: Verdict | None, now: Verdict) -> bool:
    """Whether a verdict is worth storing after the one that was stored last."""
    if before is None:
        return now.state != "learning"
    if now.state != before.state:
        # A start or reload begins to learn anew: that it has to, everybody knows.
        return now.state != "learning" or before.state in ALARMED_STATES
    if now.state not in ALARMED_STATES:
        return False
    if (now.per, now.cause, now.name) != (before.per, before.cause, before.name):
        return True
    if now.unit < before.unit + _NOT_BEFORE_UNITS:
        return False
    return _is_another(before.slope, now.slope) or _is_forecast_another(before, now)


def turns(before: Verdict | None, now: Verdict) -> bool:
    """Whether a verdict is told by other words than the one that was stored last.

    That a graph grows is known and no suspicion: both states of its alarm are told the same.
    """
    if before is None:
        return True
    if now.metric == "graph" and {before.state, now.state} <= ALARMED_STATES:
        return False
    return before.state != now.state


def _state(verdict: Judgement, because: Sequence[CounterGrowth], n_units: int) -> VerdictState:
    is_explained = verdict.state is State.GROWING and any(
        one.kind is CounterKind.PYTHON_BYTES for one in because
    )
    if is_explained and n_units >= UNITS_TO_SUSPECT:
        return "suspected"  # by what *Diagnose* found: no series that the judgement could see
    return _STATES[verdict.state]


def _told(one: CounterGrowth, stride: float) -> GrewWith:
    return GrewWith(
        kind=one.kind.name.lower(),
        per_unit=one.per_unit.middle / stride,
        low=one.per_unit.low / stride,
        high=one.per_unit.high / stride,
        name=one.function[:_LONGEST_NAME],
    )


def _is_forecast_another(before: Verdict, now: Verdict) -> bool:
    was, comes = before.forecast, now.forecast
    if was is None or comes is None:
        return (was is None) != (comes is None)
    if (was.of, was.limit) != (comes.of, comes.limit):
        return True
    # As units of the run: time that merely went by changes nothing.
    left = max(1.0, was.units + before.unit - now.unit)
    return abs(comes.units - left) > _ANOTHER * left


def _is_another(before: float | None, now: float | None) -> bool:
    if before is None or now is None:
        return before is not now
    return abs(now - before) > _ANOTHER * abs(before)
