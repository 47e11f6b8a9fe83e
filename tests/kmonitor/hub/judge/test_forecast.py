import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmonitor.hub.judge.forecast import (
    forecast_limit,
)


def test_exact_line_worked_by_hand():
    """10 a unit, 390 at last, limit 590: 20 units; least band 25% at 34 units: 35%.

    High slope 13.5: 14.81 units; low slope 6.5: 30.77.
    """
    forecast = forecast_limit(10.0 * np.arange(40.0), 590.0)

    assert forecast is not None
    assert forecast.units == pytest.approx(20.0)
    assert forecast.earliest == pytest.approx(200 / 13.5)
    assert forecast.latest == pytest.approx(200 / 6.5)


def test_longer_series_are_known_better():
    """At 60 units 51 are judged: 25%; 16 and 26.67 units."""
    forecast = forecast_limit(10.0 * np.arange(60.0), 790.0)

    assert forecast is not None
    assert (forecast.earliest, forecast.latest) == pytest.approx((16.0, 200 / 7.5))


def test_the_band_holds_a_later_half_that_is_faster():
    values = np.concatenate((2.0 * np.arange(30.0), 60.0 + 8.0 * np.arange(30.0)))
    forecast = forecast_limit(values, 1000.0)

    assert forecast is not None
    assert forecast.slope.high >= 8.0 * 0.9


def test_what_may_be_flat_has_no_latest():
    rng = np.random.default_rng(3)
    forecast = forecast_limit(0.2 * np.arange(20.0) + rng.normal(0.0, 9.0, 20), 100.0)

    assert forecast is not None
    assert forecast.latest is None


def test_falling_flat_or_few_values_have_no_forecast():
    assert forecast_limit(-1.0 * np.arange(40.0), 100.0) is None
    assert forecast_limit(np.zeros(40), 100.0) is None
    assert forecast_limit(np.arange(5.0), 100.0) is None


def test_a_limit_that_is_met_already_is_now():
    forecast = forecast_limit(np.arange(40.0), 10.0)

    assert forecast is not None
    assert (forecast.units, forecast.earliest, forecast.latest) == (0.0, 0.0, 0.0)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(10, 250),
    slope=st.floats(0.5, 20.0),
    sigma=st.floats(0.0, 5.0),
    ahead=st.floats(1.0, 1000.0),
)
def test_the_band_is_in_order(seed: int, n: int, slope: float, sigma: float, ahead: float):
    rng = np.random.default_rng(seed)
    values = slope * np.arange(float(n)) + rng.normal(0.0, sigma, n)
    forecast = forecast_limit(values, float(values[-1]) + ahead)

    if forecast is not None:
        assert 0.0 <= forecast.earliest <= forecast.units
        assert forecast.latest is None or forecast.latest >= forecast.units
