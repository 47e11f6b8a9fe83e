"""Replays verdicts and forecasts over simulated runs and counts what was right."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from kmonitor.hub.judge.causes import explain_growth
from kmonitor.hub.judge.counters import Counter
from kmonitor.hub.judge.detectors import ALARMED, GrowthState, Judgement, next_judgement
from kmonitor.hub.judge.forecast import forecast_limit
from tests.support.verdict_series import (
    MIB,
    Floats,
    Kind,
    LeakKind,
    Rng,
    SimulatedRun,
    StoppingKind,
    growth_that_stops,
)

UNITS = 100
FOUND_WITHIN = 50
SHOWN = 60
"""Units of a leaking run that are judged."""

FORECAST_AT = (30, 45, 60)
AHEAD = (2.0, 40.0)
"""Units of growth between the highest value so far and the limit."""

TO_COME = 120
CLEARS_WITHIN = 20


@dataclass
class Score:
    """Score of one kind of runs.

    Attributes:
        runs: Number of runs.
        alarms: Number of runs in which an alarm was raised.
        found: Leaks found within 50 units.
        delays: Units until the alarm.
        named: Causes named right, of `diagnosed`.
        forecasts: (covered, too late) of each.
        clears: Units from the end of growth to the end of the alarm; infinite if not at all.
    """

    runs: int = 0
    alarms: int = 0
    found: int = 0
    delays: list[int] = field(default_factory=list)
    named: int = 0
    diagnosed: int = 0
    forecasts: list[tuple[bool, bool]] = field(default_factory=list)
    clears: list[float] = field(default_factory=list)

    def add(self, other: "Score") -> None:
        """Add another kind's figures to these."""
        for name in ("runs", "alarms", "found", "named", "diagnosed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.delays += other.delays
        self.forecasts += other.forecasts
        self.clears += other.clears

    @property
    def covered(self) -> float:
        """Part of forecasts whose band held the truth."""
        return sum(covered for covered, _ in self.forecasts) / max(1, len(self.forecasts))

    @property
    def missed_early(self) -> float:
        """Part of forecasts where the limit was met before the earliest moment forecast."""
        return sum(early for _, early in self.forecasts) / max(1, len(self.forecasts))


def verdicts(run: SimulatedRun) -> Iterator[Judgement]:
    """After each unit, as a hub would request them."""
    verdict, starts = Judgement(), [*run.starts, len(run.values)]
    for start, end in pairwise(starts):
        values = run.values[start:end] * MIB
        for n in range(1, len(values) + 1):
            counters = [Counter(k, c[start : start + n]) for k, c in run.counters.items()]
            verdict = next_judgement(verdict, values[:n], counters)
            yield verdict


def score_harmless(kind: Kind, seeds: range) -> Score:
    """Number of runs of 100 units that alarm."""
    score = Score()
    for seed in seeds:
        run = kind(np.random.default_rng(seed), UNITS)
        score.runs += 1
        score.alarms += any(one.state in ALARMED for one in verdicts(run))
    return score


def score_leaking(kind: LeakKind, seeds: range, mib: tuple[float, float]) -> Score:
    """Found, delay, cause and forecasts of runs that grow by this many MiB a unit."""
    score = Score()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        per_unit = float(rng.uniform(*mib))
        run = kind(rng, SHOWN + TO_COME, per_unit)
        shown = SimulatedRun(
            run.values[:SHOWN], counters={k: c[:SHOWN] for k, c in run.counters.items()}
        )
        told = list(verdicts(shown))
        _score_one(score, run, told)
        for n in FORECAST_AT:
            if told[n - 1].state in ALARMED:
                score.forecasts += _forecast(run.values, n, per_unit, rng)
    return score


def _score_one(score: Score, run: SimulatedRun, told: list[Judgement]) -> None:
    score.runs += 1
    delay = next((n for n, one in enumerate(told, 1) if one.state in ALARMED), None)
    if delay is not None:
        score.alarms += 1
        score.found += delay <= FOUND_WITHIN
        score.delays.append(delay)
    suspected = next(
        (one for one in told[:FOUND_WITHIN] if one.state is GrowthState.SUSPECTED), None
    )
    if suspected is not None and suspected.growth is not None:
        named = explain_growth(suspected.growth, suspected.grew_with)
        score.diagnosed += 1
        score.named += named is not None and named.cause is run.cause


def _forecast(values: Floats, n: int, mib: float, rng: Rng) -> list[tuple[bool, bool]]:
    """(covered, missed early) for a limit some units of growth away; empty if it is not met."""
    # A run that is alive never took more than its limit.
    limit = float(values[:n].max() + mib * rng.uniform(*AHEAD))
    over = np.flatnonzero(values >= limit)
    if not len(over):
        return []
    forecast, met = forecast_limit(values[:n], limit), int(over[0]) - (n - 1)
    if forecast is None:
        return [(False, False)]
    # Met in the unit that ends at `met`: any time of it is right.
    is_early = met < forecast.earliest
    latest = math.inf if forecast.latest is None else forecast.latest
    return [(not is_early and met - 1 <= latest, is_early)]


def score_clearing(seeds: range, stopping: StoppingKind = growth_that_stops) -> Score:
    """Duration of alarms after growth ended."""
    score = Score()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        stop = int(rng.integers(25, 160))
        run = stopping(rng, stop + 60, stop)
        states = [one.state for one in verdicts(run)]
        score.runs += 1
        if states[stop - 1] in ALARMED:
            after = (n for n, state in enumerate(states[stop:], 1) if state not in ALARMED)
            score.clears.append(next(after, math.inf))
    return score


def upper_bound(k: int, n: int, confidence: float = 0.95) -> float:
    """One-sided upper bound of a rate seen k times of n. Source: Clopper and Pearson 1934."""
    low, high = k / n, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if _at_most(k, n, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def _at_most(k: int, n: int, p: float) -> float:
    if p >= 1.0:
        return float(k >= n)
    terms = (
        math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
        + (i * math.log(p) if i else 0.0) + (n - i) * math.log1p(-p)
        for i in range(k + 1)
    )  # fmt: skip
    return sum(math.exp(term) for term in terms)
