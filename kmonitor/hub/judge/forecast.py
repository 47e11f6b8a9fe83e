"""Forecast of when a growing run meets its nearest limit, with an honest band of uncertainty."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final, Literal

import numpy as np

from kmonitor.base.trend import Slope, theil_sen_interval, theil_sen_slope
from kmonitor.hub.judge.detectors import UnitKind
from kmonitor.hub.judge.growth import MIN_STRAIGHT_UNITS, window_start
from kmonitor.hub.judge.statistics import Floats, block_width, lower_envelope
from kmonitor.hub.judge.unit_series import highest_of
from kmonitor.hub.judge.units import RunUnits, Unit
from kmonitor_agent.wire.messages.verdict_events import LimitForecast, VerdictMetric

_LimitOwner = Literal["own", "host", "cgroup", "device"]

_LATELY: Final = 6


def forecast_nearest_limit(
    metric: VerdictMetric, run: RunUnits, units: Sequence[Unit], kind: UnitKind
) -> LimitForecast | None:
    """When the nearest limit is met; None if none is known, or growth does not lead there.

    Args:
        metric: Of a run that grows.
        run: What is known of the run.
        units: Those that were measured.
        kind: What they are.
    """
    values = highest_of(metric, units, kind)
    ahead = _limit_ahead(metric, run, float(values[-1]))
    if ahead is None:
        return None
    found = forecast_limit(values, ahead.left)
    if found is None:
        return None
    stride = spacing(units)
    return LimitForecast(
        limit=ahead.limit,
        of=ahead.of,
        units=found.units * stride,
        earliest=found.earliest * stride,
        latest=None if found.latest is None else found.latest * stride,
        unit_s=unit_seconds(units),
        by_others=ahead.by_others,
    )


def spacing(units: Sequence[Unit]) -> float:
    """Units of the run from one measured one to the next; above 1 where some were too short."""
    if len(units) < 2:  # noqa: PLR2004 - a distance takes two
        return 1.0
    return max(1.0, (units[-1].number - units[0].number) / (len(units) - 1))


@dataclass(frozen=True, slots=True)
class _LimitAhead:
    """A limit, and what others use of it."""

    limit: float
    of: _LimitOwner
    by_others: float = 0.0

    @property
    def left(self) -> float:
        return self.limit - self.by_others


def _limit_ahead(metric: VerdictMetric, run: RunUnits, value_now: float) -> _LimitAhead | None:
    of = {"ram": run.ram_of, "vram": run.vram_of}.get(metric)
    # In a control group percentages and the end of memory are those of its own account.
    by_others = run.ram_by_others if metric == "ram" else 0.0
    own: list[_LimitAhead] = []
    for limit in run.limits:
        if limit.metric == metric and limit.value is not None:
            own.append(_LimitAhead(limit.value, "own"))
        elif limit.metric == metric and limit.fraction is not None and of is not None:
            own.append(_LimitAhead(limit.fraction * of, "own", by_others))
    ahead = [each for each in own if each.left > value_now]
    if ahead:
        return min(ahead, key=lambda each: each.left)
    if of is None:
        return None
    if metric == "vram":
        return _LimitAhead(of, "device")
    return _LimitAhead(of, "cgroup" if run.is_cgroup else "host", by_others)


def unit_seconds(units: Sequence[Unit]) -> float | None:
    """What a unit takes lately, seconds; None if that is not known."""
    lately = units[-_LATELY:]
    durations_s = [
        (later.ended_s - unit.ended_s) / max(1, later.number - unit.number)
        for unit, later in pairwise(lately)
    ]
    return (
        max(0.0, float(median(durations_s)))
        if durations_s and np.isfinite(durations_s).all()
        else None
    )


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


def forecast_limit(values: Floats, limit: float) -> Forecast | None:
    """When the trend meets the limit; None if it recedes or there are too few units.

    It does not say whether the series grows: see `judge_growth`.

    Args:
        values: One value a unit since the last start or reload, finite, `[n]`.
        limit: In the unit of the values.

    Source: Theil-Sen on the lower envelope (see `trend`); the interval is widened to hold the
        slope of the later half and at least 25 % each way (35 % below 40 units), then the early
        end is computed from the 95th percentile of the level and the late one from its median.
    """
    if len(values) < MIN_STRAIGHT_UNITS:
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


def _slope(values: Floats) -> Slope | None:
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
