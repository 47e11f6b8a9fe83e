import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmonitor.hub.judge.statistics import block_width, lower_envelope, noise_of

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


def test_blocks_end_with_the_last_value():
    assert lower_envelope(np.array([9.0, 5.0, 4.0, 8.0, 7.0]), 2).tolist() == [4.0, 7.0]


@settings(max_examples=30)
@given(values=NUMBERS, width=st.integers(1, 8))
def test_envelope_lies_below(values: list[float], width: int):
    y = np.array(values)
    found = lower_envelope(y, width)

    assert len(found) == len(y) // width
    kept = y[len(y) - len(found) * width :]
    assert (np.repeat(found, width) <= kept).all()
    assert np.isin(found, y).all()


def test_more_values_have_wider_blocks():
    assert [block_width(n) for n in (7, 15, 16, 24, 60, 120, 200)] == [1, 1, 2, 3, 4, 3, 5]


def test_from_seven_values_on_a_line_has_blocks_enough_for_the_trend_test():
    assert all(n // block_width(n) >= 7 for n in range(7, 401))


def test_noise_worked_by_hand():
    """Steps 2 -1 3 0: median 1, deviations 1 2 2 1, median 1.5; 1.4826 * 1.5 / sqrt 2 = 1.5725."""
    assert noise_of(np.array([0.0, 2.0, 1.0, 4.0, 4.0])) == pytest.approx(1.5725, abs=1e-4)


def test_noise_of_a_line_and_of_one_value_is_nothing():
    assert noise_of(np.arange(0.0, 30.0, 3.0)) == 0.0
    assert noise_of(np.array([4.0])) == 0.0


def test_noise_is_that_of_normal_values_in_spite_of_wild_ones():
    rng = np.random.default_rng(2)
    values = rng.normal(0.0, 3.0, 400)
    values[::40] += 500.0

    assert noise_of(values) == pytest.approx(3.0, rel=0.25)
