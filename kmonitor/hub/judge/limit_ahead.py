"""Which limit a growing run meets first, and when."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Final, Literal

import numpy as np

from kmonitor.hub.judge.detectors import Per
from kmonitor.hub.judge.forecast import forecast_limit
from kmonitor.hub.judge.unit_values import highest_of
from kmonitor.hub.judge.units import RunUnits, Unit
from kmonitor_agent.wire.messages.verdict_events import LimitForecast, VerdictMetric

Whose = Literal["own", "host", "cgroup", "device"]

_LATELY: Final = 6


def forecast_of(
    metric: VerdictMetric, run: RunUnits, units: Sequence[Unit], per: Per
) -> LimitForecast | None:
    """When the nearest limit is met; None if none is known, or growth does not lead there.

    Args:
        metric: Of a run that grows.
        run: What is known of the run.
        units: Those that were measured.
        per: What they are.
    """
    values = highest_of(metric, units, per)
    ahead = _limit_ahead(metric, run, float(values[-1]))
    if ahead is None:
        return None
    found = forecast_limit(values, ahead[0])
    if found is None:
        return None
    stride = spacing(units)
    return LimitForecast(
        limit=ahead[0],
        of=ahead[1],
        units=found.units * stride,
        earliest=found.earliest * stride,
        latest=None if found.latest is None else found.latest * stride,
        unit_s=_unit_s(units),
    )


def spacing(units: Sequence[Unit]) -> float:
    """Units of the run from one measured one to the next; above 1 where some were too short."""
    if len(units) < 2:  # noqa: PLR2004 - a distance takes two
        return 1.0
    return max(1.0, (units[-1].number - units[0].number) / (len(units) - 1))


def _limit_ahead(metric: VerdictMetric, run: RunUnits, now: float) -> tuple[float, Whose] | None:
    of = {"ram": run.ram_of, "vram": run.vram_of}.get(metric)
    own: list[float] = []
    for limit in run.limits:
        if limit.metric == metric and limit.value is not None:
            own.append(limit.value)
        elif limit.metric == metric and limit.fraction is not None and of is not None:
            own.append(limit.fraction * of)
    ahead = [value for value in own if value > now]
    if ahead:
        return min(ahead), "own"
    if of is None:
        return None
    if metric == "vram":
        return of, "device"
    return of, "cgroup" if run.is_cgroup else "host"


def _unit_s(units: Sequence[Unit]) -> float | None:
    lately = units[-_LATELY:]
    taken = [
        (later.ended_s - unit.ended_s) / max(1, later.number - unit.number)
        for unit, later in pairwise(lately)
    ]
    return max(0.0, float(median(taken))) if taken and np.isfinite(taken).all() else None
