"""Accuracy of verdicts and forecasts on simulated runs, and the cost of a verdict.

Run alone: `python tests/benchmarks/bench_verdicts.py [first seed]`. Constants were chosen while
looking at the `dev` kinds with seeds below 1000; here both sets run with other seeds.
"""

import sys
import time
from statistics import median

import numpy as np

from kmonitor.hub.judge.counters import Counter, CounterKind
from kmonitor.hub.judge.detectors import GrowthState, Judgement, next_judgement
from kmonitor.hub.judge.forecast import forecast_limit
from tests.benchmarks.judging import Judge
from tests.support.verdict_scores import (
    CLEARS_WITHIN,
    Score,
    score_clearing,
    score_harmless,
    score_leaking,
    upper_bound,
)
from tests.support.verdict_series import (
    ENDS_BY_ITSELF,
    HARMLESS_DEV,
    HARMLESS_HELD_OUT,
    LEAKS_DEV,
    LEAKS_HELD_OUT,
    MIB,
    STOPS,
    Kind,
    LeakKind,
)

FIRST_SEED = 10_000
RUNS_HARMLESS = 30
RUNS_LEAKING = 20
RUNS_CLEARING = 60
FAST_MIB = (3.0, 30.0)
SLOW_MIB = (0.5, 3.0)

FALSE_ALARMS = 0.02
FOUND = 0.95
NAMED_KINDS = 5 / 6
COVERED = 0.85
MISSED_EARLY = 0.07
CLEARED = 0.95
COST_MS = 5.0


def main(first_seed: int) -> int:
    """Print all figures and give 1 if a bound is passed."""
    harmless, leaking, named = Score(), Score(), list[float]()
    sets = (("dev", HARMLESS_DEV, LEAKS_DEV), ("held out", HARMLESS_HELD_OUT, LEAKS_HELD_OUT))
    for name, harmless_kinds, leak_kinds in sets:
        harmless.add(harmless_table(name, harmless_kinds, first_seed))
        found, rates = leak_table(name, leak_kinds, first_seed)
        leaking.add(found)
        named += rates
    slow = Score()
    for kind in LEAKS_DEV.values():
        slow.add(score_leaking(kind, range(first_seed, first_seed + RUNS_LEAKING), SLOW_MIB))
    print(f"\nleaks of {SLOW_MIB} MiB a unit (no bound): found {slow.found} of {slow.runs}")
    for name, kind in ENDS_BY_ITSELF.items():
        score = score_harmless(kind, range(first_seed, first_seed + RUNS_HARMLESS))
        print(f"{name} (growth that ends later, no bound): {score.alarms} of {score.runs} alarm")
    return bounds(harmless, leaking, named, clearing_table(first_seed))


def harmless_table(name: str, kinds: dict[str, Kind], first_seed: int) -> Score:
    """Print alarms of each harmless kind and give the sum."""
    whole = Score()
    print(f"\n{name}: harmless, 100 units            runs  alarms")
    for kind, make in kinds.items():
        score = score_harmless(make, range(first_seed, first_seed + RUNS_HARMLESS))
        print(f"  {kind:36} {score.runs:6} {score.alarms:7}")
        whole.add(score)
    print(f"  all {whole.runs:39} {whole.alarms:7}  {rate_text(whole)}")
    return whole


def clearing_table(first_seed: int) -> Score:
    """Print how soon alarms end after each kind of growth stopped; the kind that clears worst."""
    scores = list[Score]()
    print(f"\n{'alarms after growth stopped':40} runs  within {CLEARS_WITHIN}  median  slowest")
    for name, kind in STOPS.items():
        score = score_clearing(range(first_seed, first_seed + RUNS_CLEARING), kind)
        print(
            f"  {name:36} {len(score.clears):6} {cleared(score):10.1%}"
            f" {median(score.clears):7.0f} {max(score.clears):8.0f}"
        )
        scores.append(score)
    return min(scores, key=cleared)


def cleared(score: Score) -> float:
    """Part of alarms that ended within the bound."""
    return sum(units <= CLEARS_WITHIN for units in score.clears) / len(score.clears)


def rate_text(score: Score) -> str:
    """Alarms a run with the upper bound."""
    upper = upper_bound(score.alarms, score.runs)
    return f"{score.alarms / score.runs:.2%} (95% upper bound {upper:.2%})"


def leak_table(
    name: str, kinds: dict[str, LeakKind], first_seed: int
) -> tuple[Score, list[float]]:
    """Print what was found of each leaking kind; the sum, and each kind's part named right."""
    whole, named = Score(), list[float]()
    print(f"\n{name}: leaks, {FAST_MIB} MiB a unit      runs  found  delay  named  covered  early")
    for kind, make in kinds.items():
        score = score_leaking(make, range(first_seed, first_seed + RUNS_LEAKING), FAST_MIB)
        print(leak_row(kind, score))
        whole.add(score)
        named.append(score.named / max(1, score.diagnosed))
    print(leak_row("all", whole))
    return whole, named


def leak_row(name: str, score: Score) -> str:
    """One line of the table."""
    return (
        f"  {name:36} {score.runs:6} {score.found:6} {median(score.delays or [0]):6.0f}"
        f" {score.named:3}/{score.diagnosed:3} {score.covered:7.0%} {score.missed_early:6.0%}"
    )


def bounds(harmless: Score, leaking: Score, named: list[float], clearing: Score) -> int:
    """Print each bound beside its figure; 1 if one is passed."""
    forecasts = len(leaking.forecasts)
    n_named = sum(rate > 0.5 for rate in named)
    figures = (
        ("harmless runs that alarm", harmless.alarms / harmless.runs, "<=", FALSE_ALARMS),
        ("leaks found within 50 units", leaking.found / leaking.runs, ">=", FOUND),
        (f"kinds of leaks ({len(named)}) named right", n_named / len(named), ">=", NAMED_KINDS),
        (f"forecasts ({forecasts}) that hold", leaking.covered, ">=", COVERED),
        ("limits met before told", leaking.missed_early, "<=", MISSED_EARLY),
        ("alarms cleared within 20 units (worst kind)", cleared(clearing), ">=", CLEARED),
    )
    print(f"\nharmless: {rate_text(harmless)}")
    status = 0
    for name, value, sign, bound in figures:
        holds = value <= bound if sign == "<=" else value >= bound
        status |= not holds
        print(f"  {name:44} {value:8.3f} {sign} {bound:.3f}  {'ok' if holds else 'PASSED'}")
    with Judge() as judge:
        judge.add("verdict and forecast, 200 units", cost_ms(), COST_MS, "ms")
    return int(status) | judge.status


def cost_ms(n: int = 200) -> float:
    """Slowest of 20 verdicts with forecast on this many units of a leak, milliseconds of CPU."""
    rng = np.random.default_rng(0)
    values = (1000.0 + 5.0 * np.arange(n) + rng.normal(0.0, 3.0, n)) * MIB
    counters = [
        Counter(kind, 1000.0 + np.cumsum(rng.poisson(3.0, n)).astype(np.float64))
        for kind in CounterKind
    ]
    verdict, taken = Judgement(GrowthState.GROWING), list[float]()
    for _ in range(20):
        began_s = time.process_time()
        next_judgement(verdict, values, counters)
        forecast_limit(values, 4000.0 * MIB)
        taken.append(1000 * (time.process_time() - began_s))
    return sorted(taken)[-2]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else FIRST_SEED))
