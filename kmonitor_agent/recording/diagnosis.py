"""Evidence of growing objects.

*Diagnose* collects it on request, at a safe point and an epoch later. Objects that the script
keeps are counted without a request, at the ends of epochs and fits, once memory has risen over
several of them, and at a cost of at most a hundredth of their time.
"""

import math
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from time import perf_counter, thread_time
from typing import Final, Literal

import msgspec

from kmonitor_agent.frameworks.base import HasTraceHolders, KerasModel, TraceHolder
from kmonitor_agent.frameworks.kept.places import PUBLIC_PLACES
from kmonitor_agent.frameworks.kept.search import (
    LEAST_BYTES,
    Graphs,
    KeptObjectWalk,
    Place,
)
from kmonitor_agent.frameworks.kept.series import ATTRIBUTES, SUBCLASSES
from kmonitor_agent.frameworks.kept.suspended import SuspendedCalls
from kmonitor_agent.frameworks.script_values import instance_dict, items_of
from kmonitor_agent.guard import describe_exception
from kmonitor_agent.probes.heap import AllocationTrace, ObjectCounts
from kmonitor_agent.probes.held_memory import read_held
from kmonitor_agent.reclaim.actions import collect_garbage
from kmonitor_agent.recording.fit import Fit
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.wire.messages.events import (
    AllocationGrowth,
    Diagnosis,
    Event,
    FunctionTraces,
    KeptObjects,
    ObjectGrowth,
    ObjectsCounted,
)
from kmonitor_agent.wire.messages.fields import MAX_TEXT
from kmonitor_agent.wire.text import binary_size

_MOST_HOLDERS: Final = 32
_FOLLOWS: Final = (
    "the lines that allocate memory will be reported at the end of the next epoch; until then,"
    " tracemalloc slows Python code down (compiled steps are not affected)"
)
_STOPPED: Final = "the lines that allocate memory are unknown: tracemalloc was disabled"
_OF_NOBODY: Final = frozenset(
    {"builtins", "collections", "functools", "jax", "jaxlib", "keras", "numpy", "tensorflow"}
    | {"bytes", "function", "matplotlib", "mmap", "number", "object", "pandas", "str", "tf"}
    | {"PIL", "itertools", "sqlite3", "tf_keras", "torch", "types", "weakref"}
)
"""Packages whose type names are not private."""


class Diagnoser:
    """Collects evidence on request, and again an epoch later; on the training thread.

    This does not change a training's result: it reads, collects garbage, and traces allocations
    for one epoch.

    Args:
        now_s: Seconds since the session started.
        privacy: Hides private names and texts.
    """

    def __init__(
        self, *, emit: Callable[[Event], None], now_s: Callable[[], float], privacy: Privacy
    ) -> None:
        self._emit = emit
        self._now_s = now_s
        self._privacy = privacy
        self._objects = ObjectCounts()
        self._trace = AllocationTrace()

    def diagnose(self, fit: Fit, model: KerasModel) -> tuple[float, str]:
        """Count now, and begin to trace allocations.

        Args:
            fit: Fit at whose safe point this runs.

        Returns:
            Time that the training waited, seconds, and failures as text.
        """
        began_s = perf_counter()
        try:
            self._inspect(fit, model, began_s)
        except Exception as exc:  # noqa: BLE001 - evidence that fails must never end the training
            return perf_counter() - began_s, describe_exception(exc)
        return perf_counter() - began_s, ""

    def _inspect(self, fit: Fit, model: KerasModel, began_s: float) -> None:
        # Unreachable objects are not growth.
        collect_garbage()
        objects = [self._object(each) for each in self._objects.count()]
        holders = self._holders(fit, model)
        if not self._trace.is_running:
            self._trace.begin()
        self._report(fit, perf_counter() - began_s, objects=objects, holders=holders, why=_FOLLOWS)

    def follow_up(self, fit: Fit) -> None:
        """Report allocations by line if tracing was begun; at the end of an epoch or fit."""
        if not self._trace.is_running:
            return
        began_s = perf_counter()
        grown, tracing_bytes = self._trace.end()
        why = _STOPPED
        if tracing_bytes:
            why = f"tracing Python's allocations used {binary_size(tracing_bytes)} of memory"
        self._report(
            fit,
            perf_counter() - began_s,
            allocations=[self._allocation(each) for each in grown],
            why=why,
        )

    def _report(
        self,
        fit: Fit,
        seconds: float,
        *,
        objects: list[ObjectGrowth] | None = None,
        allocations: list[AllocationGrowth] | None = None,
        holders: list[str] | None = None,
        why: str,
    ) -> None:
        self._emit(
            Diagnosis(
                t_s=self._now_s(),
                fit=fit.ordinal,
                epoch=fit.epoch,
                seconds=seconds,
                objects=objects or [],
                allocations=allocations or [],
                holders=holders or [],
                why=why,
            )
        )

    def _holders(self, fit: Fit, model: KerasModel) -> list[str]:
        """Holders of dead or too many traces first, then all others; by operations, most first."""
        count = fit.framework.graph(model)
        sizes = {each.name: each.operations for each in count.by_function}
        # Operations of dead traces, as their share of all traces of the function.
        dead = [(_dead_operations(each), self._function(each)) for each in count.by_function]
        holders = [
            (sizes.get(each.name, 0), self._holder_text(each))
            for each in (
                fit.framework.trace_holders() if isinstance(fit.framework, HasTraceHolders) else ()
            )
        ]
        blamed = [each for each in dead if each[0]] + holders
        lines = [line for _, line in sorted(blamed, key=_operations, reverse=True)]
        lines += [
            line
            for each, (n_dead, line) in zip(count.by_function, dead, strict=True)
            if each.traces and not n_dead
        ]
        if count.absent:
            lines.append(f"traces cannot be counted: {count.absent}")
        return [line[:MAX_TEXT] for line in lines[:_MOST_HOLDERS]]

    def _holder_text(self, holder: TraceHolder) -> str:
        container_text = (
            f", retained in `{self._privacy.name(holder.container)}`" if holder.container else ""
        )
        reason_text = f", {holder.why}{container_text}" if holder.why else ""
        name = self._privacy.name(holder.name)
        return (
            f"{holder.traces} traces held by `{name}` (a tf.function in the script{reason_text})"
        )

    def _function(self, function: FunctionTraces) -> str:
        name = self._privacy.name(function.name)
        operations = f"{function.operations} operations"
        if function.traces == 1:
            return f"`{name}`: 1 trace{_retained_text(function)}, {operations}"
        return f"`{name}`: {function.traces} traces{_retained_text(function)}, {operations}"

    def _object(self, growth: ObjectGrowth) -> ObjectGrowth:
        if growth.kind.partition(".")[0] in _OF_NOBODY:
            return growth
        return msgspec.structs.replace(growth, kind=self._privacy.name(growth.kind))

    def _allocation(self, growth: AllocationGrowth) -> AllocationGrowth:
        return msgspec.structs.replace(growth, location=self._privacy.name(growth.location))


def _retained_text(function: FunctionTraces) -> str:
    if not function.retained:
        return ""
    of_them = "" if function.traces == 1 else f"{function.retained} of them "
    if function.disused:
        return f" ({of_them}retained though no longer used)"
    what = "a model that no longer exists" if not of_them else "models that no longer exist"
    return f" ({of_them}retained for {what})"


COST_SHARE: Final = 0.01
"""Maximum part of the time that counts take on average."""

_OVERDRAFT: Final = 2.0
"""Factor by which a count may take longer than it is allowed; the next one waits for it.

To stop it would cost as much time, and nothing would be known.
"""

LEAST_RISE_BYTES: Final = 2.0**20
"""Minimum rise of memory from the end of one unit to the next, bytes."""

_RISES: Final = 3
_REMEMBERED: Final = 5
"""Number of unit ends remembered: for three rises in a row, or among four."""

_FIRST_COST_S: Final = 0.01
"""Assumed cost of the first count, seconds.

Measured in a process with TensorFlow: 5 to 8 ms, later 2 to 4 ms.
"""

_STEP_TIMES: Final = 10
"""Number of last epochs whose mean step times are remembered."""

_LEAST_GONE_THROUGH: Final = 2.0**16
"""Minimum size of a list that slows steps down if each step iterates over it, bytes: some thousand
numbers."""

_SLOWER: Final = 1.05
"""Factor by which steps have become longer, for example through a list that each step iterates
over."""

UnitEnd = Literal["epoch", "fit", "call", "collect"]

_BETWEEN_CALLS_S: Final = 1.0
"""Minimum time between readings of memory at the ends of calls, seconds: a call may be as short as
a step."""

_Within = tuple[int, int]
"""(fit, epoch)."""


class KeptObjectCounter:
    """Counts objects that the script keeps, once memory rises or steps slow down.

    Counts run at the ends of units. Memory is the memory that the process holds, and that its
    framework's allocator has in use.

    Called on the threads that train; if two call at once, one counts. It keeps names and numbers
    only.

    Args:
        now_s: Seconds since the session started.
        privacy: Hides private names and texts.
        held_bytes: Returns the memory that this process holds, bytes.
        thread_time_s: Returns the CPU time of the calling thread, seconds.
    """

    def __init__(
        self,
        *,
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        privacy: Privacy,
        held_bytes: Callable[[], float | None] = lambda: read_held().value,
        time_s: Callable[[], float] = perf_counter,
        thread_time_s: Callable[[], float] = thread_time,
    ) -> None:
        self._emit = emit
        self._now_s = now_s
        self._privacy = privacy
        self._held_bytes = held_bytes
        self._time_s = time_s
        self._thread_time_s = thread_time_s
        self._lock = threading.Lock()
        self._held: dict[UnitEnd | _Within, list[deque[float]]] = {}
        self._steps_s: deque[float] = deque(maxlen=_STEP_TIMES)
        self._within: _Within = (0, 0)
        self._since_s = self._call_s = time_s()
        self._cost_s = _FIRST_COST_S
        self._lengths: dict[Place, int] | None = None
        self._spaces: dict[Place, int] = {}
        self._numbers: dict[Place, set[int]] = {}
        self._graphs: Graphs = {}
        self._counts: dict[tuple[str, str, str], tuple[int, float | None]] = {}
        self._counted_at: tuple[int, int, int] | None = None
        self._is_refusal_sent = False
        self._counts_to_go = 0
        self._suspended = SuspendedCalls(COST_SHARE, time_s, thread_time_s)
        self._held_before: float | None = None

    def unit_ended(self, per: UnitEnd, fit: Fit | None) -> None:
        """Count kept objects if memory has risen lately; a unit is about to end.

        Args:
            per: Kind of unit that ends; memory is compared with the ends of earlier units of this
                kind.
            fit: Fit that runs or ends; None between two fits.
        """
        if per == "call":
            now_s = self._time_s()
            if now_s - self._call_s < _BETWEEN_CALLS_S:
                return
            self._call_s = now_s
        is_slowing = per == "epoch" and fit is not None and self._is_slowing(fit)
        if self._is_rising(per, fit):
            self.count(fit)
            self._counts_to_go = _COUNTS_AFTER
        elif self._counts_to_go > 0:
            self.count(fit)
        elif is_slowing:
            self.count(fit, least_bytes=_LEAST_GONE_THROUGH)

    def _is_slowing(self, fit: Fit) -> bool:
        if fit.last_steps is None:
            return False
        self._steps_s.append(fit.last_steps.mean_s)
        return is_slowing(list(self._steps_s))

    def watch_steps(self, fit: Fit | None) -> None:
        """Request a count at the next step if memory rises within an epoch; the agent's thread."""
        if fit is None or not fit.is_in_epoch:
            return
        within = (fit.ordinal, fit.epoch)
        if within != self._within:
            self._held.pop(self._within, None)
            self._within = within
        if self._is_rising(within, fit):
            fit.is_count_due = fit.clock.due = True

    def _is_rising(self, per: UnitEnd | _Within, fit: Fit | None) -> bool:
        in_use = None if fit is None else fit.framework.allocator().in_use.value
        series = self._held.setdefault(per, [deque(maxlen=_REMEMBERED) for _ in range(2)])
        for lately, n_bytes in zip(series, (self._held_bytes(), in_use), strict=True):
            if n_bytes is not None:
                lately.append(n_bytes)
        return any(map(is_rising, series))

    def count(self, fit: Fit | None, *, least_bytes: float = LEAST_BYTES) -> None:
        """Count now, if something was trained and the time since earlier counts allows it.

        Args:
            fit: See `unit_ended`.
            least_bytes: Minimum size of a reported place, bytes.
        """
        at = None if fit is None else (fit.ordinal, fit.epochs_done, fit.clock.steps)
        if (at is not None and at == self._counted_at) or not self._lock.acquire(blocking=False):
            return
        try:
            self._counted_at = at
            allowed_s = COST_SHARE * (self._time_s() - self._since_s)
            if self._cost_s <= allowed_s:
                self._count(fit, allowed_s, least_bytes)
            else:
                self._refuse(fit, "")
        except Exception as exc:  # noqa: BLE001 - evidence that fails must never end the training
            self._refuse(fit, self._privacy.text(describe_exception(exc)))
        finally:
            self._lock.release()

    def _count(self, fit: Fit | None, allowed_s: float, least_bytes: float) -> None:
        began_s = self._thread_time_s()

        def is_late() -> bool:
            return self._thread_time_s() - began_s > _OVERDRAFT * allowed_s

        walk = KeptObjectWalk(
            self._lengths, is_late, least_bytes, self._graphs, self._spaces, self._numbers
        )
        model = None if fit is None else fit.model()
        kept = walk.search(_callbacks_of(fit), model, self._suspended.alive())
        cost_s = self._thread_time_s() - began_s
        # The first one also finds out which modules are the script's.
        self._cost_s = cost_s if self._lengths is not None else cost_s / 2.0
        # Time that is left is for the next count, but not for many after a long time without one.
        self._since_s = self._time_s() - min(allowed_s - cost_s, cost_s) / COST_SHARE
        if walk.is_cut_short:
            self._refuse(fit, "")
            return
        self._lengths = walk.lengths
        self._spaces = walk.spaces
        self._numbers = walk.numbers
        self._graphs = walk.graphs
        self._counts_to_go -= 1
        if not self._is_explained(kept):
            self._suspended.search()
        changed = [each for each in kept if self._is_change(each)]
        changed += self._emptied(walk.lengths)
        self._send(fit, kept=list(map(self._private, changed)), seconds=cost_s)

    def _send(
        self,
        fit: Fit | None,
        *,
        kept: Sequence[KeptObjects] = (),
        seconds: float = 0.0,
        why: str = "",
    ) -> None:
        self._emit(
            ObjectsCounted(
                t_s=self._now_s(),
                fit=0 if fit is None else fit.ordinal,
                epoch=0 if fit is None else fit.epoch,
                seconds=seconds,
                kept=list(kept),
                why=why[:MAX_TEXT],
            )
        )

    def _is_explained(self, kept: Sequence[KeptObjects]) -> bool:
        """False if memory rose since the last count, and nothing that was found grew as much."""
        before = self._held_before
        held = self._held_before = self._held_bytes()
        if held is None or before is None or held - before < LEAST_RISE_BYTES:
            return True
        return sum(map(self._growth_bytes, kept)) >= _EXPLAINED * (held - before)

    def _growth_bytes(self, kept: KeptObjects) -> float:
        """Growth since the last count; that of more objects of unknown size explains anything."""
        before = self._counts.get((kept.kind, kept.container, kept.place))
        if before is None:
            return 0.0
        count, n_bytes = before
        if kept.n_bytes is None or n_bytes is None:
            return math.inf if kept.count > count else 0.0
        return kept.n_bytes - n_bytes

    def _emptied(self, lengths: Mapping[Place, int]) -> list[KeptObjects]:
        """Containers of which more than one item was counted, and that have none or one now.

        One that was not found may only be out of sight: a variable of a function that has ended.
        """
        found: list[KeptObjects] = []
        for (kind, container, place), (count, n_bytes) in self._counts.items():
            n = lengths.get((place, container), count)
            if container and n <= 1 < count:
                each = None if n_bytes is None else n_bytes / count * n
                found.append(KeptObjects(kind, n, each, container=container, place=place))
        for each in found:
            self._is_change(each)
        return found

    def _is_change(self, kept: KeptObjects) -> bool:
        key = (kept.kind, kept.container, kept.place)
        now = (kept.count, kept.n_bytes)
        before = self._counts.get(key)
        if before is None and len(self._counts) >= _MOST_PLACES:
            return False
        self._counts[key] = now
        return before != now

    def _refuse(self, fit: Fit | None, why: str) -> None:
        if self._is_refusal_sent:
            return
        self._is_refusal_sent = True
        late = (
            f"it takes {self._cost_s * 1000.0:.0f} ms, more than 1% of the time since the last"
            " reading"
        )
        self._send(fit, why=why or late)

    def _private(self, kept: KeptObjects) -> KeptObjects:
        def name(text: str, is_public: bool) -> str:  # noqa: FBT001 - beside its text
            return text if is_public else self._privacy.name(text)

        return msgspec.structs.replace(
            kept,
            kind=name(kept.kind, kept.kind.partition(".")[0] in _OF_NOBODY),
            container=name(kept.container, kept.container in _CONTAINERS),
            place=name(kept.place, kept.place in PUBLIC_PLACES),
        )


_EXPLAINED: Final = 0.5
"""Share of a rise from which what was found explains it."""

_COUNTS_AFTER: Final = 3
"""Number of counts after memory has risen: they show whether what is kept still grows."""

_MOST_PLACES: Final = 1000
_CONTAINERS: Final = frozenset(
    {"", "list", "tuple", "dict", "deque", "set", "frozenset", "defaultdict", "OrderedDict"}
    | {"UserDict", "UserList", "Queue", "LifoQueue", "PriorityQueue", "ExitStack"}
    | {"AsyncExitStack", "itertools.chain", "itertools.tee"}
    | {"functools.cache", "functools.lru_cache", "linked tuple", "linked list", "linked dict"}
    | {ATTRIBUTES, SUBCLASSES}
)


def is_rising(held: Iterable[float]) -> bool:
    """True if memory rose three times in a row, or three times among the last four."""
    steps = [after - before for before, after in pairwise(held)]
    rises = sum(step >= LEAST_RISE_BYTES for step in steps)
    return rises >= _RISES and sum(steps) >= _RISES * LEAST_RISE_BYTES


def is_slowing(steps_s: Sequence[float]) -> bool:
    """True if the last three of ten step times are longer than the first three."""
    early, late = (sorted(part)[1:2] for part in (steps_s[:3], steps_s[-3:]))
    return len(steps_s) == _STEP_TIMES and late[0] >= _SLOWER * early[0]


def _callbacks_of(fit: Fit | None) -> list[object]:
    token = None if fit is None else fit.origin.callback_list()
    return items_of(instance_dict(token).get("callbacks"))


def _dead_operations(function: FunctionTraces) -> float:
    return function.operations * (function.retained or 0) / max(1, function.traces)


def _operations(counted: tuple[float, str]) -> float:
    return counted[0]
