"""Resources that a script never gives back, as the cause of memory that grows with them.

Blocks of shared memory are counted in bytes, and named where these explain the growth. Threads,
open files and child processes have no known size: what a thread holds as its arguments, or a file
as its buffer, is malloc's. So they are named only where nothing that is counted in bytes says
more than malloc does, and as what fits.

Where the cause is open even so, objects that the script keeps are named if they explain a quarter
of the growth, with their share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from kmonitor.base.trend import Slope, theil_sen_slope
from kmonitor.hub.judge.causes import (
    Cause,
    Confidence,
    GrowthExplanation,
    Remedy,
    explain_growth,
)
from kmonitor.hub.judge.counters import Counter, CounterKind, kept_growth
from kmonitor.hub.judge.counts import explain_count, grown_names
from kmonitor.hub.judge.detectors import UnitKind
from kmonitor.hub.judge.growth import Growth
from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.unit_series import in_allocator, values_of
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.events import ResourcesNamed
from kmonitor_agent.wire.messages.verdict_events import VerdictMetric

Tables = Sequence[ResourcesNamed]
"""Names and counts of resources of one kind at some run times, the newest last."""

_HOLDERS: Final[tuple[VerdictMetric, ...]] = ("processes", "threads", "open_files")
"""Child processes first: each of them comes with pipes, and some with a thread."""

_OPEN: Final = frozenset({Cause.MALLOC, Cause.PYTHON, Cause.UNKNOWN})
"""Causes that say nothing of what retains memory."""

_ONE_A_UNIT: Final = 0.9
_NAMED_A_UNIT: Final = 0.6
"""The same for one name, read now and then: the first unit after a reading may not be in it."""

_MOSTLY: Final = 0.7
"""Share of the readings that are higher than the ones before."""

_FEWEST_READINGS: Final = 3


def with_resources(
    found: GrowthExplanation,
    growth: Growth,
    units: Sequence[Unit],
    kind: UnitKind,
    named: Mapping[str, Tables],
) -> GrowthExplanation:
    """The explanation of RAM with the resources that explain it, or that fit it.

    Args:
        units: Units in which RAM was measured, to which the indices of `growth` refer.
        named: Names of resources by metric.
    """
    if found.cause is Cause.BLOCKS:
        return _with_block_names(found, growth, named.get("shared_memory", ()))
    if found.cause is Cause.WORKERS:
        return replace(found, function=_growing_child(named.get("children_memory", ())))
    is_sized = any(one.kind is CounterKind.PYTHON_BYTES for one in found.because)
    if found.cause not in _OPEN or is_sized:
        return found
    for metric in _HOLDERS:
        values = values_of(metric, units, kind)[growth.first : growth.last + 1]
        slope = _growth_of_count(values)
        if slope is None:
            continue
        tables = named.get(metric, ())
        holder = explain_count(metric, replace(growth, slope=slope), tables)
        # TensorFlow's threads have no remedy.
        if holder.advice and _names_a_unit(tables, units) >= _NAMED_A_UNIT:
            return _retained_by(holder, found)
    return found


_PARTLY: Final = 0.25
"""Share of the growth from which kept objects are named where nothing explains more."""


def with_partly_kept(
    found: GrowthExplanation, growth: Growth, counters: Sequence[Counter]
) -> GrowthExplanation:
    """The explanation of RAM with objects that explain a part of growth whose holder is open.

    Args:
        counters: Counts over the same units as the judged series.
    """
    is_sized = any(one.kind is CounterKind.PYTHON_BYTES for one in found.because)
    # Malloc cannot give back the freed blocks between those that are kept.
    if found.cause not in _OPEN | {Cause.NATIVE, Cause.CACHE, Cause.TENSORS} or is_sized:
        return found
    sized = [one for one in counters if one.kind is CounterKind.KEPT_BYTES]
    if found.cause is Cause.TENSORS:  # arrays beside them explain another part
        sized = [one for each in sized if (one := in_allocator(each)) is not None]
    kept = explain_growth(growth, kept_growth(sized, growth, _PARTLY))
    if kept is None or kept.cause is not Cause.KEPT:
        return found
    # Most of the growth is still open: what may help to find its cause comes last.
    advice = (each for each in kept.advice if each is not Remedy.RESTART)
    return replace(
        kept,
        because=(*kept.because, *found.because),
        advice=tuple(dict.fromkeys((*advice, *found.advice))),
    )


def _with_block_names(
    found: GrowthExplanation, growth: Growth, tables: Tables
) -> GrowthExplanation:
    name = explain_count("shared_memory", growth, tables).function
    if name is None:
        return found
    because = tuple(replace(one, function=name) for one in found.because)
    return replace(found, function=name, because=because)


def _growing_child(tables: Tables) -> str | None:
    """Name of the child processes that grow most, if that is most of their growth; else None."""
    grown = grown_names(tables)
    most = max(grown, key=lambda each: grown[each], default=None)
    is_most = most is not None and grown[most] >= _MOST_OF_CHILDREN * sum(grown.values())
    return most.name or None if most is not None and is_most else None


_MOST_OF_CHILDREN: Final = 0.5


def _growth_of_count(values: Floats) -> Slope | None:
    """Change per unit of a number that grows in most of the readings; None if it does not."""
    (at,) = np.isfinite(values).nonzero()
    if len(at) < _FEWEST_READINGS:
        return None
    rates = np.diff(values[at]) / np.diff(at)
    middle = theil_sen_slope(at.astype(np.float64), values[at]) or 0.0
    if middle < _ONE_A_UNIT or np.mean(rates > 0.0) < _MOSTLY:
        return None
    return Slope(middle, float(rates.min()), float(rates.max()))


def _names_a_unit(tables: Tables, units: Sequence[Unit]) -> float:
    """Rate at which the name that is reported has become more numerous; 0 if it is unknown."""
    count = next(iter(grown_names(tables).values()), 0)
    if not count:
        return 0.0
    between = [unit for unit in units if tables[0].t_s < unit.ended_s <= tables[-1].t_s]
    return count / max(1, len(between))


def _retained_by(holder: GrowthExplanation, found: GrowthExplanation) -> GrowthExplanation:
    """The resources that may retain memory, with their remedies first."""
    return replace(
        found,
        cause=holder.cause,
        confidence=Confidence.FITTING,
        function=holder.function,
        because=(*found.because, *holder.because),
        advice=(*holder.advice, *found.advice),
    )
