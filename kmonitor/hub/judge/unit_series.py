"""Series of units' values to be judged, and counters beside them."""

import math
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.base.trend import median
from kmonitor.hub.judge.arenas import moved_to_regions
from kmonitor.hub.judge.bounded_places import is_full
from kmonitor.hub.judge.causes import DATASET, GRAPH, ROOT_GRAPH, TRACED_FUNCTION
from kmonitor.hub.judge.counters import (
    OF_PIPELINES,
    Counter,
    CounterKind,
    PlaceKey,
    place_key,
)
from kmonitor.hub.judge.detectors import COUNTED_WITHIN, UnitKind, as_if_of_one_kind
from kmonitor.hub.judge.growth import Growth
from kmonitor.hub.judge.statistics import Floats, even_jumps, spread_stairs
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.events import KeptObjects
from kmonitor_agent.wire.messages.verdict_events import VerdictMetric

_LATELY: Final = 5


def _on_host(unit: Unit) -> float:
    return unit.low.get("allocator", math.nan)


def _of_children(unit: Unit) -> float:
    """Children's memory, which only samples read; NaN in units without a sample."""
    return unit.children_bytes if unit.n_samples else math.nan


_OF_MEMORY: Final[dict[CounterKind, Callable[[Unit], float]]] = {
    CounterKind.CODE: lambda unit: unit.code_regions,
    CounterKind.FUNCTIONS: lambda unit: unit.registered,
    CounterKind.NAMED_BYTES: lambda unit: unit.low.get("shared_memory", math.nan),
    CounterKind.CHILDREN_BYTES: _of_children,
    CounterKind.ALLOCATOR_BYTES: _on_host,
    CounterKind.BLOCKS: lambda unit: unit.python_blocks,
    CounterKind.NATIVE_BYTES: lambda unit: unit.malloc_bytes,
    CounterKind.FREE_BYTES: lambda unit: unit.malloc_free_bytes,
}


def values_of(metric: VerdictMetric, units: Sequence[Unit], kind: UnitKind) -> Floats:
    """The judged series, one value per unit; NaN where not measured, `[n]`.

    For the graph its size at the end; for steps their time, in a loop of models as if all were of
    one kind.
    """
    match metric:
        case "ram" | "vram":
            return _of_memory(metric, units, kind)
        case "threads":
            levels = _levels(units, are_short=_are_short(metric, units))
            return _array(each.get(metric, np.nan) for each in levels)
        case "open_files" | "processes" | "shared_memory" | "disk" | "temp_disk":
            return _array(unit.low.get(metric, np.nan) for unit in units)
        case "graph":
            return _array(unit.operations for unit in units)
        case "step_time":
            return _step_times(units, kind)
        case "epoch_time":
            # A resumed or cut epoch has fewer steps, a search's models differ.
            whole = [unit.wall_s if unit.steps == units[-1].steps else np.nan for unit in units]
            wall_s = _array(whole)
            return wall_s if kind is UnitKind.EPOCH else _as_one_kind(wall_s, units)


def _of_memory(metric: VerdictMetric, units: Sequence[Unit], kind: UnitKind) -> Floats:
    """Smallest sample of each unit, or memory at its end where hardly a sample falls into it.

    One sample would be of its beginning, the next of its end. Growth that came with data larger
    than all before is left out, and an allocator's pool grows when it takes a region.
    """
    is_short = _are_short(metric, units)
    levels = _levels(units, are_short=is_short)
    values = _array(each.get(metric, math.nan) for each in levels)
    if metric == "ram":
        # The smallest sample may be of the unit's beginning, thus of the end of the one before.
        moved = moved_to_regions(units)
        values += moved if is_short else np.concatenate((moved[:1], moved[:-1]))
        values += _unread_children(units)
    if kind in COUNTED_WITHIN and not is_short:
        return _by_steps(values, units)
    return spread_stairs(
        _without_batches(metric, _without_diagnoses(values, units), units), _RISES
    )


_RISES: Final = 2.0**20
_LAST_READINGS: Final = 4
"""Rise in so many readings after which the next one is needed, bytes."""

_FEWEST_READINGS: Final = 6
_PART_OF_CHILDREN: Final = 0.4
"""Number of readings of children without which they are no growth, and their share in it."""


def _unread_children(units: Sequence[Unit]) -> Floats:
    """Correction of RAM for children's memory in units in which it was not read, `[n]`.

    It is taken to lie between the readings before and after: as last read, growth would look like
    stairs. While it rises, or after one reading, RAM is not known after the last reading.
    """
    read = _array(map(_of_children, units))
    (at,) = np.isfinite(read).nonzero()
    if not len(at):
        return np.zeros(len(units))
    as_read = _array(unit.children_bytes for unit in units)
    found = np.nan_to_num(np.interp(np.arange(len(units)), at, read[at]) - as_read)
    lately = read[at][-_LAST_READINGS:]
    if lately[-1] - (lately[0] if len(lately) > 1 else 0.0) >= _RISES:
        found[at[-1] + 1 :] = np.nan
    return found


def is_by_few_readings(units: Sequence[Unit], growth: Growth | None) -> bool:
    """True if RAM rises with children that were read a few times: no line between them counts.

    Args:
        units: All units of the judged series.
        growth: Its judgement.
    """
    read = _array(map(_of_children, units))
    read = read[np.isfinite(read)]
    if growth is None or growth.slope is None or not 1 < len(read) < _FEWEST_READINGS:
        return False
    rise = growth.slope.middle * (growth.last - growth.first)
    return bool(read[-1] - read[0] >= _PART_OF_CHILDREN * rise)


def _by_steps(values: Floats, parts: Sequence[Unit]) -> Floats:
    """Values for as many parts with the same number of steps or calls each.

    The measured parts took the same time: if steps slow down, each has fewer.
    """
    is_finite = np.isfinite(values)
    steps = _array(float(part.number) for part in parts)
    if not is_finite.any():
        return values
    even: Floats = np.linspace(steps[0], steps[-1], len(steps), dtype=np.float64)
    return np.interp(even, steps[is_finite], values[is_finite])


def _without_diagnoses(values: Floats, units: Sequence[Unit]) -> Floats:
    """Values as if units with a diagnosis had changed as the others do.

    It collects garbage and traces allocations: a step in the level, and no evidence on growth.
    """
    is_diagnosed = np.array([unit.is_diagnosed for unit in units])
    if not is_diagnosed.any() or np.mean(is_diagnosed) > _MOST_DIAGNOSED:
        return values
    rises = np.diff(values)
    is_read = np.isfinite(rises)
    usual = rises[is_read & ~is_diagnosed[1:]]
    if not len(usual):
        return values
    steps = np.where(is_read & is_diagnosed[1:], rises - median(usual), 0.0)
    return values - np.concatenate(([0.0], np.cumsum(steps)))


def _without_batches(metric: VerdictMetric, values: Floats, units: Sequence[Unit]) -> Floats:
    """Memory as if units with the largest data so far, and the next, had grown as the others do.

    A unit's smallest sample may be of its beginning. If data grows again and again the trend would
    be gone with it: then everything is judged.
    """
    rises = np.nan_to_num(np.diff(values))
    batches = _array(unit.kind[1] or 0.0 for unit in units)
    is_larger = (batches[1:] > np.maximum.accumulate(batches)[:-1]) & (batches[:-1] > 0.0)
    n_larger = int(is_larger.sum())
    for start, is_of_stage in _stages(metric, rises, units):
        n_larger += not is_larger[start]
        is_larger |= is_of_stage
    if not n_larger or n_larger > _MOST_LARGER * len(units):
        return values
    is_larger[1:] |= is_larger[:-1]
    usual = max(0.0, median(rises[~is_larger]))
    more = np.where(is_larger, np.maximum(rises - usual, 0.0), 0.0)
    return values - np.concatenate(([0.0], np.cumsum(more)))


def _stages(
    metric: VerdictMetric, rises: Floats, units: Sequence[Unit]
) -> Iterable[tuple[int, NDArray[np.bool_]]]:
    """Beginnings of stages of a curriculum, as of larger images or longer texts, and their jumps.

    Memory jumps, and from then on each step takes more work. Objects that a script keeps every few
    units make no step longer, or come evenly. New traces or compiled code have their own memory.

    Args:
        metric: RAM holds what the processor works on, VRAM what the step waits for.
        rises: Change of memory to each unit from the one before, bytes, `[n - 1]`.
    """
    if metric == "vram":
        work = _array(unit.step_s for unit in units)
    else:
        work = _array(unit.cpu_s / unit.steps if unit.steps else math.nan for unit in units)
    least = max(_RISES, _JUMP * median(rises)) if len(rises) else _RISES
    code = _array(unit.traces for unit in units), _array(unit.code_regions for unit in units)
    is_jump = rises >= least
    for counts in code:
        is_jump &= ~(np.diff(counts) > 0.0)
    jumps = [int(at) for at in np.flatnonzero(is_jump) if _is_more_from(int(at) + 1, work)]
    even = even_jumps(rises, _RISES)
    if np.isin(even, jumps).sum() < _MOST_WITH_WORK * len(even):
        jumps = [at for at in jumps if at not in even]
    while jumps:
        of_stage = [at for at in jumps if at < jumps[0] + _BESIDE]
        is_of_stage = np.zeros(len(rises), dtype=np.bool_)
        is_of_stage[of_stage] = True
        yield jumps[0], is_of_stage
        jumps = jumps[len(of_stage) :]


def _is_more_from(at: int, work: Floats) -> bool:
    before = work[max(1, at - _BESIDE) : at]  # the first unit compiles
    after = work[at : at + _BESIDE]
    before = before[before > 0.0]
    after = after[after > 0.0]
    if not len(before) or len(after) < _FEWEST_AFTER:
        return False
    return median(after) >= _MORE_WORK * median(before)


_JUMP: Final = 3.0
"""Times the usual rise from which it is a jump."""

_BESIDE: Final = 3
_FEWEST_AFTER: Final = 2
"""Units before and after a jump whose work is compared; one that takes longer is no stage."""

_MORE_WORK: Final = 1.2
_MOST_WITH_WORK: Final = 0.6
"""Part of even jumps without which they are not those of a curriculum."""


def _levels(units: Sequence[Unit], *, are_short: bool) -> Iterable[dict[str, float]]:
    """Readings at the ends of short units; of longer ones the smallest samples."""
    return (unit.at_end if are_short else unit.low for unit in units)


def _are_short(metric: VerdictMetric, units: Sequence[Unit]) -> bool:
    if any(metric not in unit.at_end for unit in units):
        return False
    return bool(median([unit.n_samples for unit in units]) < _FEW_SAMPLES)


_FEW_SAMPLES: Final = 3

_DIAGNOSIS_FREES: Final = frozenset(
    {
        CounterKind.ALLOCATOR_BYTES,
        CounterKind.BLOCKS,
        CounterKind.NATIVE_BYTES,
        CounterKind.FREE_BYTES,
    }
)

_MOST_DIAGNOSED: Final = 1 / 3
"""Share of the units beyond which diagnoses are no exception."""

_MOST_LARGER: Final = 0.2
"""Share of the units beyond which larger batches are no exception."""


def highest_of(metric: VerdictMetric, units: Sequence[Unit], kind: UnitKind) -> Floats:
    """Series that meets a limit first, one value per unit: of memory the largest sample, `[n]`."""
    if metric in {"ram", "vram"}:
        return _array(unit.high.get(metric, np.nan) for unit in units)
    return values_of(metric, units, kind)


def counters_of(metric: VerdictMetric, units: Sequence[Unit]) -> list[Counter]:
    """Counters beside a metric; for functions those that were traced lately."""
    found = [
        Counter(CounterKind.RETAINED, _array(unit.retained for unit in units)),
        Counter(CounterKind.DISUSED, _array(unit.disused for unit in units)),
        Counter(CounterKind.TRACES, _array(map(_traces_of_models, units))),
    ]
    if metric == "ram":
        for kind, read in _OF_MEMORY.items():
            values = _array(map(read, units))
            is_freed = kind in _DIAGNOSIS_FREES
            found.append(Counter(kind, _without_diagnoses(values, units) if is_freed else values))
    if metric == "vram":
        in_use = _array(unit.low.get("device_allocator", _on_host(unit)) for unit in units)
        found.append(Counter(CounterKind.ALLOCATOR_BYTES, in_use))
    before = units[max(0, len(units) - 1 - _LATELY)].functions
    for name, traces in units[-1].functions.items():
        if traces > before.get(name, 0.0):
            counts = _array(unit.functions.get(name, 0.0) for unit in units)
            found.append(Counter(CounterKind.TRACES, counts, name))
    found += _kept_beside(metric, units)
    return [counter for counter in found if np.isfinite(counter.values).any()]


_MOST_PLACES: Final = 32
"""Maximum number of places, those that changed last: one count contains as many."""


def _kept_beside(metric: VerdictMetric, units: Sequence[Unit]) -> list[Counter]:
    """Counters of kept objects that a metric may contain.

    Memory of an allocator on the host is that of tensors: arrays of NumPy are not in it, and of
    other objects only a part may be.
    """
    if metric == "vram" and any("allocator" in unit.low for unit in units):
        kept = _kept_counters(units, is_on_device=False)
        return [one for each in kept if (one := in_allocator(each)) is not None]
    if metric not in {"ram", "vram", "step_time", "graph"}:
        return []
    kept = _kept_counters(units, is_on_device=metric == "vram")
    return [one for one in kept if metric != "graph" or _are_traced(one.kept)]


_TENSORS: Final = frozenset({"tensorflow.Tensor", "keras.Variable", "jax.Array"})
_NO_TENSORS: Final = frozenset(
    {
        *("numpy.ndarray", "pandas.DataFrame", "matplotlib.Figure", "number", "class"),
        *("str", "bytes", "tuple"),
        *("torch.Tensor", "torch.Tensor with graph", GRAPH),
    }
)
_MOST_OF_OTHERS: Final = 1.5
"""Growth of objects as a multiple of that of an allocator, at most: beyond it they hold more than
its tensors, and nobody knows what."""


def in_allocator(counter: Counter) -> Counter | None:
    """The counter, if its objects may hold tensors of an allocator on the host; else None."""
    kind = "" if counter.kept is None else counter.kept.kind
    if counter.kind is not CounterKind.KEPT_BYTES or kind in _NO_TENSORS:
        return None
    return counter if kind in _TENSORS else replace(counter, most_share=_MOST_OF_OTHERS)


_KeptKey = tuple[str, str, str]


def _kept_counters(units: Sequence[Unit], *, is_on_device: bool) -> list[Counter]:
    """Counters of the objects kept at the last counts, each place through all units.

    A count contains the places that changed: one that has just stopped growing is in those before.
    """
    newest: dict[PlaceKey, KeptObjects] = {}
    for unit in reversed(units):
        for each in unit.kept if len(newest) < _MOST_PLACES else ():
            newest.setdefault(place_key(each), each)
    if not newest:
        return []
    tables = [
        {place_key(each): each for each in unit.kept} if unit.is_counted or unit.kept else None
        for unit in units
    ]
    of_memory = [each for each in newest.values() if each.is_on_device is is_on_device]
    moments = _moments_of_counts(units)
    return [replace(_kept_counter(tables, kept), moments=moments) for kept in of_memory]


def _moments_of_counts(units: Sequence[Unit]) -> Floats | None:
    """Positions of the counts among parts of time; None for epochs and fits.

    A part begins with a sample, and its count is made at the end of a call, anywhere in it.
    """
    counted_s = _array(unit.counted_s for unit in units)
    lasted_s = units[-1].start_s - units[0].start_s
    if lasted_s <= 0.0 or not np.isfinite(counted_s).any():
        return None
    return (counted_s - units[0].start_s) / lasted_s * (len(units) - 1)


def _kept_counter(
    tables: Sequence[dict[PlaceKey, KeptObjects] | None], kept: KeptObjects
) -> Counter:
    found, has_stopped = _of_place(tables, place_key(kept))
    if is_full(kept):
        # It holds no more objects, but they may grow.
        found = [None if each is None or not is_full(each) else each for each in found]
    has_size = kept.n_bytes is not None
    if has_size and not kept.container and kept.kind != GRAPH:
        # An attribute of several objects: which of them are found may differ from count to count.
        found = [None if each is None or each.count != kept.count else each for each in found]
    counts = _array(map(_count_of, found))
    values = _without_dips(_array(map(_bytes_of, found)), counts) if has_size else counts
    kind = CounterKind.KEPT_BYTES if has_size else CounterKind.KEPT_OBJECTS
    return Counter(kind, values, kept=kept, has_stopped=has_stopped)


def _without_dips(n_bytes: Floats, counts: Floats) -> Floats:
    """Bytes of a place as if objects that came were as large as those before them.

    A few of many objects are measured, in a set other ones at each count: their size scatters.
    Only where more objects seem to take less, by less than one of them, it is corrected.
    """
    corrected = n_bytes.copy()
    for before, at in pairwise(np.flatnonzero(np.isfinite(n_bytes))):
        each = corrected[before] / max(1.0, counts[before])
        is_more = counts[at] > counts[before]
        if is_more and 0.0 <= corrected[before] - n_bytes[at] < each:
            corrected[at] = each * counts[at]
    return corrected


_STOPPED: Final = 2
_UNCHANGED: Final = 3
_TIMES_GAP: Final = 2
"""Number of last counts without a change from which a place has stopped, from which it explains no
growth, and both in times of the longest gap between changes."""


def _of_place(
    tables: Sequence[dict[PlaceKey, KeptObjects] | None], key: PlaceKey
) -> tuple[list[KeptObjects | None], bool]:
    """Objects of a place as counted in each unit, and if it has stopped growing.

    None where nothing was counted, or as before.
    """
    found = [None if table is None else table.get(key) for table in tables]
    counted = [at for at, table in enumerate(tables) if table is not None]
    changes = [n for n, at in enumerate(counted) if found[at] is not None]
    gaps = [later - earlier for earlier, later in pairwise(changes)]
    unchanged = len(counted) - 1 - changes[-1]
    least = _TIMES_GAP * max(gaps, default=1)
    if unchanged >= max(_UNCHANGED, least):
        for at in counted[changes[-1] + 1 :]:  # a judged window may end amid them
            found[at] = found[counted[changes[-1]]]
    return found, unchanged >= max(_STOPPED, least)


def _are_traced(kept: KeptObjects | None) -> bool:
    if kept is None:
        return False
    return kept.kind in {DATASET, TRACED_FUNCTION} or kept.place == ROOT_GRAPH


def _bytes_of(kept: KeptObjects | None) -> float:
    return math.nan if kept is None or kept.n_bytes is None else kept.n_bytes


def _count_of(kept: KeptObjects | None) -> float:
    return math.nan if kept is None else float(kept.count)


def _traces_of_models(unit: Unit) -> float:
    """Live traces without those of data pipelines, as far as these are among the largest."""
    pipelines = (n for name, n in unit.functions.items() if name.startswith(OF_PIPELINES))
    return unit.traces - sum(pipelines)


_NEARLY_ALL: Final = 0.8
_MEASURED: Final = 0.5
"""Sum of the parts as a share of the judged growth, at least; its inverse is the maximum: else
something else grew, or freed memory hides it."""


def growing_part(units: Sequence[Unit], growth: Growth) -> tuple[str, float] | None:
    """The part of the units with at least four fifths of the growth, and its share.

    Args:
        units: Measured units, to which the judgement's indices refer.
        growth: The judgement of the process's memory.
    """
    if growth.slope is None or growth.last >= len(units):
        return None
    window = [unit.parts for unit in units[growth.first + 1 : growth.last + 1] if unit.parts]
    sums = {name: sum(parts.get(name, 0.0) for parts in window) for name in _PARTS}
    total = sum(sums.values())
    judged = growth.slope.middle * len(window)
    if judged <= 0.0 or not _MEASURED * judged <= total <= judged / _MEASURED:
        return None
    name = max(sums, key=sums.__getitem__)
    part = sums[name] / total
    return (name, min(1.0, part)) if part >= _NEARLY_ALL else None


_PARTS: Final = ("steps", "validation", "between_epochs", "between_fits")


def cut(counters: Iterable[Counter], mask: NDArray[np.bool_]) -> list[Counter]:
    """The same counters for some units only."""
    return [
        replace(
            one,
            values=one.values[: len(mask)][mask],
            moments=None if one.moments is None else one.moments[: len(mask)][mask],
        )
        for one in counters
    ]


def _step_times(units: Sequence[Unit], kind: UnitKind) -> Floats:
    """Step times of comparable units: a step with a larger batch takes longer."""
    if kind is UnitKind.EPOCH:
        batch = units[-1].kind[1]
        return _array(unit.step_s if unit.kind[1] == batch else np.nan for unit in units)
    counts = Counts(unit.kind for unit in units if unit.step_s > 0.0)
    has_others = (counts[unit.kind] >= _FEWEST_OF_KIND for unit in units)
    pairs = zip(units, has_others, strict=True)
    step_s = _array(unit.step_s if is_compared else np.nan for unit, is_compared in pairs)
    return _as_one_kind(step_s, units)


_FEWEST_OF_KIND: Final = 2
"""Smallest number of units of a kind: one alone is compared with none."""


def _as_one_kind(step_s: Floats, units: Sequence[Unit]) -> Floats:
    is_finite = np.isfinite(step_s) & (step_s > 0.0)
    values = np.full(len(step_s), np.nan)
    if is_finite.any():
        kinds = [unit.kind for unit, has_value in zip(units, is_finite, strict=True) if has_value]
        values[is_finite] = as_if_of_one_kind(step_s[is_finite], kinds)
    return values


def _array(values: Iterable[float]) -> Floats:
    return np.fromiter(values, dtype=np.float64)
