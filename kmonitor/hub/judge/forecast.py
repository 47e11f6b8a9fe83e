"""When a growing series meets its limit, with a band that is honest about what is not known."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.base.trend import Slope, theil_sen_interval, theil_sen_slope
from kmonitor.hub.judge.envelope import block_width, lower_envelope
from kmonitor.hub.judge.growth import MIN_UNITS, window_start

_LEAST_BAND: Final = 0.25
_LEAST_BAND_EARLY: Final = 0.35
_EARLY_UNITS: Final = 40
"""Intervals of the slope alone held the truth in about half of simulated runs only."""

_HIGH_LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Forecast:
    """In how many units from the last one the limit is met, if it goes on like this.

    Attributes:
        units: Most likely, at least 0.
        earliest: At most `units`.
        latest: At least `units`; None: it may never be met.
        slope: The change a unit that this rests on, widened.
    """

    units: float
    earliest: float
    latest: float | None
    slope: Slope


def forecast_limit(values: NDArray[np.float64], limit: float) -> Forecast | None:
    """When the trend meets the limit; None if it recedes or there are too few units.

    It says nothing about whether the series grows: ask `leak` first.

    Args:
        values: One value a unit since the last start or reload, finite, `[n]`.
        limit: In the unit of the values.

    Source: Theil-Sen on the lower envelope (see `trend`); the interval is widened to hold the
        slope of the later half and at least 25 % each way (35 % below 40 units), then the early
        end is reckoned from the 95th percentile of the level and the late one from its median.
    """
    if len(values) < MIN_UNITS:
        return None
    values = values[window_start(len(values)) :]
    slope = _slope(values)
    if slope is None:
        return None
    x = np.arange(1.0 - len(values), 1.0)
    levels = values - slope.middle * x
    middle, high = (limit - float(np.quantile(levels, q)) for q in (0.5, _HIGH_LEVEL))
    units = max(0.0, middle / slope.middle)
    latest = max(units, middle / slope.low) if slope.low > 0.0 else None
    return Forecast(units, min(units, max(0.0, high / slope.high)), latest, slope)


def _slope(values: NDArray[np.float64]) -> Slope | None:
    """Of the envelope, widened; None if it does not rise."""
    width = block_width(len(values))
    envelope = lower_envelope(values, width)
    x = np.arange(len(envelope), dtype=np.float64) * width
    found = theil_sen_interval(x, envelope)
    if found is None or found.middle <= 0.0:
        return None
    half = math.ceil(len(envelope) / 2)
    later = theil_sen_slope(x[-half:], envelope[-half:])
    later = found.middle if later is None else later
    least = _LEAST_BAND_EARLY if len(values) < _EARLY_UNITS else _LEAST_BAND
    band = least * found.middle
    low = min(found.low, later, found.middle - band)
    return Slope(found.middle, low, max(found.high, later, found.middle + band))
