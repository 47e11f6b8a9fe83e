"""Causes of growing memory and slower steps as far as counters show, and remedies.

Memory may also rise once, within the first epoch, as a cache of data fills.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from kmonitor.base.trend import Slope
from kmonitor.hub.judge.counters import KEPT, CounterGrowth, CounterKind
from kmonitor.hub.judge.growth import Growth
from kmonitor_agent.wire.messages.events import KeptObjects


class Cause(StrEnum):
    """Cause of growth. Its text for readers is in `ui.verdicts.verdict_text`."""

    RETAINED_TRACES = "traces of models that no longer exist"
    DISUSED_TRACES = "traces that are no longer used, as of a model that was compiled again"
    RETRACING = "a function is retraced repeatedly"
    COMPILED = "a function is recompiled for each new shape"
    REBUILT = "models, optimizers or train functions are built repeatedly, and are kept alive"
    KEPT = "one part of the script holds on to more and more memory"
    PYTHON = "Python objects are kept alive"
    TENSORS = "framework tensors are kept alive"
    WORKERS = "worker processes of the data pipeline"
    MALLOC = (
        "arrays or native code: memory allocated with malloc; kmonitor has not found what retains"
        " it"
    )
    NATIVE = "native code: memory allocated with malloc, but not from Python"
    COLLECTOR_OFF = "Python's garbage collector is off, so that objects in reference cycles stay"
    CACHE = "freed memory that malloc keeps: a cache, or fragmentation"
    ARENAS = "freed memory that malloc keeps in one arena after another"
    UNCOLLECTED = "Python objects that may be garbage waiting for a full collection"
    FILES = "files, sockets or pipes are opened and never closed"
    THREADS = "threads are started and never end"
    PROCESSES = "child processes are started and never end"
    ZOMBIES = "child processes exited and were never reaped (zombies)"
    BLOCKS = "blocks of shared memory are created and never unlinked"
    DISK = "the disk is filling up: space used by everybody"
    PRESSURE = "memory pressure: pages are being read back from disk, and tasks are waiting"
    FILLING = "a cache or queue with a limit that is filling up"
    BUFFER = "a list or the like that is emptied now and then"
    DATA_CACHE = "data that is read once and kept"
    THROTTLED = "the cgroup throttles the CPU"
    CLOCK = "the CPU is running at a lower clock speed"
    BUSY = "the main thread waits longer for a CPU"
    TRACED_AGAIN = "a function was replaced or traced again in the first slower unit"
    OWN_WORK = "the process itself takes more processor time"
    GARBAGE = "garbage collections take longer because there are more objects"
    PART = "one of the measured parts of the step or epoch time"
    UNKNOWN = "unknown: none of the measurements explain it"


class Confidence(StrEnum):
    """Strength of the evidence from counters. None of them proves who is to blame."""

    COUNTED = "measured: this grew together with memory"
    FITTING = "likely: this is the usual cause of such growth"
    OPEN = "open"


class Remedy(StrEnum):
    """Possible remedy: an action of kmonitor or a change of the script."""

    COLLECT = "collect"
    RELOAD = "reload"
    RESTART = "restart"
    TENSORS_NOT_NUMBERS = "pass tensors instead of Python numbers to the function"
    FUNCTION_ONCE = "create the function once, outside the loop"
    COLLECT_EACH = "call collect() after each model"
    COLLECT_EACH_FIT = "call collect() after each fit"
    COMPILE_ONCE = "compile the model once, outside the loop"
    RUN_FOLDS = "train each model in its own process"
    BUILD_ONCE = "build the model and optimizer once, outside the loop"
    ENABLE_COLLECTOR = "switch Python's garbage collector on, or collect after each epoch"
    DIAGNOSE = "compare Python's allocations in two epochs or fits"
    CHECK_CHILD = "check what a child process keeps, or replace workers"
    FEWER_WORKERS = "start fewer workers, or new ones for each epoch (a Pool: maxtasksperchild)"
    PAD = "pad batches to a few shapes, or bucket them by length"
    NO_JIT = "compile the model with jit_compile=False"
    FLOAT_OF_LOSS = "keep the loss as a number, not the tensor with its graph"
    KEEP_NUMBERS = "keep only the numbers, or only the newest values"
    COPY_VIEWS = "keep copies of parts of arrays, not views that keep all of an array"
    LIMIT_CALLS = "start a call only while few wait for a worker"
    UNSUBSCRIBE = "remove a callback when its object is done, or refer to it weakly"
    LIMIT_QUEUE = "give the queue or replay memory a maximum number of objects"
    FIND_HOLDER = "find what keeps the objects that became more numerous"
    LOOK_AT_LINE = "check what keeps the memory that a line allocates"
    BISECT = "leave out one part of the script at a time"
    OTHER_MALLOC = "limit malloc's arenas, or use another allocator"
    KEEP_LESS = "keep only what is needed of each object, or only the newest ones"
    RESET_OUT = "clear the notebook's Out"
    CLEAR_LAST = "release the last traceback"
    CLOSE_FIGURES = "close each figure"
    DROP_FIGURES = "keep no figures; closing does not free one that a list keeps"
    DROP_MODELS = "keep no models, nor History objects, which keep theirs"
    DROP_ITERATORS = "keep no iterators of datasets"
    DATASET_ONCE = "create the dataset once"
    ONE_DATASET = "keep one dataset at a time"
    LIMIT_CACHE = "give the cache a limit that fits into memory"
    COPY_PART = "copy a part of a memory map before it is changed"
    REGISTER_ONCE = "register each class or function with Keras once, outside the loop"
    EXIT_ONCE = "register one function with atexit, outside the loop"
    DATABASE_IN_FILE = "keep the database in a file, and close connections"
    SMALL_LOGS = "keep only numbers of the logs"
    HISTORY_DICT = "keep history.history (a dict) instead of the History object"
    CLOSE_FILES = "close files and sockets after use"
    CLOSE_SOCKETS = "close connections, or reuse one"
    CLOSE_PIPES = "close the pipes of child processes"
    SHARE_LESS = "share tensors through the file system, or share fewer"
    POOL_ONCE = "create a thread pool once, and shut it down"
    WAIT_FOR_CHILDREN = "reap exited child processes"
    UNLINK_BLOCKS = "close and unlink each block"
    FEWER_CHECKPOINTS = "keep fewer checkpoints"
    FREE_MEMORY = "free memory, or close the programs that use it"
    FREE_SPACE = "free space on the disk"
    PREFETCH = "prefetch batches on several cores"
    PARALLEL_MAP = "map the elements of a dataset that prefetches in parallel, or cache them"
    ADD_PREFETCH = "prefetch the elements of a dataset that maps in parallel"
    KEEP_BATCHES = "keep the elements of a dataset that prefetches and maps in parallel"
    NO_PYTHON_MAP = "map by operations of TensorFlow instead of Python code"
    NO_FROM_GENERATOR = "read the data in parallel instead of by a Python generator"
    PREFETCH_DATASET = "prefetch and map the dataset's elements in parallel, or cache them"
    MORE_WORKERS = "load the batches of a PyDataset by more workers"
    NO_GENERATOR = "pass data that can be loaded in parallel instead of a generator"
    LOADER_WORKERS = "load the batches of a DataLoader by more workers"
    REPEAT = "create the iterator over the data once for all epochs"
    KEEP_WORKERS = "start the workers of a DataLoader once for all epochs"
    EACH_NTH = "run the callback less often"
    SAVE_LESS = "save less often"
    VALIDATE_LESS = "validate less often"
    LOOK_AT_CHANGE = "check what the script changed in the first slower unit"
    LOOK_AT_WORK = "check what the steps themselves do more of"
    LOOK_BETWEEN = "check what the script does between epochs or fits"
    LOOK_AT_DATA = "check what the data does at the end of an epoch"
    MORE_CPU = "give it more CPU time, or start fewer threads and workers"
    CLOCK_SPEED = "check cooling, power limits and the CPU governor"
    FEWER_COLLECTIONS = "run garbage collection less often"
    ONE_SHAPE = "pass batches that all have the same shape, or declare the dimensions that vary"


@dataclass(frozen=True, slots=True)
class GrowthExplanation:
    """The cause that the counters support.

    Attributes:
        confidence: Strength of the evidence.
        because: Counters that grew with memory and support the cause; may be empty.
        ruled_out: Counts that are not the cause, if the cause is open.
        kept: The largest kept objects and their place, if they are the cause or keep the models.
        function: The function with most new traces, or the line of the script that allocated most,
            if the cause is about such and it is known.
        advice: Possible remedies, the mildest first.
        changed: Difference between the last two traces of that function: `PYTHON_VALUES`, or text;
            empty if unknown, or with another cause.
    """

    cause: Cause
    confidence: Confidence
    because: tuple[CounterGrowth, ...] = ()
    function: str | None = None
    advice: tuple[Remedy, ...] = ()
    changed: str = ""
    kept: KeptObjects | None = None
    ruled_out: tuple[str, ...] = ()


PYTHON_VALUES: Final = "python"
"""No tensor differs: a Python value or object does, or the function itself is another one."""

_RECLAIMS: Final = (Remedy.COLLECT, Remedy.RELOAD, Remedy.RESTART)
_ADVICE: Final[dict[Cause, tuple[Remedy, ...]]] = {
    Cause.RETAINED_TRACES: (
        *_RECLAIMS,
        Remedy.COLLECT_EACH,
        Remedy.BUILD_ONCE,
        Remedy.RUN_FOLDS,
    ),
    Cause.DISUSED_TRACES: (*_RECLAIMS, Remedy.COMPILE_ONCE, Remedy.COLLECT_EACH_FIT),
    Cause.RETRACING: (
        Remedy.TENSORS_NOT_NUMBERS,
        Remedy.FUNCTION_ONCE,
        Remedy.DIAGNOSE,
        Remedy.RELOAD,
    ),
    Cause.COMPILED: (Remedy.PAD, Remedy.NO_JIT, Remedy.RESTART),
    Cause.REBUILT: (
        Remedy.COLLECT_EACH,
        Remedy.BUILD_ONCE,
        *_RECLAIMS,
        Remedy.RUN_FOLDS,
    ),
    Cause.KEPT: (Remedy.KEEP_NUMBERS, Remedy.RESTART),
    Cause.PYTHON: (Remedy.DIAGNOSE, Remedy.RESTART),
    Cause.TENSORS: (Remedy.DIAGNOSE, Remedy.RESTART),
    Cause.WORKERS: (Remedy.CHECK_CHILD, Remedy.RESTART),
    Cause.BLOCKS: (Remedy.UNLINK_BLOCKS, Remedy.SHARE_LESS),
    Cause.MALLOC: (Remedy.DIAGNOSE, Remedy.RESTART),
    Cause.NATIVE: (Remedy.BISECT, Remedy.RESTART),
    Cause.COLLECTOR_OFF: (Remedy.COLLECT, Remedy.ENABLE_COLLECTOR),
    Cause.CACHE: (Remedy.COLLECT, Remedy.OTHER_MALLOC, Remedy.RESTART),
    Cause.FILLING: (),
    Cause.BUFFER: (),
    Cause.ARENAS: (),
    Cause.UNCOLLECTED: (Remedy.COLLECT,),
    Cause.DATA_CACHE: (),
    Cause.PART: (),
    Cause.UNKNOWN: (Remedy.DIAGNOSE, Remedy.RESTART),
}

_TRACES: Final = frozenset({CounterKind.TRACES, CounterKind.RETAINED, CounterKind.DISUSED})
_BUILT: Final = _TRACES | {CounterKind.ALLOCATOR_BYTES}
_SPEAKS_FOR: Final = {
    Cause.RETAINED_TRACES: _BUILT,
    Cause.DISUSED_TRACES: _BUILT,
    Cause.RETRACING: _TRACES | {CounterKind.FUNCTIONS},
    Cause.COMPILED: frozenset({CounterKind.CODE}),
    Cause.REBUILT: _BUILT | KEPT,
    Cause.KEPT: KEPT | {CounterKind.PYTHON_BYTES},
    Cause.PYTHON: frozenset({CounterKind.BLOCKS, CounterKind.PYTHON_BYTES}),
    Cause.TENSORS: frozenset({CounterKind.ALLOCATOR_BYTES}),
    Cause.WORKERS: frozenset({CounterKind.CHILDREN_BYTES}),
    Cause.BLOCKS: frozenset({CounterKind.NAMED_BYTES}),
    Cause.MALLOC: frozenset({CounterKind.NATIVE_BYTES}),
    Cause.NATIVE: frozenset({CounterKind.NATIVE_BYTES}),
    Cause.CACHE: frozenset({CounterKind.FREE_BYTES}),
}

_IN_ORDER: Final = (
    (Cause.RETAINED_TRACES, {CounterKind.RETAINED}),
    (Cause.DISUSED_TRACES, {CounterKind.DISUSED}),
    (Cause.REBUILT, {CounterKind.TRACES, CounterKind.ALLOCATOR_BYTES}),
    (Cause.BLOCKS, {CounterKind.NAMED_BYTES}),
    (Cause.KEPT, {CounterKind.KEPT_BYTES}),
    (Cause.RETRACING, {CounterKind.TRACES}),
    (Cause.COMPILED, {CounterKind.CODE}),
    (Cause.WORKERS, {CounterKind.CHILDREN_BYTES}),
    (Cause.KEPT, {CounterKind.KEPT_OBJECTS}),
    (Cause.RETRACING, {CounterKind.FUNCTIONS}),
    (Cause.PYTHON, {CounterKind.PYTHON_BYTES}),
    (Cause.TENSORS, {CounterKind.ALLOCATOR_BYTES}),
    (Cause.PYTHON, {CounterKind.BLOCKS}),
    (Cause.MALLOC, {CounterKind.NATIVE_BYTES}),
    (Cause.CACHE, {CounterKind.FREE_BYTES}),
)
"""Causes in order of precedence: the first one whose counters all grew is chosen."""

STEPS_OF_KERAS: Final = frozenset(
    f"{kind}_step_on_{what}"
    for kind in ("one", "multi")
    for what in ("iterator", "data", "data_distributed")
) | {"train_function", "test_function", "predict_function"}
"""Names of the functions that Keras traces for `fit`, `evaluate` and `predict`."""

_STEPS_ON_JAX: Final = frozenset({"train_step", "test_step", "predict_step"})
"""The same on JAX, which does not report why it compiles again. Keras passes arrays alone: a
shape differs."""

_COUNTED: Final = frozenset(
    {
        Cause.RETAINED_TRACES,
        Cause.DISUSED_TRACES,
        Cause.RETRACING,
        Cause.COMPILED,
        Cause.WORKERS,
        Cause.BLOCKS,
        Cause.KEPT,
    }
)
"""Causes that the counter itself shows; for objects, tensors or malloc the holder is unknown."""


def explain_growth(
    growth: Growth,
    grew_with: Sequence[CounterGrowth],
    *,
    changed: Mapping[str, str] | None = None,
    is_per_fit: bool = False,
    is_compared: bool = False,
) -> GrowthExplanation | None:
    """Name the cause of growth; None if there is no growth, and no count grew.

    Args:
        growth: The judgement of the memory's series.
        grew_with: Counters that grew over the same window; a counter that was not read is absent,
            and supports no cause.
        changed: Differences between the last two traces of functions, by their names.
        is_per_fit: True if a unit is a fit and not an epoch.
        is_compared: True if diagnoses compared lines and objects of Python, and found that it does
            not retain what grows.

    Source: order and counters from trainings in which each cause was built in
        (`tests/integration/test_verdict_causes.py`).
    """
    if not growth.is_growing and not grew_with:
        return None
    grown = {one.kind for one in grew_with}
    fitting = (cause for cause, needed in _IN_ORDER if needed <= grown)
    if not _traced_names(grew_with) <= STEPS_OF_KERAS:
        # A function of the script: its traces hold what it captured, and are no models.
        fitting = (cause for cause in fitting if cause is not Cause.REBUILT)
    cause = next(fitting, Cause.UNKNOWN)
    if cause is Cause.MALLOC and is_compared:
        cause = Cause.NATIVE
    if cause is Cause.RETRACING and _is_retrace_by_new_models(
        grew_with, changed or {}, is_per_fit
    ):
        cause = Cause.REBUILT
    speaks_for = _SPEAKS_FOR.get(cause, frozenset[CounterKind]())
    because = tuple(one for one in grew_with if one.kind in speaks_for)
    function = _function(because)
    found = GrowthExplanation(cause, _confidence(cause), because, function, _ADVICE[cause])
    if cause in {Cause.KEPT, Cause.REBUILT}:
        found = _with_kept(found)
    if cause is not Cause.RETRACING:
        return found
    return _with_functions(_with_change(found, changed or {}), grew_with)


TRACED_FUNCTION: Final = "tf.function"
DATASET: Final = "tf.data.Dataset"
"""Kinds of kept objects that each keep their own traces."""

GRAPH: Final = "torch.autograd.graph"
"""Kind of kept objects that are operations, counted although no container holds them."""

ROOT_GRAPH: Final = "tf.Graph"
"""Place that keeps Python functions of datasets, each with operations of its own."""

BOUND_METHOD: Final = "method"
"""Kind of kept objects that each keep the object that they belong to."""


def _with_functions(
    found: GrowthExplanation, grew_with: Sequence[CounterGrowth]
) -> GrowthExplanation:
    """The same with the place that keeps new functions, each traced for the first time."""
    functions = [one for one in grew_with if one.kept and one.kept.kind == TRACED_FUNCTION]
    if not functions or found.changed not in {"", PYTHON_VALUES}:
        return found
    advice = (each for each in found.advice if each is not Remedy.TENSORS_NOT_NUMBERS)
    return replace(
        found,
        kept=functions[0].kept,
        because=(*found.because, functions[0]),
        advice=tuple(dict.fromkeys((Remedy.FUNCTION_ONCE, *advice))),
    )


_OF_PLACES: Final = {
    "Out": Remedy.RESET_OUT,
    "sys.last_traceback": Remedy.CLEAR_LAST,
    "matplotlib.pyplot": Remedy.CLOSE_FIGURES,
    ROOT_GRAPH: Remedy.DATASET_ONCE,
    "keras.saving.get_custom_objects": Remedy.REGISTER_ONCE,
    "atexit": Remedy.EXIT_ONCE,
    "sqlite3": Remedy.DATABASE_IN_FILE,
}
_OF_KINDS: Final = {
    "torch.Tensor with graph": Remedy.FLOAT_OF_LOSS,
    GRAPH: Remedy.FLOAT_OF_LOSS,
    "numpy.memmap": Remedy.COPY_PART,
    "concurrent._WorkItem": Remedy.LIMIT_CALLS,
    BOUND_METHOD: Remedy.UNSUBSCRIBE,
    "matplotlib.Figure": Remedy.DROP_FIGURES,
    DATASET: Remedy.DATASET_ONCE,
    "tf.data.Iterator": Remedy.DROP_ITERATORS,
    "keras.History": Remedy.HISTORY_DICT,
    "keras.Model": Remedy.BUILD_ONCE,
}


_OF_NUMBERS: Final = frozenset(
    {
        "numpy.ndarray",
        "tensorflow.Tensor",
        "torch.Tensor",
        "jax.Array",
        "keras.Variable",
        "pandas.DataFrame",
        "number",
    }
)
"""Kinds of which a script may need a few numbers only."""


def _with_kept(found: GrowthExplanation) -> GrowthExplanation:
    """The same with the largest kept objects, and their remedy first."""
    by_size = sorted(found.because, key=_by_size, reverse=True)
    largest = next((one for one in by_size if one.kept is not None), None)
    if largest is None or (kept := largest.kept) is None:
        return found
    remedy = _remedy_of_kept(kept)
    if remedy is None and found.cause is Cause.KEPT and kept.kind not in _OF_NUMBERS:
        remedy = Remedy.KEEP_LESS
    if remedy is None:
        limits = (Remedy.LIMIT_CACHE,) if _may_be_cache(found, kept, largest) else ()
        return replace(found, kept=kept, advice=(*limits, *found.advice))
    others = (each for each in found.advice if each not in {remedy, Remedy.KEEP_NUMBERS})
    return replace(found, kept=kept, advice=(remedy, *others))


def _remedy_of_kept(kept: KeptObjects) -> Remedy | None:
    # The objects of a full one grow, and one that was created as long as it is has another use.
    has_room = kept.capacity is not None and kept.count < kept.capacity
    has_room = has_room and kept.container not in {"list", "ndarray"}
    if has_room or kept.container == "functools.cache":
        return Remedy.LIMIT_CACHE
    remedy = _OF_PLACES.get(kept.place) or _OF_KINDS.get(kept.kind)
    if kept.kind == DATASET and kept.container:
        remedy = Remedy.ONE_DATASET  # each fold has its own
    elif remedy is Remedy.HISTORY_DICT and kept.n_bytes is not None:
        # They share a model, whose size would be unknown: it is their logs that are large.
        remedy = Remedy.SMALL_LOGS
    elif remedy is Remedy.BUILD_ONCE and kept.container:
        # The models of a cross-validation have to be new; that they are kept is the fault.
        remedy = Remedy.DROP_MODELS
    elif remedy is None and kept.base:
        remedy = Remedy.COPY_VIEWS
    elif remedy is None and _is_queue(kept):
        remedy = Remedy.LIMIT_QUEUE
    return remedy


_QUEUES: Final = frozenset({"Queue", "LifoQueue", "PriorityQueue", "SimpleQueue", "deque"})
_OF_QUEUES: Final = re.compile(r"queue|deque|replay|memory", re.IGNORECASE)
"""Names that scripts give to queues, and to lists of transitions to learn from."""


def _is_queue(kept: KeptObjects) -> bool:
    """True for objects that are taken out, or drawn, again: numbers would not do."""
    name = kept.place.rpartition(".")[2]
    is_list = kept.container in {"list", "UserList"} and _OF_QUEUES.search(name) is not None
    is_queue = kept.container in _QUEUES or is_list
    return is_queue and kept.capacity is None and kept.kind != "number"


_MANY: Final = 8
"""New entries a unit from which a dict may have one for each part of the data."""


def _may_be_cache(found: GrowthExplanation, kept: KeptObjects, grew: CounterGrowth) -> bool:
    """True for a dict of arrays that gets many entries a unit: its keys may be data."""
    if found.cause is not Cause.KEPT or kept.container != "dict" or kept.kind == "number":
        return False
    each_bytes = (kept.n_bytes or 0.0) / max(1, kept.count)
    return grew.kind is CounterKind.KEPT_BYTES and grew.per_unit.middle >= _MANY * each_bytes > 0.0


def _by_size(one: CounterGrowth) -> tuple[bool, float]:
    return one.kind is CounterKind.KEPT_BYTES, one.per_unit.middle


def explain_slowdown(
    grew_with: Sequence[CounterGrowth],
    changed: Mapping[str, str] | None = None,
    *,
    is_per_fit: bool = False,
) -> GrowthExplanation | None:
    """Name the cause of steps that slow down; None if no counter that explains it grew.

    Args:
        grew_with: Counters that grew over the same window.
        changed: See `explain_growth`.
        is_per_fit: See `explain_growth`.
    """
    traces = tuple(one for one in grew_with if one.kind in _TRACES)
    if not traces:
        return None
    cause = Cause.RETRACING
    kinds = {one.kind for one in traces}
    if CounterKind.RETAINED in kinds:
        cause = Cause.RETAINED_TRACES
    elif CounterKind.DISUSED in kinds:
        cause = Cause.DISUSED_TRACES
    elif _is_retrace_by_new_models(traces, changed or {}, is_per_fit):
        cause = Cause.REBUILT
    # Traces were counted, and not what they cost in time.
    found = GrowthExplanation(cause, Confidence.FITTING, traces, _function(traces), _ADVICE[cause])
    return found if cause is not Cause.RETRACING else _with_change(found, changed or {})


def _with_change(found: GrowthExplanation, changed: Mapping[str, str]) -> GrowthExplanation:
    what = changed.get(found.function or "", "")
    if not what and found.function in _STEPS_ON_JAX:
        return replace(found, advice=(Remedy.ONE_SHAPE, Remedy.RELOAD))
    if not what or what == PYTHON_VALUES:
        return replace(found, changed=what)
    return replace(found, changed=what, advice=(Remedy.ONE_SHAPE, Remedy.RELOAD))


def _traced_names(grew_with: Sequence[CounterGrowth]) -> set[str]:
    return {one.function for one in grew_with if one.kind in _TRACES and one.function}


def _is_retrace_by_new_models(
    grew_with: Sequence[CounterGrowth],
    changed: Mapping[str, str],
    is_per_fit: bool,  # noqa: FBT001 - as of its callers
) -> bool:
    """True if new traces are steps of ever new models: a model creates its step once.

    Scripts pass no Python values to Keras' steps: where no tensor differs, the model does.
    """
    named = _traced_names(grew_with)
    if not named or not named <= STEPS_OF_KERAS:
        return False
    return is_per_fit or all(changed.get(name) == PYTHON_VALUES for name in named)


def _confidence(cause: Cause) -> Confidence:
    if cause is Cause.UNKNOWN:
        return Confidence.OPEN
    return Confidence.COUNTED if cause in _COUNTED else Confidence.FITTING


def _function(because: Sequence[CounterGrowth]) -> str | None:
    named = [one for one in because if one.function]
    return max(named, key=lambda one: one.per_unit.middle).function if named else None


FILLING: Final = GrowthExplanation(Cause.FILLING, Confidence.FITTING)
"""Explanation of memory that rises until the cache of a fit's data is full."""

ARENAS: Final = GrowthExplanation(Cause.ARENAS, Confidence.FITTING)
"""Explanation of memory that rises until each of malloc's arenas has held all that is in use at
once."""


def with_collector_off(found: GrowthExplanation, how: str) -> GrowthExplanation:
    """The explanation of growth whose cause is open: objects that are never collected.

    Args:
        how: Function by which the script switched the collector off.
    """
    # Objects in cycles have no holder to look for.
    others = (each for each in found.advice if each is Remedy.DIAGNOSE)
    return replace(
        found,
        cause=Cause.COLLECTOR_OFF,
        confidence=Confidence.FITTING,
        function=how,
        advice=(*_ADVICE[Cause.COLLECTOR_OFF], *others),
    )


UNCOLLECTED: Final = GrowthExplanation(
    Cause.UNCOLLECTED, Confidence.FITTING, advice=_ADVICE[Cause.UNCOLLECTED]
)
"""Explanation of memory that rises until Python looks through all objects for garbage."""

_LATER_RISE_SHARE: Final = 0.25
"""Maximum later change, as a share of the first rise: a full cache keeps its memory."""


@dataclass(frozen=True, slots=True)
class FirstUnitRise:
    """Rise of memory in the first unit, for caches that fill once.

    Attributes:
        rise: Even rise while the unit ran, in the unit of the series.
        later_rise: Change from its end to now; below 0 where memory fell again.
    """

    rise: float
    later_rise: float


def explain_first_unit(first: FirstUnitRise | None) -> GrowthExplanation | None:
    """Name the cause of a rise in the first unit of a run that does not grow; None without one."""
    if first is None or first.rise <= 0.0:
        return None
    if abs(first.later_rise) > _LATER_RISE_SHARE * first.rise:
        return None
    cause = Cause.DATA_CACHE
    rise = Slope(first.rise, first.rise, first.rise)
    because = (CounterGrowth(CounterKind.FIRST_UNIT, rise),)
    return GrowthExplanation(cause, Confidence.FITTING, because, advice=_ADVICE[cause])
