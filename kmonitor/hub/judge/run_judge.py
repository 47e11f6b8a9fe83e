"""Verdicts on one run, from unit to unit; stored when they turn or their numbers change."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace as replaced
from itertools import islice
from typing import Final

import numpy as np
from msgspec.structs import replace

from kmonitor.hub.judge.arenas import arenas_that_fill
from kmonitor.hub.judge.bounded_places import FilledPlaces, explain_end, filling_places
from kmonitor.hub.judge.causes import (
    Cause,
    GrowthExplanation,
    explain_first_unit,
    explain_growth,
    explain_slowdown,
)
from kmonitor.hub.judge.counters import (
    CODE_COUNTERS,
    KEPT,
    Counter,
    CounterGrowth,
    counter_growth,
    kept_growth,
    kept_since_start,
    with_newest_kept,
)
from kmonitor.hub.judge.counts import (
    COUNT_RULES,
    explain_open_count,
    near_with_saves,
    next_count_judgement,
)
from kmonitor.hub.judge.detectors import (
    ALARMED,
    COUNTED_WITHIN,
    EXPLAINED,
    QUIET,
    GrowthState,
    Judgement,
    UnitKind,
    next_judgement,
    next_slowdown_judgement,
    unit_of,
)
from kmonitor.hub.judge.epoch_segments import LEAST_SEGMENTS, EpochSegments
from kmonitor.hub.judge.evidence.diagnosed import Diagnoses, with_diagnosis
from kmonitor.hub.judge.evidence.resources_beside import with_partly_kept, with_resources
from kmonitor.hub.judge.evidence.uncollected import uncollected_growth, with_idle_collector
from kmonitor.hub.judge.forecast import (
    forecast_by_others,
    forecast_count,
    forecast_nearest_limit,
    spacing,
    unit_seconds,
)
from kmonitor.hub.judge.growth import MIN_UNITS, RAM_FLOOR, Floor, Growth
from kmonitor.hub.judge.slowness.even_steps import steps_alone
from kmonitor.hub.judge.slowness.slower_steps import explain_pressure
from kmonitor.hub.judge.slowness.time_alarms import TimeAlarm
from kmonitor.hub.judge.slowness.time_causes import comes_first, explain_time, slower_parts
from kmonitor.hub.judge.slowness.times import are_uneven, judge_time, judge_uneven
from kmonitor.hub.judge.tried_actions import TriedActions
from kmonitor.hub.judge.unit_series import counters_of, cut, is_by_few_readings, values_of
from kmonitor.hub.judge.units import Floats, RunUnits, Unit, columns_of
from kmonitor.hub.judge.verdicts import (
    JudgementDetails,
    Passing,
    differs,
    incomparable_verdict,
    judgement_on_rise,
    remembered,
    turns,
    verdict_event,
    verdict_on_rise,
    with_traces,
)
from kmonitor_agent.wire.messages.events import (
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
    STEPS_DIFFER,
    TIME_METRICS,
    VERDICT_METRICS,
    CacheFill,
    VerdictMetric,
)

_WITHIN: Final[tuple[VerdictMetric, ...]] = ("ram", "vram")
"""Metrics that are judged within an epoch."""

_TIMES_ITS_BYTES: Final = 2.0
"""Factor of a cache's bytes that its growth may take: overhead of its elements, and one more copy
on the way."""

_MOST_KEPT: Final = 2
"""Places of the script that grow while steps slow down and that are reported; code that reads them
takes longer."""

_TIMES_MORE: Final = 10
"""Multiple of the steps made so far that may be left of an epoch of unknown length."""

_NOT_GARBAGE: Final = 0.25
"""Share of a rise from which objects that are kept show that it is no garbage: the size of what
they hold themselves is not in theirs."""

GRAPH_FLOOR: Final = Floor(50.0, 0.02)
"""Operations: the smallest traced step has more."""

_LATER: Final = 8
"""Epochs after the first that show if its memory is kept, and no more is taken."""

_MOST_FRESH: Final = 60
"""Maximum number of units of a history read at once that are judged one after the other: an alarm
takes five, and an earlier hub's verdicts were stored."""


class RunJudge:
    """Judge of one run; owned by the judging thread.

    Attributes:
        row: Newest row of the run that was read.
    """

    def __init__(self) -> None:
        self.row = 0
        self._units = RunUnits()
        self._diagnoses = Diagnoses()
        self._segments = EpochSegments()
        self._unit_kind = UnitKind.EPOCH
        self._has_judged = False
        self._judgements: dict[tuple[UnitKind, VerdictMetric], Judgement] = {}
        self._time_alarms: dict[tuple[UnitKind, VerdictMetric], tuple[TimeAlarm, ...]] = {}
        self._slower: set[VerdictMetric] = set()
        self._stored: dict[VerdictMetric, Verdict] = {}
        self._newest: dict[VerdictMetric, Verdict] = {}
        self._tried = TriedActions()

    def read(self, t_s: float, event: Event) -> None:
        """Take the next event of the run.

        Args:
            t_s: Its run time, seconds.
            event: An event of `JUDGED_EVENT_KINDS`.
        """
        if isinstance(event, Sample):
            self.read_samples(np.array([t_s]), columns_of(event))
        elif not isinstance(event, Verdict):
            self._tried.read(event, self._newest.values())
            self._units.add(t_s, event)
            self._diagnoses.read(t_s, event)
            if isinstance(event, EpochStarted):
                self._segments.begin()
            elif isinstance(event, EpochEnded | SessionStarted):
                self._segments.end()
            elif isinstance(event, ObjectsCounted):
                self._segments.count(t_s, event.kept)
        elif not self._has_judged:
            # From an earlier hub: an alarm outlives a restart of the hub.
            self._stored[event.metric] = self._newest[event.metric] = event
            kind = UnitKind(event.per)
            self._judgements[kind, event.metric] = remembered(event)

    def read_samples(self, t_s: Floats, columns: Mapping[str, Floats]) -> None:
        """Take the run's next samples; see `RunUnits.add_samples`."""
        self._units.add_samples(t_s, columns)
        self._segments.add(t_s, columns, self._units.levels)

    def judge(self) -> list[Verdict]:
        """Judge the units completed since the last call; return the verdicts to store."""
        self._has_judged = True
        per = unit_of(self._units.fits_ended)
        if per is not self._unit_kind:
            self._carry_over(self._unit_kind, per)
            self._unit_kind = per
        n_fresh = min(self._units.pop_n_fresh(per), _MOST_FRESH)
        units = list(self._units.completed[per])
        new = self._judge_units(VERDICT_METRICS, units, per, n_fresh) if n_fresh else []
        is_call = self._segments.kind is UnitKind.CALL
        if is_call or (per is UnitKind.EPOCH and len(units) < MIN_UNITS):
            new += self._judge_within(self._segments.kind)
        return new

    def _judge_units(
        self, metrics: Sequence[VerdictMetric], units: list[Unit], kind: UnitKind, n_fresh: int
    ) -> list[Verdict]:
        new: list[Verdict] = []
        least = LEAST_SEGMENTS if kind is UnitKind.STEP else 1
        for metric in metrics:
            if metric == "temp_disk" and self._units.is_one_disk:
                continue
            later = self._filled(kind).later(metric, units)
            if len(later) < least:
                continue
            verdict = self._judge(metric, later, kind, min(n_fresh, len(later)))
            if verdict is None or not self._says_more(verdict):
                continue
            verdict = self._tried.beside(verdict)
            self._newest[metric] = verdict
            before = self._stored.get(metric)
            if differs(before, verdict):
                turned = turns(before, verdict)
                self._stored[metric] = replace(verdict, turned=turned)
                new.append(self._stored[metric])
        return new

    def _judge_within(self, kind: UnitKind) -> list[Verdict]:
        """Judge memory within the open epoch, until there are enough epochs, or between calls."""
        n_fresh = self._segments.pop_n_fresh()
        segments = list(self._segments.closed)
        plan = self._units.plan
        full = (plan.cache_steps or 0) - plan.steps_ended
        if kind is UnitKind.STEP and segments and 0 < full <= segments[-1].number:
            # Memory that fills the cache is not a trend: judge from the cache's end on.
            segments = [each for each in segments if each.number >= full]
        return self._judge_units(_WITHIN, segments, kind, n_fresh) if n_fresh else []

    def _filled(self, kind: UnitKind) -> FilledPlaces:
        """Places that became full in units of this kind."""
        return self._segments.filled if kind in COUNTED_WITHIN else self._units.filled[kind]

    def _says_more(self, verdict: Verdict) -> bool:
        """True if a verdict replaces the newest one, which may be by other units."""
        before = self._newest.get(verdict.metric)
        if before is None or before.per == verdict.per:
            return True
        is_quiet = verdict.state in {"measuring", "steady"}
        if UnitKind(verdict.per) in COUNTED_WITHIN:
            return not is_quiet and before.state not in ALARMED_STATES
        is_within = UnitKind(before.per) in COUNTED_WITHIN and before.state != "measuring"
        return not (is_within and verdict.state == "measuring")

    def newest_verdicts(self) -> list[Verdict]:
        """The newest verdict of each metric that was measured."""
        return [self._newest[metric] for metric in VERDICT_METRICS if metric in self._newest]

    def _judge(
        self, metric: VerdictMetric, units: list[Unit], kind: UnitKind, n_fresh: int
    ) -> Verdict | None:
        values = values_of(metric, units, kind)
        is_finite = np.isfinite(values)
        if not is_finite.any():
            return incomparable_verdict(metric, units, kind)
        key: tuple[UnitKind, VerdictMetric] = (kind, metric)
        counters = [] if metric in COUNT_RULES else counters_of(metric, units)
        near_units = near_with_saves(self._units.near_units(kind, unit_seconds(units)), units)
        judgement = self._judgement_after(key, values, counters, n_fresh, near_units)
        if kind in COUNTED_WITHIN and judgement.state is GrowthState.SUSPECTED:
            # The units of that rule are no pieces of time.
            judgement = replaced(judgement, state=GrowthState.GROWING)
        if kind is UnitKind.STEP:
            judgement = self._capped(metric, judgement, units)
        earlier = self._judgements.get(key, Judgement())
        is_new = not earlier.is_open_alarm
        is_unclear = metric == "ram" and is_new and is_by_few_readings(units, judgement.growth)
        passing = self._cache_fill(metric, judgement, units, kind)
        passing = passing or self._passing(key, judgement, counters, units)
        if is_unclear or passing is not None:
            judgement = judgement_on_rise(judgement, earlier, passing)
        self._judgements[key] = judgement
        measured = [unit for unit, has_value in zip(units, is_finite, strict=True) if has_value]
        growth = judgement.growth
        before = self._newest.get(metric)
        is_older = growth is None or growth.last >= len(measured)
        if judgement.is_open_alarm and is_older and before is not None:
            # It outlasts a start, a reload, or other numbers of steps: its evidence is older.
            return replace(before, unit=units[-1].number, forecast=None)
        if metric in TIME_METRICS:
            return self._time_verdict(metric, judgement, measured, units, values[is_finite], kind)
        details = JudgementDetails(metric, kind, judgement, measured, units[-1].number)
        forecast = self._forecast(metric, judgement, measured, kind)
        if passing is not None and judgement.state not in QUIET:
            return verdict_on_rise(details, passing, forecast)
        return verdict_event(
            details, self._explanation(metric, judgement, counters, measured, kind), forecast
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
        is_quiet = judgement.state not in EXPLAINED and kind not in COUNTED_WITHIN
        if metric == "ram" and is_quiet:
            return forecast_by_others(self._units, units, kind)
        return None

    def _time_verdict(
        self,
        metric: VerdictMetric,
        judgement: Judgement,
        measured: list[Unit],
        units: list[Unit],
        values: Floats,
        kind: UnitKind,
    ) -> Verdict:
        key: tuple[UnitKind, VerdictMetric] = (kind, metric)
        before = self._time_alarms.get(key, ())
        timed = [unit for unit in units if math.isfinite(unit.wall_s)]
        is_quiet = metric == "epoch_time" and judgement.state in QUIET
        is_uneven = is_quiet and are_uneven(measured, timed)
        if is_uneven:
            measured = timed
            judgement, alarms = judge_uneven(measured, before)
        else:
            measured = steps_alone(measured) if metric == "step_time" else measured
            judgement, alarms = judge_time(metric, judgement, values, measured, before)
        self._time_alarms[key] = alarms
        judgement = self._after_slowdown(metric, judgement, len(measured))
        verdict = self._verdict_on_time(metric, judgement, measured, units, kind, alarms)
        is_open = is_uneven and verdict.state == "measuring"
        return replace(verdict, why_not=STEPS_DIFFER) if is_open else verdict

    def _verdict_on_time(
        self,
        metric: VerdictMetric,
        judgement: Judgement,
        measured: list[Unit],
        units: list[Unit],
        kind: UnitKind,
        alarms: Sequence[TimeAlarm],
    ) -> Verdict:
        growth = judgement.growth
        counted: GrowthExplanation | None = None
        traced: GrowthExplanation | None = None
        kept: tuple[CounterGrowth, ...] = ()
        if judgement.state in EXPLAINED and growth is not None:
            traced, kept = self._counted(growth, measured, units)
            counted = None if comes_first(growth, alarms) else traced
            counted = counted or explain_pressure(growth, measured)
        explained = explain_time(metric, judgement, measured, kind, alarms)
        details = JudgementDetails(metric, kind, judgement, measured, units[-1].number)
        cause, part = explained or (None, None)
        explanation = counted or with_traces(cause, part.name if part else "", traced)
        if explanation is not None:
            explanation = replaced(explanation, because=(*explanation.because, *kept))
        verdict = verdict_event(details, explanation, None)
        if part is not None:
            verdict = replace(verdict, where=part.name, where_part=part.share)
        if growth is not None and growth.slope is None and judgement.state in ALARMED:
            first = measured[growth.first]
            verdict = replace(verdict, since=first.number, from_s=first.start_s, rise=growth.rise)
        return replace(verdict, slower_parts=slower_parts(metric, alarms, measured, kind))

    def _after_slowdown(
        self, metric: VerdictMetric, judgement: Judgement, n_units: int
    ) -> Judgement:
        """Cleared instead of quiet where an alarm was reported and is over, as for memory.

        The alarm may have been of one part: the trend of the whole knows nothing of it.
        """
        if judgement.is_open_alarm:
            self._slower.add(metric)
        if judgement.state not in QUIET or n_units < MIN_UNITS:
            return judgement
        newest = self._newest.get(metric)
        was_cleared = newest is not None and newest.state == "cleared"
        if metric not in self._slower and not was_cleared:
            return judgement
        self._slower.discard(metric)
        return replaced(judgement, state=GrowthState.CLEARED)

    def _counted(
        self, growth: Growth, measured: list[Unit], units: list[Unit]
    ) -> tuple[GrowthExplanation | None, tuple[CounterGrowth, ...]]:
        """Counted cause of slower units, if there is one, and kept objects that grew with them."""
        is_used = np.isin([unit.number for unit in units], [unit.number for unit in measured])
        counters = cut(counters_of("step_time", units), is_used)
        if growth.slope is None:  # nothing that is kept grows as a jump does
            counters = [each for each in counters if each.kind not in KEPT]
        found = [one for each in counters if (one := counter_growth(each, growth))]
        kept = tuple(one for one in found if one.kind in KEPT)[:_MOST_KEPT]
        is_per_fit = self._unit_kind is UnitKind.FIT
        return explain_slowdown(found, units[-1].changed, is_per_fit=is_per_fit), kept

    def _judgement_after(
        self,
        key: tuple[UnitKind, VerdictMetric],
        values: Floats,
        counters: list[Counter],
        n_fresh: int,
        near_units: float,
    ) -> Judgement:
        """The judgement after each of the newest units in turn."""
        judgement = self._judgements.get(key, Judgement())
        is_finite = np.isfinite(values)
        for last in range(len(values) - n_fresh, len(values)):
            if is_finite[last]:
                is_used = is_finite[: last + 1]
                judgement = _next(
                    key,
                    judgement,
                    values[: last + 1][is_used],
                    cut(counters, is_used),
                    self._room(key[1], float(values[last])),
                    near_units,
                )
        return judgement

    def _cache_fill(
        self, metric: VerdictMetric, judgement: Judgement, units: list[Unit], kind: UnitKind
    ) -> CacheFill | None:
        """Fill level of the fit's data cache, if it explains the rise and has room; else None.

        It does not explain traces, compiled code and objects that the script keeps, and no growth
        above twice its bytes.
        """
        plan = self._units.plan
        growth = judgement.growth
        is_of_fit = metric in _WITHIN and kind in {UnitKind.EPOCH, UnitKind.STEP}
        if not is_of_fit or plan.cache_steps is None or growth is None:
            return None
        steps_done = plan.steps_ended + (units[-1].number if kind is UnitKind.STEP else 0)
        is_counted = any(one.kind in CODE_COUNTERS | KEPT for one in judgement.grew_with)
        if steps_done >= plan.cache_steps or judgement.state not in EXPLAINED or is_counted:
            return None
        if plan.cache_bytes is not None and growth.slope is not None:
            a_step = plan.cache_bytes / plan.cache_steps
            steps = spacing(units) * (1 if kind is UnitKind.STEP else plan.steps or 1)
            room = self._room(metric, units[-1].high.get(metric, math.nan))
            left = a_step * (plan.cache_steps - steps_done)
            if growth.slope.middle > _TIMES_ITS_BYTES * a_step * steps:
                return None
            if room is not None and left > room:
                return None
        return CacheFill(steps_done, plan.cache_steps, plan.cache_bytes)

    def _passing(
        self,
        key: tuple[UnitKind, VerdictMetric],
        judgement: Judgement,
        counters: list[Counter],
        units: list[Unit],
    ) -> Passing | None:
        """Places that hold a limited number of objects, if they explain a rise and have room.

        Malloc's arenas, or garbage, if they explain one that was not yet called growing.
        """
        kind, metric = key
        growth = judgement.growth
        if metric not in _WITHIN or judgement.state not in EXPLAINED or growth is None:
            return None
        is_measured = np.array([metric in unit.low for unit in units])
        measured = [unit for unit in units if metric in unit.low]
        counters = cut(counters, is_measured)
        room = self._room(metric, units[-1].high.get(metric, math.nan))
        memory = np.array([unit.low[metric] for unit in measured])
        filling = filling_places(growth, judgement.grew_with, counters, room, memory)
        if filling is not None:
            return filling
        is_new = not self._judgements.get(key, Judgement()).is_open_alarm
        if metric != "ram" or kind in COUNTED_WITHIN or not is_new:
            return None
        grew_with = [
            *judgement.grew_with,
            *kept_growth(counters, growth, share=_NOT_GARBAGE),
            *kept_since_start(counters, growth, share=_NOT_GARBAGE),
        ]
        fill = arenas_that_fill(growth, grew_with, measured, room)
        return fill or uncollected_growth(grew_with, measured, room)

    def _capped(self, metric: VerdictMetric, judgement: Judgement, units: list[Unit]) -> Judgement:
        """Treat a rise in the first epoch of several as data that may be kept once.

        It is called growing then only where it would fill the room before the epoch ends.
        """
        plan = self._units.plan
        growth = judgement.growth
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
        """Keep alarms found by other units: they are judged again from here."""
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
        measured: list[Unit],
        kind: UnitKind,
    ) -> GrowthExplanation | None:
        growth = judgement.growth
        if judgement.state not in EXPLAINED or growth is None:
            return self._of_earlier_rise(metric, judgement, counters, measured, kind)
        if metric in COUNT_RULES:
            tables = tuple(self._units.named.get(metric, ()))
            uses_torch = self._units.uses_torch
            return explain_open_count(metric, judgement, measured, tables, uses_torch=uses_torch)
        grew_with = list(judgement.grew_with)
        if judgement.state is GrowthState.RISING or not growth.is_growing:
            # Not alarmed yet, or since bytes were added evenly: what is kept is not in it.
            grew_with = with_newest_kept(grew_with, kept_growth(counters, growth))
        if judgement.state is GrowthState.RISING and not grew_with:
            return None  # it is too early to look for what was not counted
        diagnosed = self._diagnoses.found(growth, kind)
        if metric == "ram" and growth.is_growing:
            grew_with += diagnosed.lines
        found = explain_growth(
            growth,
            grew_with,
            changed=measured[-1].changed,
            is_per_fit=self._unit_kind is UnitKind.FIT,
            is_compared=diagnosed.is_native,
        )
        if found is None or (kind in COUNTED_WITHIN and found.cause is Cause.UNKNOWN):
            return None  # most is counted between epochs only
        found = with_diagnosis(found, diagnosed)
        if metric == "ram":
            found = with_resources(found, growth, measured, kind, self._units.named)
            is_alarmed = judgement.state in ALARMED and growth.is_growing
            found = with_partly_kept(found, growth, counters) if is_alarmed else found
        is_refuted = self._tried.was_in_vain("collect", metric, Cause.COLLECTOR_OFF)
        return found if is_refuted else with_idle_collector(found, growth, measured)

    def _of_earlier_rise(
        self,
        metric: VerdictMetric,
        judgement: Judgement,
        counters: list[Counter],
        units: list[Unit],
        kind: UnitKind,
    ) -> GrowthExplanation | None:
        """Place that was emptied, is full or has stopped growing.

        Else the cache of the first epoch, or None.
        """
        lows = [unit.low[metric] for unit in units if metric in unit.low]
        full = self._filled(kind).full_place(metric)
        is_over = judgement.state is GrowthState.CLEARED
        found = explain_end(full, counters, self._newest.get(metric), lows, is_over=is_over)
        return found or self._of_first_epoch(metric)

    def _of_first_epoch(self, metric: VerdictMetric) -> GrowthExplanation | None:
        if metric != "ram":
            return None
        epochs = self._units.completed[UnitKind.EPOCH]
        later = [unit.low["ram"] for unit in islice(epochs, 1, _LATER + 1) if "ram" in unit.low]
        return explain_first_unit(self._units.epoch_samples.found(later))


def _next(
    key: tuple[UnitKind, VerdictMetric],
    before: Judgement,
    values: Floats,
    counters: list[Counter],
    room: float | None,
    near_units: float,
) -> Judgement:
    kind, metric = key
    if metric in TIME_METRICS:
        return next_slowdown_judgement(before, values)
    if metric in COUNT_RULES:
        return next_count_judgement(before, values, COUNT_RULES[metric], room, near_units)
    floor = GRAPH_FLOOR if metric == "graph" else RAM_FLOOR
    is_whole = kind is not UnitKind.STEP
    return next_judgement(before, values, counters, floor=floor, room=room, is_whole=is_whole)
