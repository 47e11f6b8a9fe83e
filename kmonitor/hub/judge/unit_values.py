"""What is judged of a run's units, as arrays: values of a metric, and counters beside it."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.base.trend import Slope
from kmonitor.hub.judge.counters import Counter, CounterGrowth, CounterKind
from kmonitor.hub.judge.detectors import Per
from kmonitor.hub.judge.growth import Growth
from kmonitor.hub.judge.slowdown import relative_to_own_kind
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.verdict_events import VerdictMetric

Floats = NDArray[np.float64]

_LATELY: Final = 5
_SHARE_EXPLAINED: Final = 0.4
"""Of the growth; less of it explains nothing."""


def _on_host(unit: Unit) -> float:
    return unit.low.get("allocator", math.nan)


_OF_MEMORY: Final[dict[CounterKind, Callable[[Unit], float]]] = {
    CounterKind.CHILDREN_BYTES: lambda unit: unit.children_bytes,
    CounterKind.ALLOCATOR_BYTES: _on_host,
    CounterKind.BLOCKS: lambda unit: unit.python_blocks,
    CounterKind.NATIVE_BYTES: lambda unit: unit.malloc_bytes,
    CounterKind.FREE_BYTES: lambda unit: unit.malloc_free_bytes,
}


def values_of(metric: VerdictMetric, units: Sequence[Unit], per: Per) -> Floats:
    """What the trend is looked for in, one value a unit; NaN where not measured, `[n]`.

    Of memory the smallest sample; of the graph its size at the end; of steps their time, in a
    loop of models as if all were of one kind.
    """
    match metric:
        case "ram" | "vram":
            return _array(unit.low.get(metric, np.nan) for unit in units)
        case "graph":
            return _array(unit.operations for unit in units)
        case "step_time":
            step_s = _array(unit.step_s for unit in units)
            return step_s if per is Per.EPOCH else _as_one_kind(step_s, units)


def highest_of(metric: VerdictMetric, units: Sequence[Unit], per: Per) -> Floats:
    """What meets a limit first, one value a unit: of memory the largest sample, `[n]`."""
    if metric in {"ram", "vram"}:
        return _array(unit.high.get(metric, np.nan) for unit in units)
    return values_of(metric, units, per)


def counters_of(metric: VerdictMetric, units: Sequence[Unit]) -> list[Counter]:
    """What was counted beside a metric; of functions those that were traced lately."""
    found = [
        Counter(CounterKind.RETAINED, _array(unit.retained for unit in units)),
        Counter(CounterKind.TRACES, _array(unit.traces for unit in units)),
    ]
    if metric == "ram":
        found += [Counter(kind, _array(map(read, units))) for kind, read in _OF_MEMORY.items()]
    if metric == "vram":
        in_use = _array(unit.low.get("device_allocator", _on_host(unit)) for unit in units)
        found.append(Counter(CounterKind.ALLOCATOR_BYTES, in_use))
    before = units[max(0, len(units) - 1 - _LATELY)].functions
    for name, traces in units[-1].functions.items():
        if traces > before.get(name, 0.0):
            counts = _array(unit.functions.get(name, 0.0) for unit in units)
            found.append(Counter(CounterKind.TRACES, counts, name))
    return [counter for counter in found if np.isfinite(counter.values).any()]


def cut(counters: Iterable[Counter], kept: NDArray[np.bool_]) -> list[Counter]:
    """The same of some units only."""
    return [Counter(one.kind, one.values[: len(kept)][kept], one.function) for one in counters]


def allocation_growth(allocated: tuple[float, str] | None, growth: Growth) -> list[CounterGrowth]:
    """What *Diagnose* saw Python allocate in an epoch, if it explains growth a unit.

    Args:
        allocated: Bytes, and the line that allocated most; None: nobody looked.
        growth: The judgement.
    """
    if allocated is None or growth.slope is None:
        return []
    grown, place = allocated
    if grown < _SHARE_EXPLAINED * growth.slope.middle:
        return []
    # One look has no interval.
    return [CounterGrowth(CounterKind.PYTHON_BYTES, Slope(grown, grown, grown), place)]


def _as_one_kind(step_s: Floats, units: Sequence[Unit]) -> Floats:
    is_there = np.isfinite(step_s) & (step_s > 0.0)
    values = np.full(len(step_s), np.nan)
    if is_there.any():
        kinds = [unit.kind for unit, there in zip(units, is_there, strict=True) if there]
        parts = relative_to_own_kind(step_s[is_there], kinds)
        values[is_there] = parts * float(np.median(step_s[is_there]))
    return values


def _array(values: Iterable[float]) -> Floats:
    return np.fromiter(values, dtype=np.float64)
