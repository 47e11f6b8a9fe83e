"""Smoothing: debiased, within what was measured, and gaps stay gaps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmonitor.ui.charts.arrangement import SMOOTHING_WEIGHTS
from kmonitor.ui.plots.thinning import smoothed

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)
WEIGHT = st.sampled_from(SMOOTHING_WEIGHTS)


def test_numbers_worked_by_hand():
    # m1 = 0.4 * 1, m2 = 0.6 * 0.4 + 0.4 * 2 = 1.04, m3 = 0.6 * 1.04 + 0.4 * 4 = 2.224;
    # divided by 1 - 0.6^n = 0.4, 0.64, 0.784.
    assert smoothed(np.array([1.0, 2.0, 4.0]), 0.6) == pytest.approx([1.0, 1.625, 2.836734694])


@given(VALUES, WEIGHT)
def test_every_point_lies_within_what_came_so_far(values: list[float], weight: float):
    result = smoothed(np.array(values), weight)

    lows, highs = np.minimum.accumulate(values), np.maximum.accumulate(values)
    grace = 1e-9 * (1.0 + np.abs(values).max())
    assert ((result >= lows - grace) & (result <= highs + grace)).all()


@given(st.floats(-1e6, 1e6), st.integers(1, 80), WEIGHT)
def test_what_does_not_change_is_not_changed(value: float, n: int, weight: float):
    assert smoothed(np.full(n, value), weight) == pytest.approx(np.full(n, value))


@given(VALUES, WEIGHT, st.sampled_from([math.nan, math.inf, -math.inf]), st.data())
def test_what_is_no_number_stays_and_changes_nothing_else(
    values: list[float], weight: float, odd: float, data: st.DataObject
):
    at = data.draw(st.integers(0, len(values)))
    with_odd = smoothed(np.array([*values[:at], odd, *values[at:]]), weight)

    assert np.array_equal(with_odd[at], odd, equal_nan=True)
    assert np.delete(with_odd, at) == pytest.approx(smoothed(np.array(values), weight))


@given(VALUES, WEIGHT, st.floats(-10.0, 10.0), st.floats(-1e3, 1e3))
def test_scale_and_offset_pass_through(
    values: list[float], weight: float, scale: float, offset: float
):
    y = np.array(values)

    assert smoothed(y * scale + offset, weight) == pytest.approx(
        smoothed(y, weight) * scale + offset, rel=1e-6, abs=1e-3
    )


def test_no_smoothing_is_the_values_in_an_array_of_their_own():
    y = np.array([3.0, math.nan, 1.0])

    assert np.array_equal(smoothed(y, 0.0), y, equal_nan=True)
    assert smoothed(y, 0.0) is not y
