"""Causes of slower steps outside of the training, and advice on the wait for input.

These causes are memory pressure, throttling, clock, waiting for a processor, and garbage.

Advice depends on the kind of the data and on the batches that are waited for. A remedy for one
kind does not exist for another: arrays are in memory, and Keras prefetches their batches itself;
only some kinds have workers. Where the kind is unknown, the advice names the kind that it is for.
The wait for the first batch of each epoch ends where the iterator, or its workers, are started
once for all epochs; no such way exists for arrays, for a `PyDataset` and for a generator, whose
iterator goes on anyway.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from kmonitor.base.trend import Slope, median, theil_sen_slope
from kmonitor.hub.judge.causes import Cause, Confidence, GrowthExplanation, Remedy
from kmonitor.hub.judge.counters import CounterGrowth, CounterKind
from kmonitor.hub.judge.growth import Growth
from kmonitor.hub.judge.slowness.own_work import (
    factor_of_work,
    is_own_work,
    knows_own_work,
    works_as_before,
    works_longer,
)
from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.events import FitStarted
from kmonitor_agent.wire.messages.verdict_events import RECENT_UNITS

_LATELY: Final = 3
_LEAST_FAULTS: Final = 10.0
"""Major page faults per unit that are worth a report."""

_LONGEST_FAULT_S: Final = 0.01
_SHARE_OF_RISE: Final = 0.5
"""Each takes 0.1 to 10 ms: they must be able to explain half of the additional time, apart from
what other processes add to it."""

_LEAST_WAITING: Final = 0.1
"""Fraction of the time in which a task waited for memory."""

_LEAST_THROTTLED: Final = 0.05
"""Fraction of the time in which the control group was held back."""

_BEFORE_JUMP: Final = 10
"""Units before a slower level to compare with."""

_TIMES: Final = 3.0
_SLOWER_CLOCK: Final = 0.9
"""Factor of the earlier clock rate: steps that compute take correspondingly longer."""

_LEAST_CPU_WAIT: Final = 0.1
"""Fraction of the time in which the main thread waited for a processor."""

_SHARE_OF_CPU_WAIT: Final = 0.3
"""Share of the additional time that this waiting takes; the runtime's threads wait as well, and
are not counted."""

_LEAST_RUNNING: Final = 0.01
"""Share of the time in which a main thread runs that does anything."""

_MOST_OF_RISE: Final = 0.5
_FEWEST_READ: Final = 2
"""Share of the additional time from which the wait explains it, and readings that show that."""

_NEXT_TO_NOTHING: Final = 0.1
"""Share of the additional time up to which what is counted is excluded as its cause."""

_MORE_CPU_WAIT: Final = 1.4
_AS_BEFORE: Final = 5
"""Readings at the begin, and at the end, that show whether it waits longer than before."""

_STILL: Final = 5
"""Units before slower computing in which nothing was traced."""

_MORE_BLOCKS: Final = 1.2
"""Factor of the earlier number of Python's blocks: each collection looks through all of them."""


def explain_pressure(growth: Growth, units: Iterable[Unit]) -> GrowthExplanation | None:
    """Name pressure as the cause of slower steps; None where it did not rise with them.

    Args:
        growth: The judgement of step times.
        units: Complete units, to which its indices refer.
    """
    window = _window(growth, list(units))
    faults = _faults(window)
    has_faults = _has_risen(faults, max(_LEAST_FAULTS, _least_faults(window)))
    if not (has_faults or _has_risen(_values(window, "memory_pressure"), _LEAST_WAITING)):
        return None
    because: tuple[CounterGrowth, ...] = ()
    if has_faults:
        lately = faults[-_LATELY:]
        slope = Slope(float(np.mean(lately)), float(lately.min()), float(lately.max()))
        because = (CounterGrowth(CounterKind.MAJOR_FAULTS, slope),)
    advice = (Remedy.FREE_MEMORY,)
    return GrowthExplanation(Cause.PRESSURE, Confidence.FITTING, because, advice=advice)


def _window(growth: Growth, units: Sequence[Unit]) -> Sequence[Unit]:
    """Units of the growth, with some before it; before a jump as many as show the faster level."""
    before = 1 if growth.slope is not None else _BEFORE_JUMP
    return units[max(0, growth.first - before) : growth.last + 1]


def _least_faults(window: Sequence[Unit]) -> float:
    seconds = np.array([unit.wall_s for unit in window])
    seconds = seconds[np.isfinite(seconds)]
    if len(seconds) < 2 * _LATELY:
        return 0.0
    waited_s = _added_waits(window, "cpu_wait")
    others_s = max(0.0, waited_s) if math.isfinite(waited_s) else 0.0
    return _SHARE_OF_RISE * (_late(seconds) - _early(seconds) - others_s) / _LONGEST_FAULT_S


def _faults(window: Sequence[Unit]) -> Floats:
    """Major faults of each unit from the first to the last that have a sample.

    Units without one, which are shorter than the time between samples, share those of their span.
    """
    counts: Floats = np.array([unit.high.get("major_faults", np.nan) for unit in window])
    known = np.flatnonzero(np.isfinite(counts))
    if not len(known):
        return np.empty(0)
    every = np.arange(known[0], known[-1] + 1, dtype=np.float64)
    return np.diff(np.interp(every, known.astype(np.float64), counts[known]))


def explain_machine(
    growth: Growth,
    units: Sequence[Unit],
    not_grown: Iterable[str] = (),
    *,
    is_compute: bool = True,
) -> GrowthExplanation:
    """Name the cause of slower computing; open, with all that was counted, if there is none.

    Args:
        growth: The judgement of step or epoch times.
        units: Complete units, to which its indices refer.
        not_grown: Names of parts of the time that were measured, and did not grow.
        is_compute: True if computing is the part that grew.
    """
    added = retraced_operations(units, growth.first) if growth.slope is None else 0.0
    if added:
        operations = CounterGrowth(CounterKind.OPERATIONS, Slope(added, added, added))
        return _fitting(Cause.TRACED_AGAIN, Remedy.LOOK_AT_CHANGE, (operations,))
    window = _window(growth, units)
    clock = _values(window, "clock")
    if len(clock) >= 2 * _LATELY and _late(clock) <= _SLOWER_CLOCK * _early(clock):
        return _fitting(Cause.CLOCK, Remedy.CLOCK_SPEED)
    garbage = _garbage(window)
    if garbage is not None:
        return _fitting(Cause.GARBAGE, Remedy.FEWER_COLLECTIONS, (garbage,))
    if is_compute and is_own_work(window):  # which it has to wait longer for, too
        return _fitting(Cause.OWN_WORK, Remedy.LOOK_AT_WORK)
    return _explain_waiting(window) or GrowthExplanation(
        Cause.UNKNOWN, Confidence.OPEN, ruled_out=(*not_grown, *_ruled_out(window))
    )


def _explain_waiting(window: Sequence[Unit]) -> GrowthExplanation | None:
    if _has_risen(_values(window, "throttled"), _LEAST_THROTTLED):
        return _fitting(Cause.THROTTLED, Remedy.MORE_CPU)
    return _fitting(Cause.BUSY, Remedy.MORE_CPU) if _waits_for_cpu(window) else None


def is_undisturbed(units: Sequence[Unit]) -> bool:
    """True if other processes are known to be no reason why computing takes longer.

    The main thread waits for a processor for no larger share than at first. On a machine that is
    busy all the time, the threads that compute for it may wait longer: there its own work decides.
    """
    share, _ = _cpu_waits(units)
    if len(share) < 2 * _AS_BEFORE:
        return False
    early = median(share[:_AS_BEFORE])
    late = median(share[-_AS_BEFORE:])
    is_busy = late >= _LEAST_CPU_WAIT and knows_own_work(units)
    return late <= early + _LEAST_CPU_WAIT / 2 and not is_busy


def is_by_others(growth: Growth, units: Sequence[Unit]) -> bool:
    """True if other processes are known to be the reason why units take longer.

    The main thread waits for a processor for most of the additional time. The process may take
    more processor time as well, since caches are lost and threads wait for each other in loops:
    by a smaller factor than that of the wait, or that of all else.

    Args:
        growth: Growth from unit to unit, or a jump.
        units: Measured units, to which its indices refer.
    """
    before, later = before_and_later(growth, units)
    shares = [_cpu_waits(each)[0] for each in (before, later)]
    if min(len(share) for share in shares) < _FEWEST_READ or not knows_own_work(units):
        return False
    early_s, late_s = (median(_walls(each)) for each in (before, later))
    early, late = (median(share) for share in shares)
    is_most = late * late_s - early * early_s >= _MOST_OF_RISE * (late_s - early_s) > 0.0
    by_waits = (1.0 - early) / max(1.0 - late, _LEAST_RUNNING)
    work = factor_of_work(before, later)
    return is_most and (work <= by_waits or work**2 * early_s <= late_s)


def before_and_later(
    growth: Growth, units: Sequence[Unit]
) -> tuple[Sequence[Unit], Sequence[Unit]]:
    """The units before and after a jump, or the halves of growth from unit to unit."""
    window = units[: growth.last + 1]
    if growth.slope is None:
        return window[1 : growth.first], window[growth.first :]
    middle = (growth.first + growth.last + 1) // 2
    return window[growth.first : middle], window[middle:]


def retraced_operations(units: Sequence[Unit], first: int) -> float:
    """Operations of live traces that were added in one unit, and in none near it; else 0.

    A training function that is replaced, or traced again, then computes something else. The first
    validation traces a function of its own.

    Args:
        units: Measured units.
        first: First unit of slower computing.
    """
    operations = np.array([unit.operations for unit in units[max(1, first - _STILL) :]])
    added = np.diff(operations)
    at = min(_STILL, first - 1) - 1
    is_first_validated = "validation" in _had(units[first]) - _had(*units[:first])
    if at < 0 or not np.isfinite(added).all() or added[at] <= 0.0 or is_first_validated:
        return 0.0
    return float(added[at]) if np.count_nonzero(added > 0.0) == 1 else 0.0


def _had(*units: Unit) -> set[str]:
    """Parts that took any time in these units."""
    return {name for unit in units for name, seconds in unit.times.items() if seconds > 0.0}


def _cpu_waits(units: Sequence[Unit]) -> tuple[Floats, Floats]:
    """Share of the time in which the main thread waited for a processor, and the time, seconds."""
    known = [each for each in units if "cpu_wait" in each.high and np.isfinite(each.wall_s)]
    share = [(each.low["cpu_wait"] + each.high["cpu_wait"]) / 2 for each in known]
    return np.array(share), np.array([each.wall_s for each in known])


def _waits_for_cpu(window: Sequence[Unit]) -> bool:
    """True if waiting for a processor takes much of the additional time, and a larger share.

    Where the process itself works no longer than at first, its threads wait.
    """
    share, seconds = _cpu_waits(window)
    if len(share) < 2 * _LATELY or _late(share) < _LEAST_CPU_WAIT:
        return False
    if knows_own_work(window) and works_as_before(window):
        return True
    rise_s = _late(seconds) - _early(seconds)
    waited_s = _late(share) * _late(seconds) - _early(share) * _early(seconds)
    is_larger = _late(share) >= _MORE_CPU_WAIT * _early(share)
    return is_larger and rise_s > 0.0 and waited_s >= _SHARE_OF_CPU_WAIT * rise_s


def _garbage(window: Sequence[Unit]) -> CounterGrowth | None:
    """Full collections per unit, if there is more and more to look through."""
    collections = np.diff([unit.full_collections for unit in window])
    blocks = np.array([unit.python_blocks for unit in window])
    blocks = blocks[np.isfinite(blocks)]
    lately = collections[np.isfinite(collections)][-_LATELY:]
    if len(lately) < _LATELY or lately.min() < 1.0 or len(blocks) < 2 * _LATELY:
        return None
    if _late(blocks) < _MORE_BLOCKS * _early(blocks):
        return None
    slope = Slope(float(np.mean(lately)), float(lately.min()), float(lately.max()))
    return CounterGrowth(CounterKind.COLLECTIONS, slope)


def _ruled_out(window: Sequence[Unit]) -> Iterator[str]:
    """Names of what was counted in these units, and whose values exclude it as the cause."""
    traces = np.array([unit.traces for unit in window])
    added = {
        "pressure": _added_by_pressure(window),
        "throttled": _added_waits(window, "throttled"),
        "clock": _added_by_clock(window),
        "busy": _added_by_others(window),
        "garbage": _added_by_garbage(window),
    }
    walls = _walls(window)
    most_s = max(0.0, _NEXT_TO_NOTHING * (_late(walls) - _early(walls)))
    if (traces <= traces[0]).all():
        yield "traces"
    yield from (name for name, added_s in added.items() if added_s <= most_s)


def _walls(window: Sequence[Unit]) -> Floats:
    """Durations, seconds; all alike where they are not known."""
    walls = np.array([unit.wall_s for unit in window])
    return walls if np.isfinite(walls).all() else np.ones(len(walls))


def _added_by_pressure(window: Sequence[Unit]) -> float:
    """Seconds at most, by each source that was read; infinity without one."""
    by_waits = _added_waits(window, "memory_pressure")
    faults = _faults(window)
    by_faults = math.inf
    if len(faults) >= 2 * _LATELY:
        by_faults = _LONGEST_FAULT_S * max(0.0, _late(faults) - _early(faults))
    known = [each for each in (by_waits, by_faults) if each < math.inf]
    return max(known, default=math.inf)


def _added_waits(window: Sequence[Unit], name: str) -> float:
    """Seconds that units wait longer than at first, from the fraction of the time that they do."""
    known = [
        (unit.low[name] + unit.high[name]) / 2 * seconds
        for unit, seconds in zip(window, _walls(window), strict=True)
        if name in unit.high
    ]
    if len(known) < 2 * _LATELY:
        return math.inf
    return _late(np.array(known)) - _early(np.array(known))


def _added_by_clock(window: Sequence[Unit]) -> float:
    clock = _values(window, "clock")
    if len(clock) < 2 * _LATELY or _late(clock) <= 0.0:
        return math.inf
    return _early(_walls(window)) * (_early(clock) / _late(clock) - 1.0)


def _added_by_others(window: Sequence[Unit]) -> float:
    """Seconds that the main thread waits longer for a processor; infinity if others may wait.

    The threads that compute for it wait as well: where units take longer, and the process itself
    works no longer in them, that is where they may be.
    """
    if knows_own_work(window) and not works_longer(window):
        return math.inf
    return _added_waits(window, "cpu_wait")


def _added_by_garbage(window: Sequence[Unit]) -> float:
    """Seconds at most: a full collection looks through all blocks, and takes a unit's whole time.

    Where none runs, it takes none.
    """
    collections = np.diff([unit.full_collections for unit in window])
    if len(collections) < 2 * _LATELY or not np.isfinite(collections).all():
        return math.inf
    if not collections[-_LATELY:].any():
        return 0.0
    work = collections * np.array([unit.python_blocks for unit in window[1:]])
    if not np.isfinite(work).all() or _early(work) <= 0.0:
        return math.inf
    return _early(_walls(window)) * (_late(work) / _early(work) - 1.0)


def _fitting(
    cause: Cause, remedy: Remedy, because: tuple[CounterGrowth, ...] = ()
) -> GrowthExplanation:
    return GrowthExplanation(cause, Confidence.FITTING, because, advice=(remedy,))


def _values(window: Sequence[Unit], level: str) -> Floats:
    """The largest reading of each unit that has one."""
    values = np.array([unit.high.get(level, np.nan) for unit in window])
    return values[np.isfinite(values)]


def _has_risen(values: Floats, least: float) -> bool:
    """True if the last values are large, and several times the first ones."""
    is_known = len(values) >= 2 * _LATELY
    return is_known and _late(values) >= max(least, _TIMES * _early(values))


def _early(values: Floats) -> float:
    return median(values[:_LATELY])


def _late(values: Floats) -> float:
    return median(values[-_LATELY:])


_OF_BATCHES: Final[dict[str, tuple[Remedy, ...]]] = {
    "": (Remedy.PREFETCH,),
    "dataset": (Remedy.PREFETCH_DATASET,),
    "pydataset": (Remedy.MORE_WORKERS,),
    "generator": (Remedy.NO_GENERATOR,),
    "loader": (Remedy.LOADER_WORKERS,),
}
"""Advice on the wait for each batch, by the kind of data in `FitStarted`."""

_OF_DATASETS: Final[dict[str, tuple[Remedy, ...]]] = {
    "generator": (Remedy.NO_FROM_GENERATOR,),
    "prefetches": (Remedy.PARALLEL_MAP,),
    "maps in parallel": (Remedy.ADD_PREFETCH,),
    "both": (Remedy.KEEP_BATCHES,),
}
"""Advice on the wait for each batch of a dataset, by what its stages do already."""

_OF_FIRST_BATCHES: Final[dict[str, tuple[Remedy, ...]]] = {
    "dataset": (Remedy.REPEAT,),
    "loader": (Remedy.KEEP_WORKERS,),
}
"""Advice on the wait for the first batch of each epoch."""


def advice_on_input(units: Sequence[Unit], growth: Growth | None = None) -> tuple[Remedy, ...]:
    """Advice on the wait for input; empty where none is known that helps.

    Args:
        units: Measured units, to which the growth's indices refer.
        growth: Growth of the wait; None: it takes much of the time.
    """
    fit = units[-1].fit
    kind = "" if fit is None else fit.data_kind
    if fit is not None and fit.data_python == "map":
        # The first batch of an epoch waits for Python as each other does.
        return (Remedy.NO_PYTHON_MAP,)
    if not _is_of_first_batches(units, growth):
        return _OF_DATASETS.get(_stages(fit)) or _OF_BATCHES.get(kind, ())
    if fit is None:
        return ()
    if growth is not None and kind == "dataset" and fit.epochs - fit.initial_epoch == 1:
        return (Remedy.DATASET_ONCE,)  # each fit starts one that has more to do
    if not _starts_each_epoch(fit):
        return ()
    return _OF_FIRST_BATCHES.get(kind, ())


def _stages(fit: FitStarted | None) -> str:
    if fit is None or fit.data_python == "generator":
        return "" if fit is None else "generator"
    if fit.data_prefetches:
        return "both" if fit.data_maps_in_parallel else "prefetches"
    return "maps in parallel" if fit.data_maps_in_parallel else ""


def _starts_each_epoch(fit: FitStarted) -> bool:
    """True if something is started again in each of several epochs of the fit."""
    has_workers = fit.data_kind != "loader" or bool(fit.data_workers)
    return not fit.data_persists and fit.epochs - fit.initial_epoch > 1 and has_workers


def _is_of_first_batches(units: Sequence[Unit], growth: Growth | None) -> bool:
    """True if most of the wait, or of its growth, is for the first batches of epochs."""
    first_s = np.array([unit.first_input_s for unit in units])
    input_s = np.array([unit.times.get("input", 0.0) for unit in units])
    return _amount(first_s, growth) > _amount(input_s, growth) / 2


def _amount(seconds: Floats, growth: Growth | None) -> float:
    if growth is None or (growth.slope is None and growth.first <= 1):
        return float(seconds[-RECENT_UNITS:].sum())
    if growth.slope is None:
        # As for a jump: the first unit is left out.
        return median(seconds[growth.first :]) - median(seconds[1 : growth.first])
    window = seconds[growth.first : growth.last + 1]
    return theil_sen_slope(np.arange(len(window), dtype=np.float64), window) or 0.0
