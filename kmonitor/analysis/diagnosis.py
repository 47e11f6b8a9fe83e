"""What growing memory goes into, as far as counters tell, and what can be done about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kmonitor.analysis.counters import CounterGrowth, CounterKind
from kmonitor.analysis.growth import Growth


class Cause(StrEnum):
    """What grows. Words for the reader are the presenters' matter."""

    RETAINED_TRACES = "traces of models that are gone"
    RETRACING = "a function is traced again and again"
    REBUILT = "models or optimizers are built again and again, and something keeps them"
    PYTHON = "Python keeps objects"
    WORKERS = "worker processes of the data pipeline"
    NATIVE = "memory that native code took with malloc"
    CACHE = "the allocator's cache or fragmentation: what was handed out does not grow"
    DATA_CACHE = "data that is read once and kept"
    UNKNOWN = "not told by what is counted"


class Sureness(StrEnum):
    """How much the counters say. None of them proves who is to blame."""

    COUNTED = "counted: that very thing grew with memory"
    FITTING = "fitting: what grew is usually caused by this"
    OPEN = "open"


class Advice(StrEnum):
    """What may help; each names an action of ours or a change of the script."""

    COLLECT = "collect"
    RELOAD = "reload"
    RESTART = "restart"
    TENSORS_NOT_NUMBERS = "pass tensors instead of Python numbers to the function"
    RUN_FOLDS = "train each model in a process of its own"
    BUILD_ONCE = "build model and optimizer once, outside of the loop"
    DIAGNOSE = "compare Python's allocations of two units"
    FEWER_WORKERS = "start fewer workers, or anew for each epoch"
    NOTHING = "nothing: it ends by itself"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The cause that the counters speak for.

    Attributes:
        cause: What grows.
        sureness: How much is known.
        because: Counters that grew with memory and speak for it; may be empty.
        function: The function with most new traces, or the line of the script that allocated most,
            if the cause is about such and it is known.
        advice: What may help, the mildest first.
    """

    cause: Cause
    sureness: Sureness
    because: tuple[CounterGrowth, ...] = ()
    function: str | None = None
    advice: tuple[Advice, ...] = ()


@dataclass(frozen=True, slots=True)
class FirstUnit:
    """What the first unit did, for caches that fill once.

    Attributes:
        rise: From its first sample to its last, in the unit of the series.
        later_rise: From its last sample to now.
    """

    rise: float
    later_rise: float


_SHARE_OF_FIRST: Final = 0.8
_RECLAIMS: Final = (Advice.COLLECT, Advice.RELOAD, Advice.RESTART)
_ADVICE: Final[dict[Cause, tuple[Advice, ...]]] = {
    Cause.RETAINED_TRACES: (*_RECLAIMS, Advice.BUILD_ONCE, Advice.RUN_FOLDS),
    Cause.RETRACING: (Advice.TENSORS_NOT_NUMBERS, Advice.RELOAD),
    Cause.REBUILT: (Advice.BUILD_ONCE, *_RECLAIMS, Advice.RUN_FOLDS),
    Cause.PYTHON: (Advice.DIAGNOSE, Advice.RESTART),
    Cause.WORKERS: (Advice.FEWER_WORKERS, Advice.RESTART),
    Cause.NATIVE: (Advice.RESTART,),
    Cause.CACHE: (Advice.COLLECT,),
    Cause.DATA_CACHE: (Advice.NOTHING,),
    Cause.UNKNOWN: (Advice.DIAGNOSE, Advice.RESTART),
}
_TRACES: Final = frozenset({CounterKind.TRACES, CounterKind.RETAINED})
_SPEAKS_FOR: Final = {
    Cause.RETAINED_TRACES: frozenset({*_TRACES, CounterKind.TENSORS, CounterKind.OBJECTS}),
    Cause.RETRACING: _TRACES,
    Cause.REBUILT: frozenset({*_TRACES, CounterKind.TENSORS, CounterKind.OBJECTS}),
    Cause.PYTHON: frozenset({CounterKind.TENSORS, CounterKind.OBJECTS, CounterKind.PYTHON_BYTES}),
    Cause.WORKERS: frozenset({CounterKind.CHILDREN_BYTES}),
    Cause.NATIVE: frozenset({CounterKind.NATIVE_BYTES}),
}
_IN_ORDER: Final = (
    (Cause.RETAINED_TRACES, {CounterKind.RETAINED}),
    (Cause.REBUILT, {CounterKind.TRACES, CounterKind.TENSORS}),
    (Cause.RETRACING, {CounterKind.TRACES}),
    (Cause.WORKERS, {CounterKind.CHILDREN_BYTES}),
    (Cause.PYTHON, {CounterKind.PYTHON_BYTES}),
    (Cause.PYTHON, {CounterKind.TENSORS}),
    (Cause.PYTHON, {CounterKind.OBJECTS}),
    (Cause.NATIVE, {CounterKind.NATIVE_BYTES}),
)
"""The first whose counters all grew."""

_STEPS_OF_KERAS: Final = frozenset(
    f"{kind}_step_on_{what}"
    for kind in ("one", "multi")
    for what in ("iterator", "data", "data_distributed")
) | {"train_function", "test_function", "predict_function"}
"""What Keras traces of a model for `fit`, `evaluate` and `predict`, by name."""

_COUNTED: Final = frozenset({Cause.RETAINED_TRACES, Cause.RETRACING, Cause.WORKERS})
"""Here the counter is the cause; of objects or malloc it is not known who keeps them."""


def diagnose(
    growth: Growth,
    grew_with: Sequence[CounterGrowth],
    read: frozenset[CounterKind],
    first_unit: FirstUnit | None = None,
    *,
    is_per_fit: bool = False,
) -> Diagnosis | None:
    """Name the cause of growth, or of a rise in the first unit; None if there is neither.

    Args:
        growth: The judgement of the memory's series.
        grew_with: Counters that grew over the same window.
        read: Counters that were read at all: one that is absent speaks for nothing.
        first_unit: Where it is known.
        is_per_fit: Whether a unit is a fit and not an epoch.

    Source: order and counters from trainings in which each cause was built in: traces, objects,
        MiB of malloc and tensors a unit were 2.9, 1346, 1.45, 0 (retracing), 2.7, 8398, 5.0, 21
        (models rebuilt), 0, 3, 1.1, 0 (arrays kept by a callback), 0, 0, 1.5, 0 (native).
    """
    if not growth.is_growing:
        return _of_first_unit(first_unit)
    cause = _cause({one.kind for one in grew_with}, read)
    if cause is Cause.RETRACING and is_per_fit and _are_steps_of_models(grew_with):
        cause = Cause.REBUILT
    speaks_for = _SPEAKS_FOR.get(cause, frozenset[CounterKind]())
    because = tuple(one for one in grew_with if one.kind in speaks_for)
    function = _function(because)
    return Diagnosis(cause, _sureness(cause), because, function, _ADVICE[cause])


def _cause(grown: set[CounterKind], read: frozenset[CounterKind]) -> Cause:
    found = next((cause for cause, needed in _IN_ORDER if needed <= grown), None)
    if found is not None:
        return found
    # What malloc handed out was counted and is flat: the rest is what it keeps.
    return Cause.CACHE if CounterKind.NATIVE_BYTES in read else Cause.UNKNOWN


def _are_steps_of_models(grew_with: Sequence[CounterGrowth]) -> bool:
    """Whether each fit left a step of its own: a model makes it once, and takes it along."""
    named = {one.function for one in grew_with if one.function}
    return bool(named) and named <= _STEPS_OF_KERAS


def _sureness(cause: Cause) -> Sureness:
    if cause is Cause.UNKNOWN:
        return Sureness.OPEN
    return Sureness.COUNTED if cause in _COUNTED else Sureness.FITTING


def _function(because: Sequence[CounterGrowth]) -> str | None:
    named = [one for one in because if one.function]
    return max(named, key=lambda one: one.per_unit.middle).function if named else None


def _of_first_unit(first: FirstUnit | None) -> Diagnosis | None:
    if first is None or first.rise <= 0.0:
        return None
    if first.rise < _SHARE_OF_FIRST * (first.rise + max(0.0, first.later_rise)):
        return None
    cause = Cause.DATA_CACHE
    return Diagnosis(cause, Sureness.FITTING, advice=_ADVICE[cause])
