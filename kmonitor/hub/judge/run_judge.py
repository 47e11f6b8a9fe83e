"""Verdicts on one run, from unit to unit; stored when they turn or their numbers change."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from itertools import islice
from typing import Final

import numpy as np
from msgspec.structs import replace

from kmonitor.base.trend import Slope
from kmonitor.hub.judge.causes import (
    FILLING,
    Cause,
    GrowthExplanation,
    explain_first_unit,
    explain_growth,
    explain_slowdown,
)
from kmonitor.hub.judge.counters import (
    CODE_COUNTERS,
    KEPT,
    ONCE,
    Counter,
    CounterGrowth,
    CounterKind,
    counter_growth,
    kept_growth,
)
from kmonitor.hub.judge.counts import COUNT_RULES, explain_count, next_count_judgement
from kmonitor.hub.judge.detectors import (
    ALARMED,
    EXPLAINED,
    UNITS_TO_SUSPECT,
    GrowthState,
    Judgement,
    UnitKind,
    next_judgement,
    next_slowdown_judgement,
    unit_of,
)
from kmonitor.hub.judge.epoch_segments import LEAST_SEGMENTS, EpochSegments
from kmonitor.hub.judge.forecast import (
    forecast_by_others,
    forecast_count,
    forecast_nearest_limit,
    spacing,
    unit_seconds,
)
from kmonitor.hub.judge.growth import MIN_UNITS, RAM_FLOOR, Floor, Growth
from kmonitor.hub.judge.pressure import explain_pressure
from kmonitor.hub.judge.unit_series import (
    allocation_growth,
    counters_of,
    cut,
    growing_part,
    values_of,
)
from kmonitor.hub.judge.units import Floats, RunUnits, Unit, columns_of
from kmonitor_agent.wire.messages.events import (
    CorrelatedGrowth,
    EpochEnded,
    EpochStarted,
    Event,
    LimitForecast,
    ObjectsCounted,
    Sample,
    SessionStarted,
    Verdict,
)
from kmonitor_agent.wire.messages.verdict_events import (
    ALARMED_STATES,
    VERDICT_METRICS,
    CacheFill,
    VerdictMetric,
    VerdictState,
)

_WITHIN: Final[tuple[VerdictMetric, ...]] = ("ram", "vram")
"""What is judged within an epoch."""

_TIMES_ITS_BYTES: Final = 2.0
"""What a cache's elements take beside their bytes, and one more copy on the way."""

_TIMES_MORE: Final = 10
"""So many times the steps made so far may be left of an epoch that does not say."""

GRAPH_FLOOR: Final = Floor(50.0, 0.02)
"""Operations: the smallest traced step has more."""

_LATER: Final = 8
"""Epochs that show whether what the first one took is kept, and no more is taken."""

_MOST_FRESH: Final = 60
"""Of a history that is read at once only so many units are judged one after the other: an alarm
takes five, and what an earlier hub had found was stored."""


class RunJudge:
    """Owned by the judging thread.

    Attributes:
        row: Newest row of the run that was read.
    """

    def __init__(self) -> None:
        self.row = 0
        self._units = RunUnits()
        self._segments = EpochSegments()
        self._unit_kind = UnitKind.EPOCH
        self._has_judged = False
        self._judgements: dict[tuple[UnitKind, VerdictMetric], Judgement] = {}
        self._stored: dict[VerdictMetric, Verdict] = {}
        self._newest: dict[VerdictMetric, Verdict] = {}

    def read(self, t_s: float, event: Event) -> None:
        """Take the next event of the run.

        Args:
            t_s: Its run time, seconds.
            event: Of a kind in `JUDGED_EVENT_KINDS`.
        """
        if isinstance(event, Sample):
            self.read_samples(np.array([t_s]), columns_of(event))
        elif not isinstance(event, Verdict):
            self._units.add(t_s, event)
            if isinstance(event, EpochStarted):
                self._segments.begin()
            elif isinstance(event, EpochEnded | SessionStarted):
                self._segments.end()
            elif isinstance(event, ObjectsCounted):
                self._segments.count(event.kept)
        elif not self._has_judged:
            # Of a hub before this one: an alarm outlives a restart of the hub.
            self._stored[event.metric] = self._newest[event.metric] = event
            kind = UnitKind(event.per)
            self._judgements[kind, event.metric] = _remembered(event)

    def read_samples(self, t_s: Floats, columns: Mapping[str, Floats]) -> None:
        """Take the run's next samples; as of `RunUnits.add_samples`."""
        self._units.add_samples(t_s, columns)
        self._segments.add(t_s, columns)

    def judge(self) -> list[Verdict]:
        """Judge the units that were completed since; the verdicts that are to be stored."""
        self._has_judged = True
        per = unit_of(self._units.fits_ended)
        if per is not self._unit_kind:
            self._carry_over(self._unit_kind, per)
            self._unit_kind = per
        n_fresh = min(self._units.pop_n_fresh(per), _MOST_FRESH)
        units = list(self._units.completed[per])
        new = self._judge_units(VERDICT_METRICS, units, per, n_fresh) if n_fresh else []
        if per is UnitKind.EPOCH and len(units) < MIN_UNITS:
            new += self._judge_within()
        return new

    def _judge_units(
        self, metrics: Sequence[VerdictMetric], units: list[Unit], kind: UnitKind, n_fresh: int
    ) -> list[Verdict]:
        new: list[Verdict] = []
        for metric in metrics:
            verdict = self._judge(metric, units, kind, n_fresh)
            if verdict is None or not self._says_more(verdict):
                continue
            self._newest[metric] = verdict
            before = self._stored.get(metric)
            if differs(before, verdict):
                turned = turns(before, verdict)
                self._stored[metric] = replace(verdict, turned=turned)
                new.append(self._stored[metric])
        return new

    def _judge_within(self) -> list[Verdict]:
        """Judge memory within the open epoch, by its steps, until there are enough epochs."""
        n_fresh, segments = self._segments.pop_n_fresh(), list(self._segments.closed)
        plan = self._units.plan
        full = (plan.cache_steps or 0) - plan.steps_ended
        if segments and 0 < full <= segments[-1].number:
            # What the cache took is no trend: it is judged from its end on.
            segments = [each for each in segments if each.number >= full]
        if not n_fresh or len(segments) < LEAST_SEGMENTS:
            return []
        return self._judge_units(_WITHIN, segments, UnitKind.STEP, min(n_fresh, len(segments)))

    def _says_more(self, verdict: Verdict) -> bool:
        """Whether a verdict takes the place of the newest, which may be by other units."""
        before = self._newest.get(verdict.metric)
        if before is None or before.per == verdict.per:
            return True
        is_quiet = verdict.state in {"measuring", "steady"}
        if verdict.per == "step":
            return not is_quiet and before.state not in ALARMED_STATES
        return not (before.per == "step" and verdict.state == "measuring")

    def newest_verdicts(self) -> list[Verdict]:
        """The newest verdict of each metric that was measured."""
        return [self._newest[metric] for metric in VERDICT_METRICS if metric in self._newest]

    def _judge(
        self, metric: VerdictMetric, units: list[Unit], kind: UnitKind, n_fresh: int
    ) -> Verdict | None:
        values = values_of(metric, units, kind)
        is_finite = np.isfinite(values)
        if not is_finite.any():
            return None
        key: tuple[UnitKind, VerdictMetric] = (kind, metric)
        counters = [] if metric in COUNT_RULES else counters_of(metric, units)
        judgement = self._judgement_after(key, values, counters, n_fresh)
        if kind is UnitKind.STEP:
            judgement = self._capped(metric, judgement, units)
        fill = self._cache_fill(metric, judgement, units, kind)
        if fill is not None and judgement.state in ALARMED:
            judgement = replaced(judgement, state=GrowthState.RISING, in_a_row=0)
        self._judgements[key] = judgement
        measured = [unit for unit, has_value in zip(units, is_finite, strict=True) if has_value]
        growth, before = judgement.growth, self._newest.get(metric)
        is_older = growth is None or growth.last >= len(measured)
        if judgement.is_open_alarm and is_older and before is not None:
            # It outlasts a start or reload: its evidence is that of before.
            return replace(before, unit=units[-1].number, forecast=None)
        details = JudgementDetails(metric, kind, judgement, measured, units[-1].number)
        forecast = self._forecast(metric, judgement, measured, kind)
        if fill is not None:
            return replace(verdict_event(details, FILLING, forecast), filling=fill)
        return verdict_event(
            details, self._explanation(metric, judgement, counters, units[-1], kind), forecast
        )

    def _forecast(
        self,
        metric: VerdictMetric,
        judgement: Judgement,
        units: Sequence[Unit],
        kind: UnitKind,
    ) -> LimitForecast | None:
        growth = judgement.growth
        if metric in COUNT_RULES:
            if growth is None or judgement.state not in EXPLAINED:
                return None
            return forecast_count(metric, self._units, units, growth)
        if judgement.is_open_alarm:
            return forecast_nearest_limit(metric, self._units, units, kind)
        is_quiet = judgement.state not in EXPLAINED and kind is not UnitKind.STEP
        if metric == "ram" and is_quiet:
            return forecast_by_others(self._units, units)
        return None

    def _judgement_after(
        self,
        key: tuple[UnitKind, VerdictMetric],
        values: Floats,
        counters: list[Counter],
        n_fresh: int,
    ) -> Judgement:
        """The judgement after each of the newest units in turn."""
        judgement, is_finite = self._judgements.get(key, Judgement()), np.isfinite(values)
        for last in range(len(values) - n_fresh, len(values)):
            if is_finite[last]:
                is_used = is_finite[: last + 1]
                judgement = _next(
                    key[1],
                    judgement,
                    values[: last + 1][is_used],
                    cut(counters, is_used),
                    self._room(key[1], float(values[last])),
                )
        return judgement

    def _cache_fill(
        self, metric: VerdictMetric, judgement: Judgement, units: list[Unit], kind: UnitKind
    ) -> CacheFill | None:
        """How far the cache of the fit's data is that explains what rises, and has room; or None.

        What it does not explain are traces, compiled code and what the script keeps, and more than
        twice its bytes.
        """
        plan, growth = self._units.plan, judgement.growth
        is_of_fit = metric in _WITHIN and kind in {UnitKind.EPOCH, UnitKind.STEP}
        if not is_of_fit or plan.cache_steps is None or growth is None:
            return None
        made = plan.steps_ended + (units[-1].number if kind is UnitKind.STEP else 0)
        is_counted = any(one.kind in CODE_COUNTERS | KEPT for one in judgement.grew_with)
        if made >= plan.cache_steps or judgement.state not in EXPLAINED or is_counted:
            return None
        if plan.cache_bytes is not None and growth.slope is not None:
            a_step = plan.cache_bytes / plan.cache_steps
            steps = spacing(units) * (1 if kind is UnitKind.STEP else plan.steps or 1)
            room = self._room(metric, units[-1].high.get(metric, math.nan))
            left = a_step * (plan.cache_steps - made)
            if growth.slope.middle > _TIMES_ITS_BYTES * a_step * steps:
                return None
            if room is not None and left > room:
                return None
        return CacheFill(made, plan.cache_steps, plan.cache_bytes)

    def _capped(self, metric: VerdictMetric, judgement: Judgement, units: list[Unit]) -> Judgement:
        """What rises in the first epoch of several may be data that are kept once.

        It is called growing then only where it would fill the room before the epoch ends.
        """
        if judgement.state is GrowthState.SUSPECTED:  # the units of that rule are not seconds
            judgement = replaced(judgement, state=GrowthState.GROWING)
        plan, growth = self._units.plan, judgement.growth
        if judgement.state not in ALARMED or growth is None or growth.slope is None:
            return judgement
        if plan.epochs_ended or plan.epochs == 1:
            return judgement
        room = self._room(metric, units[-1].high.get(metric, math.nan))
        per_step = growth.slope.middle / spacing(units)
        left = (plan.steps or _TIMES_MORE * units[-1].number) - units[-1].number
        if room is not None and per_step * left >= room:
            return judgement
        return replaced(judgement, state=GrowthState.RISING, in_a_row=0)

    def _carry_over(self, before: UnitKind, after: UnitKind) -> None:
        """What grew by other units is not forgotten: it is judged anew from where it stands."""
        for metric in VERDICT_METRICS:
            judgement = self._judgements.get((before, metric))
            if judgement is not None and judgement.is_open_alarm:
                units = judgement.alarmed_units
                self._judgements[after, metric] = Judgement(judgement.state, alarmed_units=units)

    def _room(self, metric: VerdictMetric, value: float) -> float | None:
        units = self._units
        of = {"ram": units.ram_of, "vram": units.vram_of, **units.counts_of}.get(metric)
        return None if of is None else max(0.0, of - value)

    def _explanation(
        self,
        metric: VerdictMetric,
        judgement: Judgement,
        counters: list[Counter],
        newest: Unit,
        kind: UnitKind,
    ) -> GrowthExplanation | None:
        growth = judgement.growth
        if judgement.state not in EXPLAINED or growth is None:
            return self._of_first_epoch(metric)
        if metric in COUNT_RULES:
            named = self._units.named.get(metric)
            earlier, after = (named[0], named[-1]) if named and len(named) > 1 else ([], [])
            return explain_count(metric, growth, earlier, after)
        is_per_fit = self._unit_kind is UnitKind.FIT
        if metric == "step_time":
            # Time leaks nothing, and is never suspected to: what grew with it is found here.
            grown = (counter_growth(counter, growth) for counter in counters)
            found = [one for one in grown if one is not None]
            by_traces = explain_slowdown(found, newest.changed, is_per_fit=is_per_fit)
            return by_traces or explain_pressure(growth, self._units.completed[kind])
        grew_with = list(judgement.grew_with)
        if judgement.state is GrowthState.RISING:
            grew_with += kept_growth(counters, growth)
            if not grew_with:
                return None  # it is too early to look for what was not counted
        if metric == "ram" and growth.is_growing:
            grew_with += allocation_growth(self._units.allocated, growth)
        found = explain_growth(
            growth,
            grew_with,
            changed=newest.changed,
            is_per_fit=is_per_fit,
            is_compared=self._units.allocated is not None,
        )
        if kind is UnitKind.STEP and found is not None and found.cause is Cause.UNKNOWN:
            return None  # most is counted between epochs only
        return found

    def _of_first_epoch(self, metric: VerdictMetric) -> GrowthExplanation | None:
        if metric != "ram":
            return None
        epochs = self._units.completed[UnitKind.EPOCH]
        later = [unit.low["ram"] for unit in islice(epochs, 1, _LATER + 1) if "ram" in unit.low]
        return explain_first_unit(self._units.epoch_samples.found(later))


def _next(
    metric: VerdictMetric,
    before: Judgement,
    values: Floats,
    counters: list[Counter],
    room: float | None,
) -> Judgement:
    if metric == "step_time":
        return next_slowdown_judgement(before, values)
    if metric in COUNT_RULES:
        return next_count_judgement(before, values, COUNT_RULES[metric], room)
    floor = GRAPH_FLOOR if metric == "graph" else RAM_FLOOR
    return next_judgement(before, values, counters, floor=floor, room=room)


_OLDER: Final = 2**31
"""Index of the last unit of a judgement that another hub has made: before all that it reads."""


def _remembered(event: Verdict) -> Judgement:
    """The judgement of a hub before this one, as far as its verdict tells of it."""
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
    """A stored state as the judgement knows it."""
    return next(state for state, verdict_state in _STATES.items() if verdict_state == seed)


@dataclass(frozen=True, slots=True)
class JudgementDetails:
    """A judgement and what it was made of.

    Attributes:
        metric: Of which metric.
        unit_kind: What a unit is.
        judgement: The judgement.
        units: Those that were measured, the judgement's indices count them.
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
        details: The verdict.
        found: What grows, if it was looked for.
        forecast: When a limit is met.
    """
    units, growth = details.units, details.judgement.growth
    because = () if found is None else found.because
    verdict = Verdict(
        t_s=units[-1].ended_s,
        metric=details.metric,
        state=_state(details.judgement, because, len(units)),
        per=details.unit_kind.value,
        units=details.unit if details.unit_kind is UnitKind.STEP else len(units),
        unit=details.unit,
        to_s=units[-1].ended_s,
        from_s=units[0].start_s,
        forecast=forecast,
        unit_s=unit_seconds(units),
    )
    stride = 1.0
    if growth is not None and growth.slope is not None and growth.last < len(units):
        window = units[growth.first : growth.last + 1]
        is_even = details.unit_kind is UnitKind.STEP  # as `values_of` has them
        stride = spacing(units if is_even else window)
        verdict = replace(
            verdict,
            from_s=window[0].start_s,
            to_s=window[-1].ended_s,
            window=len(window),
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


def _is_located(details: JudgementDetails) -> bool:
    is_whole = details.unit_kind is not UnitKind.STEP
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
"""Verdicts whose numbers differ by such a part are stored again."""

_NOT_BEFORE_UNITS: Final = 5

_EXPLAINED_STATES: Final = ALARMED_STATES | {"rising", "slowing"}


def differs(before: Verdict | None, after: Verdict) -> bool:
    """Whether a verdict is worth storing after the one that was stored last."""
    if before is None:
        return after.state != "measuring"
    if after.state != before.state:
        # After a start or reload it always has to measure again: no news.
        return after.state != "measuring" or before.state in ALARMED_STATES
    if after.state not in _EXPLAINED_STATES:
        is_due = after.unit >= before.unit + _NOT_BEFORE_UNITS
        return is_due and _is_forecast_another(before, after)
    if (after.per, after.cause, after.name) != (before.per, before.cause, before.name):
        return True
    if after.unit < before.unit + _NOT_BEFORE_UNITS:
        return False
    return _is_another(before.slope, after.slope) or _is_forecast_another(before, after)


def turns(before: Verdict | None, after: Verdict) -> bool:
    """Whether a verdict reads differently from the one that was stored last.

    That a graph grows is known and no suspicion: both states of its alarm read the same.
    """
    if before is None:
        return True
    if after.metric == "graph" and {before.state, after.state} <= ALARMED_STATES:
        return False
    is_quiet = after.state not in _EXPLAINED_STATES
    if is_quiet and before.forecast is None and after.forecast is not None:
        return True
    return before.state != after.state


def _is_forecast_another(before: Verdict, after: Verdict) -> bool:
    was, comes = before.forecast, after.forecast
    if was is None or comes is None:
        return (was is None) != (comes is None)
    # What can be had changes all the time.
    if was.of != comes.of or _is_another(was.limit, comes.limit):
        return True
    # As units of the run: time that merely went by changes nothing.
    left = max(1.0, was.units + before.unit - after.unit)
    return abs(comes.units - left) > _ANOTHER * left


def _is_another(before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before is not after
    return abs(after - before) > _ANOTHER * abs(before)
