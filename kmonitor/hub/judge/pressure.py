"""Slower steps that a want of memory explains: pages fetched from a disk, tasks that wait."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from kmonitor.base.trend import Slope
from kmonitor.hub.judge.causes import Cause, Confidence, GrowthExplanation, Remedy
from kmonitor.hub.judge.counters import CounterGrowth, CounterKind
from kmonitor.hub.judge.growth import Growth
from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.units import Unit

_LATELY: Final = 3
_LEAST_FAULTS: Final = 100.0
"""Pages a unit that are worth a word: each takes 0.1 to 10 ms."""

_TIMES: Final = 3.0
_LEAST_WAITING: Final = 0.1
"""Part of the time in which a task waited for memory."""


def explain_pressure(growth: Growth, units: Iterable[Unit]) -> GrowthExplanation | None:
    """Name pressure as the cause of slower steps; None where it did not rise with them.

    Args:
        growth: The judgement of step times.
        units: Complete ones, which its indices count.
    """
    window = list(units)[max(0, growth.first - 1) : growth.last + 1]
    faults = np.diff([unit.high.get("major_faults", np.nan) for unit in window])
    waiting = np.array([unit.high.get("memory_pressure", np.nan) for unit in window])
    if not (_has_risen(faults, _LEAST_FAULTS) or _has_risen(waiting, _LEAST_WAITING)):
        return None
    because: tuple[CounterGrowth, ...] = ()
    if _has_risen(faults, _LEAST_FAULTS):
        lately = faults[-_LATELY:]
        slope = Slope(float(np.mean(lately)), float(lately.min()), float(lately.max()))
        because = (CounterGrowth(CounterKind.MAJOR_FAULTS, slope),)
    advice = (Remedy.FREE_MEMORY,)
    return GrowthExplanation(Cause.PRESSURE, Confidence.FITTING, because, advice=advice)


def _has_risen(values: Floats, least: float) -> bool:
    """Whether the last values are large, and several times of the first ones."""
    values = values[np.isfinite(values)]
    if len(values) < 2 * _LATELY:
        return False
    early, late = (float(np.median(part)) for part in (values[:_LATELY], values[-_LATELY:]))
    return late >= least and late >= _TIMES * early
