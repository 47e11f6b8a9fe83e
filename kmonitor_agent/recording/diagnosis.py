"""*Diagnose*: evidence of what grows, gathered at a safe point and an epoch later."""

from collections.abc import Callable
from time import perf_counter
from typing import Final

import msgspec

from kmonitor_agent.frameworks.base import HasTraceHolders, KerasModel, TraceHolder
from kmonitor_agent.guard import describe_exception
from kmonitor_agent.probes.heap import AllocationTrace, ObjectCounts
from kmonitor_agent.reclaim.actions import collect_garbage
from kmonitor_agent.recording.fit import Fit
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.wire.messages.events import (
    AllocationGrowth,
    Diagnosis,
    Event,
    FunctionTraces,
    ObjectGrowth,
)
from kmonitor_agent.wire.messages.fields import MAX_TEXT

_MOST_HOLDERS: Final = 32
_FOLLOWS: Final = (
    "which lines allocate is told at the next epoch's end: until then tracemalloc follows Python's"
    " allocations, which slows Python code down (a compiled step is not)"
)
_STOPPED: Final = "which lines allocate is not known: tracemalloc was switched off meanwhile"
_OF_NOBODY: Final = frozenset(
    {"builtins", "collections", "functools", "jax", "jaxlib", "keras", "numpy", "tensorflow"}
    | {"tf_keras", "torch", "types", "weakref"}
)
"""Packages whose type names say nothing private."""


class Diagnoser:
    """Gathers evidence on request, and again an epoch later; on the training thread.

    Nothing of a training's result depends on what this does: it reads, collects garbage, and has
    allocations traced for one epoch.
    """

    def __init__(
        self, *, emit: Callable[[Event], None], now_s: Callable[[], float], privacy: Privacy
    ) -> None:
        """Begin with nothing counted.

        Args:
            emit: Takes events.
            now_s: Seconds since the session started.
            privacy: What to leave out.
        """
        self._emit = emit
        self._now_s = now_s
        self._privacy = privacy
        self._objects = ObjectCounts()
        self._trace = AllocationTrace()

    def diagnose(self, fit: Fit, model: KerasModel) -> tuple[float, str]:
        """Count now, and begin to follow allocations.

        Args:
            fit: At whose safe point this runs.
            model: What is trained.

        Returns:
            How long the training waited, seconds, and what failed, in words.
        """
        began_s = perf_counter()
        try:
            self._inspect(fit, model, began_s)
        except Exception as exc:  # noqa: BLE001 - evidence that fails must never end the training
            return perf_counter() - began_s, describe_exception(exc)
        return perf_counter() - began_s, ""

    def _inspect(self, fit: Fit, model: KerasModel, began_s: float) -> None:
        # What nobody reaches any more is no growth.
        collect_garbage()
        objects = [self._object(each) for each in self._objects.count()]
        holders = self._holders(fit, model)
        if not self._trace.is_running:
            self._trace.begin()
        self._report(fit, perf_counter() - began_s, objects=objects, holders=holders, why=_FOLLOWS)

    def follow_up(self, fit: Fit) -> None:
        """An epoch or a fit ended: report what its lines allocated, if that was begun."""
        if not self._trace.is_running:
            return
        began_s = perf_counter()
        grown, tracing_bytes = self._trace.end()
        why = _STOPPED
        if tracing_bytes:
            why = f"following Python's allocations took {tracing_bytes / 2**20:.1f} MiB meanwhile"
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
        """First who holds what is dead or too much, then all others; most operations first."""
        count = fit.framework.graph(model)
        sizes = {each.name: each.operations for each in count.by_function}
        # Of all its traces, the dead ones' part.
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
            f", kept in `{self._privacy.name(holder.container)}`" if holder.container else ""
        )
        reason_text = f", {holder.why}{container_text}" if holder.why else ""
        name = self._privacy.name(holder.name)
        return (
            f"{holder.traces} traces held by `{name}` (a tf.function of the script{reason_text})"
        )

    def _function(self, function: FunctionTraces) -> str:
        dead = (
            f" ({function.retained} of them kept for models that are gone)"
            if function.retained
            else ""
        )
        name = self._privacy.name(function.name)
        return f"`{name}`: traces {function.traces}{dead}, operations {function.operations}"

    def _object(self, growth: ObjectGrowth) -> ObjectGrowth:
        if growth.kind.partition(".")[0] in _OF_NOBODY:
            return growth
        return msgspec.structs.replace(growth, kind=self._privacy.name(growth.kind))

    def _allocation(self, growth: AllocationGrowth) -> AllocationGrowth:
        return msgspec.structs.replace(growth, location=self._privacy.name(growth.location))


def _dead_operations(function: FunctionTraces) -> float:
    return function.operations * (function.retained or 0) / max(1, function.traces)


def _operations(counted: tuple[float, str]) -> float:
    return counted[0]
