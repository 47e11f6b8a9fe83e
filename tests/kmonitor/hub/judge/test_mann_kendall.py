import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmonitor.hub.judge.statistics import p_of_no_rise

NUMBERS = st.lists(st.integers(-1000, 1000).map(float), min_size=4, max_size=40)


def test_worked_by_hand_without_ties():
    """1 3 2 4 5: nine pairs rise, one falls: S = 8; variance 5 * 4 * 15 / 18 = 16.667.

    z = 7 / 4.0825 = 1.7146, upper tail 0.0432. Five points have lags 1 and 2, and ranks of what
    is left of the line (0 1 -1 0 0 around slope 1: ranks 3 5 1 3 3) correlate -0.5 and 0, which
    is below 1.96 / sqrt 5.
    """
    assert p_of_no_rise(np.array([1.0, 3.0, 2.0, 4.0, 5.0])) == pytest.approx(0.0432, abs=1e-4)


def test_worked_by_hand_with_ties():
    """1 1 2 3: five pairs rise, one is equal: S = 5; (4 * 3 * 13 - 2 * 1 * 9) / 18 = 7.667.

    z = 4 / 2.7689 = 1.4446, upper tail 0.0743.
    """
    assert p_of_no_rise(np.array([1.0, 1.0, 2.0, 3.0])) == pytest.approx(0.0743, abs=1e-4)


def test_a_straight_line_is_not_widened():
    n = 12
    z = (n * (n - 1) / 2 - 1) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)

    assert p_of_no_rise(np.arange(float(n))) == pytest.approx(0.5 * math.erfc(z / math.sqrt(2)))


def test_values_that_follow_their_neighbours_prove_less():
    """Two long waves over a slight rise: the rest's ranks follow each other."""
    t = np.arange(40.0)
    waves = np.sin(t / 3.2) + 0.06 * t
    s = sum(np.sign(waves[j] - waves[i]) for j in range(40) for i in range(j))
    as_if_independent = 0.5 * math.erfc((s - 1) / math.sqrt(2 * 40 * 39 * 85 / 18))

    assert p_of_no_rise(waves) > 10 * as_if_independent


def test_too_few_falling_or_equal_values_show_no_rise():
    assert p_of_no_rise(np.array([1.0, 2.0, 3.0])) == 1.0
    assert p_of_no_rise(np.arange(10.0)[::-1]) == 1.0
    assert p_of_no_rise(np.ones(10)) == 1.0


@settings(max_examples=30)
@given(values=NUMBERS)
def test_it_is_a_probability(values: list[float]):
    assert 0.0 <= p_of_no_rise(np.array(values)) <= 1.0


@settings(max_examples=30)
@given(values=NUMBERS, factor=st.sampled_from([0.5, 2.0, 1024.0]))
def test_scale_and_level_say_nothing(values: list[float], factor: float):
    y = np.array(values)

    assert p_of_no_rise(y * factor) == pytest.approx(p_of_no_rise(y))
    assert p_of_no_rise(y + 64.0) == pytest.approx(p_of_no_rise(y))


def test_noise_is_rarely_called_a_rise():
    rng = np.random.default_rng(3)
    n_called = sum(p_of_no_rise(rng.normal(size=30)) < 0.05 for _ in range(400))

    assert n_called / 400 < 0.09
