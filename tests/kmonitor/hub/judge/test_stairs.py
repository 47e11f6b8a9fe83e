"""Memory that rises in even jumps, as with a callback of each n-th epoch."""

from collections.abc import Iterator

import numpy as np
import pytest

from kmonitor.hub.judge.statistics import spread_stairs
from kmonitor_agent.wire.messages.events import Event, FitStarted, Verdict
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES
from tests.support.growing_run import MIB, epoch_with, ram_verdicts


def run(levels: np.ndarray) -> Iterator[Event]:
    """A fit whose epochs end with these levels of memory, MiB."""
    yield FitStarted(t_s=0.0, fit=1, model="net", batch_size=32)
    for epoch, level in enumerate(levels):
        yield from epoch_with(epoch, float(level), ram_of_mib=16_000.0)


def stairs(gap: int, height: float, n: int = 45, noise: float = 0.1) -> np.ndarray:
    """Levels that rise by `height` each `gap` epochs, MiB."""
    rng = np.random.default_rng(gap)
    return 250.0 + height * (np.arange(n) // gap) + noise * rng.standard_normal(n)


def alarms(verdicts: list[Verdict]) -> list[Verdict]:
    return [one for one in verdicts if one.state in ALARMED_STATES]


@pytest.mark.parametrize("gap", [2, 3, 4, 5, 7, 10])
def test_even_stairs_are_growth_soon_after_their_third_jump_and_stay_so(gap: int):
    verdicts = ram_verdicts(run(stairs(gap, 4.0 * gap)))

    first = alarms(verdicts)[0]
    assert first.unit <= max(11, 4 * gap + 2)
    assert first.slope == pytest.approx(4.0 * MIB, rel=0.1)
    assert all(one.state in ALARMED_STATES for one in verdicts if one.unit >= first.unit)


def test_a_first_jump_that_is_higher_hides_no_even_ones_after_it():
    levels = stairs(5, 12.0)
    levels[6:] += 60.0

    first = alarms(ram_verdicts(run(levels)))[0]

    assert first.unit <= 22
    assert first.slope == pytest.approx(2.4 * MIB, rel=0.15)


def test_stairs_that_end_are_growth_no_longer():
    levels = stairs(5, 20.0)
    levels = np.concatenate((levels[:23], np.full(30, levels[22])))

    verdicts = ram_verdicts(run(levels))

    assert alarms(verdicts)
    assert verdicts[-1].state not in ALARMED_STATES


@pytest.mark.parametrize(
    "heights",
    [[8, 16, 32], [20, 6, 14], [20, 20]],
    ids=["each twice as high", "uneven", "two"],
)
def test_other_jumps_are_left_as_they_are(heights: list[int]):
    values = MIB * (250.0 + np.repeat(np.cumsum([0, *heights]), 5))

    assert spread_stairs(values, MIB) is values


def test_jumps_among_noise_are_left_as_they_are():
    values = MIB * stairs(5, 20.0, noise=8.0)

    assert spread_stairs(values, MIB) is values


def test_units_without_a_reading_stay_so():
    values = MIB * stairs(5, 20.0, noise=0.0)
    values[[0, 12, 13]] = np.nan

    spread = spread_stairs(values, MIB)

    assert np.isnan(spread[[0, 12, 13]]).all()
    assert spread[20] - spread[15] == pytest.approx(20.0 * MIB)
    assert spread[17] - spread[16] == pytest.approx(4.0 * MIB)
