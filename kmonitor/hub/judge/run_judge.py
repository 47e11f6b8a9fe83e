"""One run's verdicts: kept from unit to unit, and told when they turn or their figures change."""

from collections.abc import Mapping
from itertools import islice
from typing import Final

import msgspec
import numpy as np

from kmonitor.hub.judge.causes import (
    Diagnosis,
    diagnose,
    of_first_unit,
    slowed_by,
)
from kmonitor.hub.judge.counters import Counter, counter_growth
from kmonitor.hub.judge.detectors import ALARMED, Per, next_verdict, unit_of
from kmonitor.hub.judge.detectors import Verdict as Judgement
from kmonitor.hub.judge.growth import RAM_FLOOR, Floor
from kmonitor.hub.judge.limit_ahead import forecast_of
from kmonitor.hub.judge.slowdown import next_slowdown
from kmonitor.hub.judge.unit_values import Floats, allocation_growth, counters_of, cut, values_of
from kmonitor.hub.judge.units import RunUnits, Unit
from kmonitor.hub.judge.verdict_events import Judged, differs, state_of, turns, verdict_event
from kmonitor_agent.wire.messages.events import Event, Verdict
from kmonitor_agent.wire.messages.verdict_events import VERDICT_METRICS, VerdictMetric

GRAPH_FLOOR: Final = Floor(50.0, 0.02)
"""Operations: the smallest traced step has more."""

_LATER: Final = 8
"""So many epochs tell whether what the first one took is kept, and no more is taken."""

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
        self._per = Per.EPOCH
        self._has_judged = False
        self._verdicts: dict[VerdictMetric, Judgement] = {}
        self._stored: dict[VerdictMetric, Verdict] = {}
        self._now: dict[VerdictMetric, Verdict] = {}

    def read(self, t_s: float, event: Event) -> None:
        """Take the next event of the run.

        Args:
            t_s: Its run time, seconds.
            event: Of a kind in `run_units.KINDS`.
        """
        if not isinstance(event, Verdict):
            self._units.add(t_s, event)
        elif not self._has_judged:
            # Of a hub before this one: an alarm outlives a restart of the hub.
            self._stored[event.metric] = self._now[event.metric] = event
            self._verdicts[event.metric] = Judgement(state_of(event.state))

    def read_samples(self, t_s: Floats, columns: Mapping[str, Floats]) -> None:
        """Take the run's next samples; as of `RunUnits.add_samples`."""
        self._units.add_samples(t_s, columns)

    def judge(self) -> list[Verdict]:
        """Judge the units that were completed since; the verdicts that are to be stored."""
        self._has_judged = True
        per = unit_of(self._units.fits_ended)
        if per is not self._per:
            self._per = per
            self._verdicts.clear()
        n_fresh = min(self._units.take_fresh(per), _MOST_FRESH)
        if not n_fresh:
            return []
        new: list[Verdict] = []
        units = list(self._units.done[per])
        for metric in VERDICT_METRICS:
            told = self._judge(metric, units, n_fresh)
            if told is None:
                continue
            self._now[metric] = told
            before = self._stored.get(metric)
            if differs(before, told):
                turned = turns(before, told)
                self._stored[metric] = msgspec.structs.replace(told, turned=turned)
                new.append(self._stored[metric])
        return new

    def now(self) -> list[Verdict]:
        """The newest verdict of each metric that was measured."""
        return [self._now[metric] for metric in VERDICT_METRICS if metric in self._now]

    def _judge(self, metric: VerdictMetric, units: list[Unit], n_fresh: int) -> Verdict | None:
        values = values_of(metric, units, self._per)
        is_there = np.isfinite(values)
        if not is_there.any():
            return None
        verdict = self._verdicts.get(metric, Judgement())
        counters = counters_of(metric, units)
        for last in range(len(units) - n_fresh, len(units)):
            if is_there[last]:
                kept = is_there[: last + 1]
                verdict = _next(metric, verdict, values[: last + 1][kept], cut(counters, kept))
        self._verdicts[metric] = verdict
        measured = [unit for unit, there in zip(units, is_there, strict=True) if there]
        growth, before = verdict.growth, self._now.get(metric)
        is_older = growth is None or growth.last >= len(measured)
        if verdict.state in ALARMED and is_older and before is not None:
            # It stands over a start or reload: its evidence is that of before.
            return msgspec.structs.replace(before, unit=units[-1].number, forecast=None)
        judged = Judged(metric, self._per, verdict, measured, units[-1].number)
        forecast = None
        if verdict.state in ALARMED:
            forecast = forecast_of(metric, self._units, measured, self._per)
        found = self._diagnosis(metric, verdict, counters, units[-1])
        return verdict_event(judged, found, forecast)

    def _diagnosis(
        self, metric: VerdictMetric, verdict: Judgement, counters: list[Counter], newest: Unit
    ) -> Diagnosis | None:
        growth = verdict.growth
        if verdict.state not in ALARMED or growth is None:
            return self._of_first_epoch(metric)
        is_per_fit = self._per is Per.FIT
        if metric == "step_time":
            # Time leaks nothing, and is never suspected to: what grew with it is looked up here.
            grown = (counter_growth(counter, growth) for counter in counters)
            found = [one for one in grown if one is not None]
            return slowed_by(found, newest.changed, is_per_fit=is_per_fit)
        grew_with = list(verdict.grew_with)
        if metric == "ram":
            grew_with += allocation_growth(self._units.allocated, growth)
        return diagnose(
            growth,
            grew_with,
            changed=newest.changed,
            is_per_fit=is_per_fit,
            is_compared=self._units.allocated is not None,
        )

    def _of_first_epoch(self, metric: VerdictMetric) -> Diagnosis | None:
        if metric != "ram":
            return None
        epochs = self._units.done[Per.EPOCH]
        later = [unit.low["ram"] for unit in islice(epochs, 1, _LATER + 1) if "ram" in unit.low]
        return of_first_unit(self._units.first_epoch.found(later))


def _next(
    metric: VerdictMetric, before: Judgement, values: Floats, counters: list[Counter]
) -> Judgement:
    if metric == "step_time":
        return next_slowdown(before, values)
    floor = GRAPH_FLOOR if metric == "graph" else RAM_FLOOR
    return next_verdict(before, values, counters, floor=floor)
