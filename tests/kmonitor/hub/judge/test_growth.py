import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmonitor.hub.judge.growth import (
    RAM_FLOOR,
    Floor,
    WhyNot,
    has_stopped,
    judge_growth,
    window_start,
)

MIB = 2.0**20
FLOOR = Floor(16.0, 0.005)


def noise(n: int, sigma: float = 1.0) -> np.ndarray:
    return np.random.default_rng(8).normal(0.0, sigma, n)


def test_of_fewer_than_ten_units_only_a_straight_line_grows():
    line = 1000.0 * np.arange(9.0)
    bent = line - 30.0 * np.arange(9.0) ** 2

    assert judge_growth(line, FLOOR).is_straight
    assert judge_growth(bent, FLOOR).why_not is WhyNot.TOO_FEW
    assert judge_growth(bent, FLOOR).rising is not None
    assert judge_growth(line[:5], FLOOR).why_not is WhyNot.TOO_FEW
    assert judge_growth(line[:3], FLOOR).slope is None
    assert judge_growth(np.empty(0), FLOOR).first == 0


@pytest.mark.parametrize("level", [0.0, 500.0, 3000.0])
@pytest.mark.parametrize("slope", [1.0, 3.0, 8.0, 50.0, 500.0])
def test_a_line_without_noise_grows_and_stays_so_whatever_the_number_of_units(
    slope: float, level: float
):
    """From the sixth unit on, or since its rise is above the floor."""
    grows = [
        judge_growth((level + slope * np.arange(float(n))) * MIB, RAM_FLOOR).is_growing
        for n in range(4, 401)
    ]
    first = grows.index(True)

    assert all(grows[first:])
    assert first + 4 <= max(6, 3 + np.ceil(max(6.0, 0.005 * (level + 100)) / slope) + 1)


@pytest.mark.parametrize("first", range(1, 9))
@pytest.mark.parametrize("table", [0.3, 1.0])
def test_what_a_dict_keeps_grows_though_its_table_doubles_now_and_then(first: int, table: float):
    """A table is as large as what it holds, or less; its doublings get rarer, as if it bent."""
    units = np.arange(first, first + 60.0)
    values = (300.0 + 3.3 * units + 3.3 * table * 2.0 ** np.ceil(np.log2(units))) * MIB
    grows = [judge_growth(values[:n], RAM_FLOOR).is_growing for n in range(11, 61)]

    assert all(grows)


def test_a_cache_that_takes_less_and_less_has_no_even_least():
    filled = 400.0 * (1.0 - np.exp(-np.arange(60.0) / 12.0)) * MIB

    assert not any(judge_growth(filled[:n], RAM_FLOOR).is_growing for n in range(11, 61))


@pytest.mark.parametrize("level", [300.0, 3000.0])
def test_a_faster_line_is_seen_no_later(level: float):
    def first(slope: float) -> int:
        for n in range(4, 60):
            if judge_growth((level + slope * np.arange(float(n))) * MIB, RAM_FLOOR).is_growing:
                return n
        return 60

    delays = [first(slope) for slope in (0.8, 1.0, 1.5, 2.0, 4.0, 8.0, 30.0)]

    assert delays == sorted(delays, reverse=True)


def test_what_lasts_is_rising_from_the_fourth_unit_on_and_what_bends_is_not():
    rising = judge_growth(np.array([0.0, 100.0, 112.0, 121.0, 133.0]), FLOOR).rising
    settles = judge_growth(np.array([0.0, 100.0, 190.0, 200.0, 201.0, 201.5, 202.0]), FLOOR)

    assert rising is not None
    assert rising.low > 0.0
    assert settles.rising is None
    assert judge_growth(np.array([0.0, 100.0, 112.0]), FLOOR).rising is None


def test_growth_has_stopped_when_the_last_units_add_less_than_a_third():
    assert has_stopped(np.array([0.0, 8.0, 16.0, 16.0, 16.0, 16.1, 16.0, 16.1]), 8.0)
    assert not has_stopped(8.0 * np.arange(10.0), 8.0)
    assert not has_stopped(5.0 * np.arange(10.0), 8.0)


def test_warm_up_is_left_out():
    """15% of the units, at least 3 and at most 15; and never more than the last 200."""
    assert [window_start(n) for n in (10, 20, 21, 60, 200, 300)] == [3, 3, 4, 9, 15, 100]


def test_a_line_grows_with_its_slope_and_window():
    growth = judge_growth(1000.0 + 5.0 * np.arange(40.0) + noise(40), FLOOR)

    assert growth.is_growing
    assert (growth.first, growth.last) == (6, 39)
    assert growth.slope is not None
    assert growth.slope.low < growth.slope.middle < growth.slope.high
    assert growth.slope.middle == pytest.approx(5.0, abs=0.3)
    assert growth.p_of_no_rise < 0.002


def test_rise_worked_by_hand():
    """34 units after the warm-up: 11 blocks of 3, 1 left out; envelope 7, 10, ... 37 times 5.

    Medians of the first and last fifth (2 blocks): 8.5 and 35.5: 27 * 5 = 135.
    """
    assert judge_growth(5.0 * np.arange(40.0), FLOOR).rise == 135.0


@pytest.mark.parametrize(
    ("values", "why_not"),
    [
        (1000.0 + noise(60), WhyNot.TOO_SMALL),
        (1000.0 + 0.1 * np.arange(60.0) + noise(60), WhyNot.TOO_SMALL),
        (1000.0 - 5.0 * np.arange(60.0), WhyNot.TOO_SMALL),
        (1e6 + 20.0 * np.arange(60.0), WhyNot.TOO_SMALL),
        (1000.0 + 5.0 * np.arange(60.0) + noise(60, 300.0), WhyNot.TOO_SMALL),
        (1000.0 + 300.0 * (np.arange(60) > 30) + noise(60), WhyNot.STEPS),
        (
            1000.0 + 200.0 * (np.arange(60) > 24) + 210.0 * (np.arange(60) > 42) + noise(60),
            WhyNot.STEPS,
        ),
        (1000.0 + 5.0 * np.minimum(np.arange(60.0), 42.0) + noise(60), WhyNot.STOPPED),
        (1000.0 + 400.0 * (1 - np.exp(-np.arange(60.0) / 50)) + noise(60), WhyNot.BENDING),
    ],
    ids=range(9),
)
def test_harmless_shapes_do_not_grow_and_it_is_said_why(values: np.ndarray, why_not: WhyNot):
    assert judge_growth(values, FLOOR).why_not is why_not


def test_growth_that_slows_or_wavers_is_not_growth():
    slowing = 1000.0 + 400.0 * (1 - np.exp(-np.arange(60.0) / 25)) + noise(60)
    zigzag = 1000.0 + np.tile([0.0, 100.0, 40.0, 80.0], 6)[:20] + 9.0 * np.arange(20.0)

    assert judge_growth(slowing, FLOOR).why_not is WhyNot.SLOWING
    assert judge_growth(zigzag, Floor(1.0, 0.0)).why_not is WhyNot.NO_TREND


def test_a_leak_behind_a_long_warm_up_is_seen_in_the_later_half():
    t = np.arange(50.0)
    growth = judge_growth(1000.0 + 500.0 * (1 - np.exp(-t / 6)) + 4.0 * t + noise(50), FLOOR)

    assert growth.is_growing
    assert growth.first == 25


@settings(deadline=None, max_examples=25)
@given(
    values=st.lists(st.floats(0.0, 1e12), min_size=0, max_size=250),
)
def test_any_values_are_judged(values: list[float]):
    growth = judge_growth(np.array(values), RAM_FLOOR)

    assert growth.is_growing == (growth.why_not is None)
    if growth.is_growing:
        assert growth.slope is not None
        assert growth.rise > 0.0


@settings(deadline=None, max_examples=25)
@given(n=st.integers(12, 220), slope=st.floats(4.0, 500.0), level=st.floats(0.0, 3000.0))
def test_every_clear_line_grows(n: int, slope: float, level: float):
    assert judge_growth(level + slope * np.arange(float(n)), FLOOR).is_growing


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), n=st.integers(10, 200))
def test_scale_of_values_and_floor_together_changes_nothing(seed: int, n: int):
    rng = np.random.default_rng(seed)
    values = 1000.0 + rng.uniform(0.0, 6.0) * np.arange(float(n)) + rng.normal(0.0, 4.0, n)
    one = judge_growth(values, FLOOR)
    scaled = judge_growth(values * 1024.0, Floor(16.0 * 1024.0, 0.005))

    assert one.why_not is scaled.why_not
