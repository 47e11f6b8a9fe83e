"""A rate that changes: the verdict follows the growth of now, and its state does not flap."""

import numpy as np
import pytest

from kmonitor.hub.judge.counters import Counter, CounterKind, kept_growth
from kmonitor.hub.judge.detectors import GrowthState, Judgement, next_judgement
from kmonitor.hub.judge.forecast import forecast_limit
from kmonitor.hub.judge.growth import RAM_FLOOR, judge_growth
from kmonitor.hub.judge.slope_changes import last_change, since_change
from kmonitor_agent.wire.messages.events import KeptObjects

MIB = 2.0**20
FOLLOWED = 8
"""Units after a change by which the rate shown is the new one."""


def series(*parts: tuple[int, float], noise_mib: float = 0.0, seed: int = 0) -> np.ndarray:
    """Memory with so many units at a change per unit each, in MiB."""
    steps = np.concatenate([np.full(units, slope) for units, slope in parts])
    noise = np.random.default_rng(seed).normal(0.0, noise_mib, len(steps))
    return (300.0 + np.cumsum(steps) + noise) * MIB


def replay(values: np.ndarray, *counters: Counter) -> list[Judgement]:
    found = [Judgement()]
    for n in range(1, len(values) + 1):
        seen = [Counter(one.kind, one.values[:n], kept=one.kept) for one in counters]
        found.append(next_judgement(found[-1], values[:n], seen))
    return found


def rate_mib(judgement: Judgement) -> float:
    assert judgement.growth is not None
    assert judgement.growth.slope is not None
    return judgement.growth.slope.middle / MIB


@pytest.mark.parametrize("begins", [20, 60, 120])
@pytest.mark.parametrize("noise_mib", [0.0, 0.5])
def test_a_second_leak_is_in_the_rate_within_eight_units(begins: int, noise_mib: float):
    states = replay(series((begins, 2.0), (20, 12.0), noise_mib=noise_mib))
    later = states[begins + FOLLOWED :]

    assert all(rate_mib(one) == pytest.approx(12.0, rel=0.1) for one in later)
    assert {one.state for one in states[begins:]} == {GrowthState.GROWING}


def test_what_is_left_after_one_of_two_leaks_is_in_the_rate_within_eight_units():
    states = replay(series((20, 12.0), (30, 2.0), noise_mib=0.5))
    later = states[20 + FOLLOWED :]

    assert all(rate_mib(one) == pytest.approx(2.0, rel=0.25) for one in later)
    assert {one.state for one in later} == {GrowthState.SLOWING, GrowthState.GROWING}
    assert later[-1].state is GrowthState.GROWING


def test_growth_that_ends_after_a_change_is_cleared():
    states = replay(series((20, 12.0), (20, 2.0), (20, 0.0), noise_mib=0.2))

    assert states[-1].state is GrowthState.CLEARED


def test_growth_of_both_leaks_since_the_second_names_both_largest_first():
    old = np.cumsum(np.full(40, 2.0)) * MIB
    new = np.cumsum(np.repeat((0.0, 10.0), 20)) * MIB
    counters = [
        Counter(CounterKind.KEPT_BYTES, old, kept=kept("maps")),
        Counter(CounterKind.KEPT_BYTES, new, kept=kept("GRADS")),
    ]
    last = replay(series((20, 2.0), (20, 12.0)), *counters)[-1]
    named = [(one.kept.place, one.per_unit.middle / MIB) for one in last.grew_with if one.kept]

    assert named == [("GRADS", pytest.approx(10.0)), ("maps", pytest.approx(2.0))]


def test_a_place_counted_once_since_a_change_is_still_named():
    counts = np.full(40, np.nan)
    counts[[10, 18, 26]] = np.array([20.0, 36.0, 110.0]) * MIB
    values = series((20, 2.0), (8, 12.0))
    growth = since_change(values, judge_growth(values, RAM_FLOOR), RAM_FLOOR)

    assert growth is not None
    found = kept_growth([Counter(CounterKind.KEPT_BYTES, counts, kept=kept("GRADS"))], growth)
    assert [one.per_unit.middle / MIB for one in found] == [pytest.approx(74.0 / 8.0)]


@pytest.mark.parametrize(
    "values",
    [
        series((40, 2.0)),
        series((40, 2.0), noise_mib=2.0),
        series((20, 2.0), (1, 60.0), (20, 2.0), noise_mib=0.3),
        (300.0 + 2.0 * np.arange(60) + 6.0 * (np.arange(60) % 12)) * MIB,
        series((20, 2.0), (20, 2.3)),
    ],
    ids=["line", "noise", "one jump", "saw-tooth", "hardly another"],
)
def test_what_is_no_lasting_change_is_not_followed(values: np.ndarray):
    assert all(last_change(values[:n], RAM_FLOOR) is None for n in range(1, len(values) + 1))


def test_lines_with_noise_are_hardly_ever_said_to_change():
    found = 0
    for seed in range(40):
        values = series((60, 3.0), noise_mib=3.0, seed=seed)
        found += sum(last_change(values[:n], RAM_FLOOR) is not None for n in range(20, 60, 4))

    assert found <= 4  # of 400


def test_the_end_is_forecast_by_the_growth_of_now():
    values = series((40, 2.0), (8, 12.0))
    forecast = forecast_limit(values, float(values[-1]) + 120.0 * MIB)

    assert forecast is not None
    assert forecast.units == pytest.approx(10.0, abs=0.5)


def kept(place: str) -> KeptObjects:
    return KeptObjects("numpy.ndarray", 40, 400.0 * MIB, "(4,)", "float32", "list", place)
