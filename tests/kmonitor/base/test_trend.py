import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmonitor.base.trend import MAX_POINTS, median, theil_sen_interval, theil_sen_slope

NUMBERS = st.floats(-1e6, 1e6)


def test_published_example():
    """Source: R package statpsych 2.0, `ci.theil`, after Hollander and Wolfe 1999: 0.5."""
    y = np.array([21, 4, 9, 12, 35, 18, 10, 22, 24, 1, 6, 8, 13, 16, 19], np.float64)
    x = np.array([67, 28, 30, 28, 52, 40, 25, 37, 44, 10, 14, 20, 28, 40, 51], np.float64)

    assert theil_sen_slope(x, y) == 0.5


def test_worked_by_hand_with_several_values_at_one_moment():
    """24 slopes, for pairs of one moment do not count.

    Sorted: -8 0 0 0 0.5 3.3 4 4.5 4.5 4.75 5 5 | 6 6 6.3 7.5 8 9 9 10 10 10 18 20: median 5.5.
    """
    period = np.array([1, 1, 1, 2, 3, 3, 4, 5], np.float64)
    value = np.array([10, 22, 21, 30, 22, 30, 40, 40], np.float64)

    assert theil_sen_slope(period, value) == 5.5


def test_worked_by_hand_with_one_wild_point():
    """Slopes 1, 1, 1 without the last point; 97, 48.5 + .., all larger, with it.

    Points (0,0) (1,1) (2,2) (3,99): pairs 1, 1, 33, 1, 49, 97; median (1 + 33) / 2 = 17.
    With (4,4): 1, 1, 33, 1, 1, 49, 1, 97, 1, -95; sorted the 5th and 6th are 1 and 1.
    """
    x, y = np.arange(4.0), np.array([0.0, 1.0, 2.0, 99.0])

    assert theil_sen_slope(x, y) == 17.0
    assert theil_sen_slope(np.arange(5.0), np.append(y, 4.0)) == 1.0


@given(slope=NUMBERS, start=NUMBERS, n=st.integers(3, 60))
def test_straight_line_gives_its_slope(slope: float, start: float, n: int):
    x = np.arange(n, dtype=np.float64)
    found = theil_sen_slope(x, start + slope * x)

    assert found == pytest.approx(slope, rel=1e-6, abs=1e-6)


@given(y=st.lists(NUMBERS, min_size=3, max_size=40), factor=st.floats(0.5, 100.0))
def test_scale_carries_over(y: list[float], factor: float):
    x, values = np.arange(len(y), dtype=np.float64), np.array(y)
    one, scaled = theil_sen_slope(x, values), theil_sen_slope(x, values * factor)

    assert one is not None
    assert scaled == pytest.approx(one * factor, rel=1e-6, abs=1e-6)


def test_a_quarter_of_wild_points_moves_it_little():
    rng = np.random.default_rng(4)
    x = np.arange(200.0)
    y = 2.0 * x + rng.normal(size=200)
    y[rng.choice(200, 50, replace=False)] = 1e6

    assert theil_sen_slope(x, y) == pytest.approx(2.0, abs=0.5)


def test_gaps_are_left_out():
    y = np.array([0.0, np.nan, 4.0, 6.0, np.inf])

    assert theil_sen_slope(np.arange(5.0), y) == 2.0


def test_too_few_points_or_one_moment_have_no_slope():
    assert theil_sen_slope(np.arange(2.0), np.arange(2.0)) is None
    assert theil_sen_slope(np.full(5, 3.0), np.arange(5.0)) is None
    assert theil_sen_slope(np.empty(0), np.empty(0)) is None


def test_long_series_is_thinned_and_keeps_its_slope():
    x = np.arange(20.0 * MAX_POINTS)

    assert theil_sen_slope(x, 3.0 * x + 1.0) == pytest.approx(3.0)


def test_interval_worked_by_hand():
    """Squares of 0 .. 9: 45 slopes i + j; sqrt(10 * 9 * 25 / 18) = 11.18, times 1.96: 21.9.

    Ranks (45 - 21.9) / 2 = 11.5 down to 11 and (45 + 21.9) / 2 + 1 = 34.5 up to 35. Sums of two
    of 0 .. 9, sorted: 1 2 3 3 4 4 5 5 5 6 6 ... by symmetry around 9: the 11th is 6, the 35th 12.
    """
    x = np.arange(10.0)
    slope = theil_sen_interval(x, x**2)

    assert slope is not None
    assert (slope.low, slope.middle, slope.high) == (6.0, 9.0, 12.0)


@given(y=st.lists(NUMBERS, min_size=3, max_size=30), confidence=st.floats(0.5, 0.999))
def test_interval_holds_its_middle_and_widens_with_confidence(y: list[float], confidence: float):
    x, values = np.arange(len(y), dtype=np.float64), np.array(y)
    narrow = theil_sen_interval(x, values, confidence=confidence / 2)
    wide = theil_sen_interval(x, values, confidence=confidence)

    assert narrow is not None
    assert wide is not None
    assert wide.middle == theil_sen_slope(x, values)
    assert wide.low <= narrow.low <= narrow.middle <= narrow.high <= wide.high


def test_interval_holds_the_true_slope_as_often_as_it_says():
    rng, x = np.random.default_rng(6), np.arange(20.0)
    found = [theil_sen_interval(x, 2.0 * x + rng.normal(size=20)) for _ in range(300)]

    held = sum(slope is not None and slope.low <= 2.0 <= slope.high for slope in found)
    assert held / 300 >= 0.93


def test_too_few_points_have_no_interval():
    assert theil_sen_interval(np.arange(2.0), np.arange(2.0)) is None


@pytest.mark.parametrize("values", [[3.0], [2.0, 1.0], [5.0, 1.0, 3.0], [4.0, 1.0, 3.0, 2.0]])
def test_median_is_that_of_numpy(values: list[float]):
    assert median(values) == median(np.array(values)) == np.median(values)


def test_median_of_no_value_and_of_unknown_ones_is_unknown():
    assert np.isnan(median([]))
    assert np.isnan(median([1.0, np.nan, 3.0]))
