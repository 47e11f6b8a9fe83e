import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmonitor.hub.judge.statistics import bend_over_line

T = np.linspace(0.0, 1.0, 20)


@given(tau=st.floats(0.08, 0.8), height=st.floats(10.0, 1e9))
def test_what_bends_is_seen(tau: float, height: float):
    assert bend_over_line(height * (1.0 - np.exp(-T / tau))) > 2.0


@given(slope=st.floats(1.0, 1e8), seed=st.integers(0, 20))
def test_a_noisy_line_does_not_bend(slope: float, seed: int):
    noise = np.random.default_rng(seed).normal(0.0, 0.01, len(T))

    assert bend_over_line(slope * (T + noise)) < 10.0
    assert bend_over_line(slope * T) <= 2.0


def test_what_falls_or_stays_has_no_rising_bend():
    assert bend_over_line(-T) == -math.inf
    assert bend_over_line(np.full(10, 3.0)) == -math.inf


def test_worked_by_hand():
    """0 1 1 1: a line leaves 0.75 - 0.5^2 / (5 / 9) = 0.3 of the squares.

    The sharpest bend (tau 0.05) is 0, 0.99873, 1, 1, for exp(-6.67) = 0.00127: it leaves about
    2 / 3 of 0.00127^2, 1.1e-6. So at least 4 ln(0.3 / 1e-5), less 2 for its parameter.
    """
    assert bend_over_line(np.array([0.0, 1.0, 1.0, 1.0])) > 4 * math.log(0.3 / 1e-5) - 2.1


def test_scale_says_nothing():
    y = 1.0 - np.exp(-T / 0.3) + np.random.default_rng(5).normal(0.0, 0.05, len(T))

    assert bend_over_line(y * 2.0**30) == pytest.approx(bend_over_line(y), rel=1e-6)
