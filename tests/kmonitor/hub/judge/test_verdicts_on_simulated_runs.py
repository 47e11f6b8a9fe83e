"""A short, seeded form of `tests/benchmarks/bench_verdicts.py`, which has the figures."""

import numpy as np
import pytest

from tests.support.verdict_scores import score_clearing, score_harmless, score_leaking, upper_bound
from tests.support.verdict_series import HARMLESS_DEV, HARMLESS_HELD_OUT, LEAKS_DEV, STOPS

HARMLESS = {**HARMLESS_DEV, **HARMLESS_HELD_OUT}


@pytest.mark.parametrize("kind", HARMLESS)
def test_harmless_runs_raise_no_alarm(kind: str):
    assert score_harmless(HARMLESS[kind], range(1, 2)).alarms == 0


@pytest.mark.parametrize("kind", LEAKS_DEV)
def test_leaks_are_found_and_their_causes_named(kind: str):
    score = score_leaking(LEAKS_DEV[kind], range(1, 2), (8.0, 30.0))

    assert score.found == 1
    assert score.named == 1


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("stops", 1),
        ("stops under a saw-tooth", 4),
        ("teeth end", 1),
        ("teeth go on, lows rise no longer", 8),
    ],
)
def test_alarms_clear_after_growth_has_stopped(kind: str, seed: int):
    clears = score_clearing(range(seed, seed + 1), STOPS[kind]).clears

    assert clears
    assert np.max(clears) <= 20


def test_upper_bound_of_nothing_seen_is_the_rule_of_three():
    """1 - 0.05 ** (1 / 100) = 0.02951; one of one says nothing."""
    assert upper_bound(0, 100) == pytest.approx(0.02951, abs=1e-4)
    assert upper_bound(1, 1) == pytest.approx(1.0)
