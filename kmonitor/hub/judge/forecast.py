"""Forecast of when a growing run meets its nearest limit, with an honest band of uncertainty."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from kmonitor.base.trend import Slope, median, theil_sen_interval, theil_sen_slope
from kmonitor.hub.judge.counts import units_to_end
from kmonitor.hub.judge.detectors import UnitKind
from kmonitor.hub.judge.growth import (
    MIN_STRAIGHT_UNITS,
    RAM_FLOOR,
    Growth,
    judge_growth,
    window_start,
)
from kmonitor.hub.judge.slope_changes import last_change
from kmonitor.hub.judge.statistics import Floats, block_width, lower_envelope
from kmonitor.hub.judge.unit_series import highest_of
from kmonitor.hub.judge.units import RunUnits, Unit
from kmonitor_agent.wire.messages.verdict_events import LimitForecast, VerdictMetric

_LimitOwner = Literal["own", "host", "cgroup", "address_space", "device", "system"]

_LATELY: Final = 6


def forecast_nearest_limit(
    metric: VerdictMetric, run: RunUnits, units: Sequence[Unit], kind: UnitKind
) -> LimitForecast | None:
    """When the nearest limit is met; None if none is known, or growth does not lead there.

    Args:
        metric: A metric that grows.
        units: Measured units.
    """
    values = highest_of(metric, units, kind)
    of = {"ram": run.ram_of, "vram": run.vram_of}.get(metric)
    ahead = _limit_ahead(metric, run, of, float(values[-1]))
    if ahead is None:
        return None
    if metric == "ram" and ahead.fraction is not None:
        sampled, left = _left(units)
        held = highest_of(metric, sampled, kind)
        found = forecast_limit(_excess(held, left, ahead.fraction), 0.0)
        if found is not None and found.units <= _TIMES_OBSERVED * len(sampled):
            return _event(ahead, found, sampled, _taken_by_others(held, left))
    found = forecast_limit(values, ahead.limit)
    return None if found is None else _event(ahead, found, units, 0.0)


def forecast_by_others(
    run: RunUnits, units: Sequence[Unit], kind: UnitKind
) -> LimitForecast | None:
    """When other processes have taken the rest that a run without growth could get.

    None: never, or only after the run's end or, where that is not known, an hour.

    Args:
        units: Units in which RAM was measured.
    """
    units, left = _left(units)
    if not units or run.ram_of is None:
        return None
    values = highest_of("ram", units, UnitKind.EPOCH)
    taken = float(left.max()) - left + median(values)
    if not judge_growth(taken, RAM_FLOOR).is_growing:
        return None
    found = forecast_limit(-left, 0.0)
    by_others = _taken_by_others(values, left)
    horizon = min(_NEAR_UNITS, _TIMES_OBSERVED * len(units))
    if found is None or not by_others or found.units > horizon:
        return None
    if found.units * spacing(units) > run.near_units(kind, unit_seconds(units)):
        return None
    ahead = _LimitAhead(run.ram_of, run.ram_bound, 1.0)
    return _event(ahead, found, units, by_others)


_NEAR_UNITS: Final = 500.0

_TIMES_OBSERVED: Final = 10.0
"""Multiple of the observed units for which other processes are expected to go on as they did: in
twenty seconds a browser that starts takes as much as a leak does in an hour. The run's own growth
continues."""


def forecast_count(
    metric: VerdictMetric, run: RunUnits, units: Sequence[Unit], growth: Growth
) -> LimitForecast | None:
    """When a count meets its end; None if it does not grow, or has no known end.

    Args:
        units: Measured units.
    """
    value = units[-1].high.get(metric)
    of = run.counts_of.get(metric)
    if growth.slope is None or value is None:
        return None
    ahead = _limit_ahead(metric, run, of, value)
    if ahead is None:
        return None
    middle, low, high = units_to_end(growth, max(0.0, ahead.limit - value))
    return _event(ahead, Forecast(middle, low, high, growth.slope), units, 0.0)


def _event(
    ahead: "_LimitAhead", found: "Forecast", units: Sequence[Unit], by_others: float
) -> LimitForecast:
    stride = spacing(units)
    return LimitForecast(
        limit=ahead.limit,
        of=ahead.of,
        units=found.units * stride,
        earliest=found.earliest * stride,
        latest=None if found.latest is None else found.latest * stride,
        unit_s=unit_seconds(units),
        by_others=by_others / stride,
    )


def _left(units: Sequence[Unit]) -> tuple[list[Unit], Floats]:
    """Units with a sample, and the least memory of each that the run could still get."""
    sampled = [unit for unit in units if "ram_left" in unit.low]
    return sampled, np.array([unit.low["ram_left"] for unit in sampled])


def _excess(values: Floats, left: Floats, fraction: float) -> Floats:
    """Memory held minus a fraction of the available memory, which other processes change too."""
    return values - fraction * (values + left)


_LEAST_BY_OTHERS: Final = 0.25
"""Share of the run's own growth; less cannot be distinguished from what comes and goes."""


def _taken_by_others(values: Floats, left: Floats) -> float:
    """Memory that others take per unit from the rest; 0 where that is hardly anything."""
    if len(values) < MIN_STRAIGHT_UNITS:
        return 0.0
    first = window_start(len(values))
    own = _slope(values[first:])
    taken = _slope(-left[first:])
    if taken is None:
        return 0.0
    own_middle = 0.0 if own is None else own.middle
    others = taken.middle - own_middle
    return others if others >= _LEAST_BY_OTHERS * own_middle else 0.0


def spacing(units: Sequence[Unit]) -> float:
    """Units of the run from one measured unit to the next; above 1 where some were too short."""
    if len(units) < 2:  # noqa: PLR2004 - a distance takes two
        return 1.0
    return max(1.0, (units[-1].number - units[0].number) / (len(units) - 1))


@dataclass(frozen=True, slots=True)
class _LimitAhead:
    """A limit; `fraction` is its part of the available amount, None for an absolute limit."""

    limit: float
    of: _LimitOwner
    fraction: float | None = None


def _limit_ahead(
    metric: VerdictMetric, run: RunUnits, of: float | None, value_now: float
) -> _LimitAhead | None:
    own: list[_LimitAhead] = []
    for limit in run.limits:
        if limit.metric == metric and limit.value is not None:
            own.append(_LimitAhead(limit.value, "own"))
        elif limit.metric == metric and limit.fraction is not None and of is not None:
            own.append(_LimitAhead(limit.fraction * of, "own", limit.fraction))
    ahead = [each for each in own if each.limit > value_now]
    if ahead:
        return min(ahead, key=lambda each: each.limit)
    if of is None:
        return None
    owners: dict[VerdictMetric, _LimitOwner] = {"ram": run.ram_bound, "vram": "device"}
    return _LimitAhead(of, owners.get(metric, "system"), 1.0)


def unit_seconds(units: Sequence[Unit]) -> float | None:
    """Recent duration of a unit, seconds; None if unknown."""
    lately = units[-_LATELY:]
    durations_s = [
        (later.ended_s - unit.ended_s) / max(1, later.number - unit.number)
        for unit, later in pairwise(lately)
    ]
    return (
        max(0.0, median(durations_s)) if durations_s and np.isfinite(durations_s).all() else None
    )


_LEAST_BAND: Final = 0.25
_LEAST_BAND_EARLY: Final = 0.35
_EARLY_UNITS: Final = 40
"""Units below which the wider band holds. Intervals of the slope alone held the truth in about
half of simulated runs only."""

_HIGH_LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Forecast:
    """Number of units from the last one until the limit is met, if the growth continues.

    Attributes:
        units: Most likely, at least 0.
        earliest: At most `units`.
        latest: At least `units`; None: it may never be met.
        slope: Change per unit on which the forecast is based, widened.
    """

    units: float
    earliest: float
    latest: float | None
    slope: Slope


def forecast_limit(values: Floats, limit: float) -> Forecast | None:
    """When the trend meets the limit; None if it recedes or there are too few units.

    It does not tell if the series grows: see `judge_growth`.

    Args:
        values: One value per unit since the last start or reload, finite, `[n]`.
        limit: In the unit of the values.

    Source: Theil-Sen on the lower envelope (see `trend`); the interval is widened to hold the
        slope of the later half and at least 25% each way (35% below 40 units), then the early
        end is computed from the 95th percentile of the level and the late one from its median.
    """
    if len(values) < MIN_STRAIGHT_UNITS:
        return None
    changed = last_change(values, RAM_FLOOR)
    values = values[window_start(len(values)) if changed is None else changed.first :]
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
    """Slope of the envelope, widened; None if it does not rise."""
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
