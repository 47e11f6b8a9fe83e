# pyright: basic
"""Programs that JAX has compiled: their number, functions and sizes; and JAX' names for them.

The client of JAX' default device lists the programs that are alive: those of jitted functions and
of single operations. A program goes with the function that it was compiled for, so models that are
gone leave none; one more stays for each shape that a function was called with.
"""

import importlib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final

from kmonitor_agent.frameworks.base import (
    GraphCount,
    KerasModel,
    missing_name_text,
    unavailable_text,
)
from kmonitor_agent.frameworks.keras3.step_functions import step_functions
from kmonitor_agent.frameworks.live_objects import closure_values
from kmonitor_agent.wire.messages.events import FunctionTraces
from kmonitor_agent.wire.messages.readings import Reading


class JaxInternals:
    """JAX' names that kmonitor reads; from any thread. JAX must be imported already."""

    def has_started(self) -> bool:
        """True if JAX has its devices; asking for them before would start them.

        After that a script can no longer choose them.
        """
        try:
            started = _name("jax._src.xla_bridge", "backends_are_initialized")
        except (ImportError, AttributeError):
            # Not known of this JAX: Keras made variables before `fit`, so it has started.
            return True
        return bool(started())

    def device(self) -> Any:
        """The default device of this process.

        Raises:
            AttributeError: This JAX lacks a name.
            RuntimeError: JAX has no device.
        """
        return _jax().local_devices()[0]

    def client(self) -> Any:
        """The client that compiles for the default device, and lists its programs.

        Raises:
            AttributeError: This JAX lacks a name.
            RuntimeError: JAX has no device.
        """
        return self.device().client

    def why_not_clear(self) -> str:
        """Reason why compiled programs cannot be released; empty if they can."""
        if not hasattr(_jax(), "clear_caches"):
            return f"compiled programs not cleared: {missing_name_text('JAX', 'clear_caches')}"
        return ""

    def clear(self) -> None:
        """Release the process's compiled programs; a function called again is compiled again."""
        _jax().clear_caches()

    def processes(self) -> int:
        """Number of processes that train together."""
        count: Any = getattr(_jax(), "process_count", None)
        return int(count()) if count is not None and self.has_started() else 1

    def host_device(self) -> Any:
        """The host as one of JAX' devices; None where the script left it out."""
        try:
            return _jax().local_devices(backend="cpu")[0]
        except (AttributeError, IndexError, RuntimeError):
            return None

    def to_host(self, array: Any) -> Any:
        """An array's value as a numpy array, without a copy that JAX keeps beside the array."""
        numpy = sys.modules["numpy"]
        device = self.host_device()
        if device is None or device in array.devices():
            return numpy.asarray(array)
        # `numpy.asarray` alone keeps what it copied with the array: all state once more in RAM.
        return numpy.asarray(_jax().device_put(array, device))


def _jax() -> Any:
    return sys.modules["jax"]


def _name(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


SOURCE: Final = "jax: instructions of all compiled programs"
_PREFIX: Final = "jit_"
_MOST_FUNCTIONS: Final = 64
_MANY: Final = 8
"""A function with this many programs is reported."""

_UNREADABLE: Final = (AttributeError, TypeError, ValueError, RuntimeError, NotImplementedError)
"""Errors that another jaxlib may raise; its own are RuntimeErrors."""


@dataclass(frozen=True, slots=True)
class _Program:
    name: str
    instructions: int


class JaxPrograms:
    """Counts compiled programs; `count` belongs to the training thread, `number` to any."""

    def __init__(self, internals: JaxInternals) -> None:
        self._internals = internals
        self._known: dict[Any, _Program] = {}
        self._count: GraphCount | None = None

    def count(self, model: KerasModel | None) -> GraphCount:
        """Programs and their instructions now; microseconds when none came or went.

        Args:
            model: Its traces are counted where this JAX does not list its programs.
        """
        alive, why = self.alive()
        if why:
            return GraphCount(operations=None, traces=_traces_of(model), absent=why)
        try:
            return self._counted(_by_key(alive))
        except _UNREADABLE as exc:
            why = unavailable_text("JAX", f"it does not report the contents of programs ({exc})")[
                :300
            ]
            return GraphCount(
                operations=None, traces=_traces_of(model), functions=len(alive), absent=why
            )

    def number(self) -> Reading:
        """Programs that are alive; any thread."""
        alive, why = self.alive()
        if why:
            return Reading.missing("functions", why)
        return Reading(float(len(alive)), "functions", "jax: compiled programs")

    def many(self) -> tuple[FunctionTraces, ...]:
        """Functions with many programs, one for each shape that they were called with."""
        return tuple(each for each in self.count(None).by_function if each.traces >= _MANY)

    def alive(self) -> tuple[list[Any], str]:
        """Programs that JAX holds, and the reason where they cannot be listed."""
        if not self._internals.has_started():
            return [], "JAX has not initialized its devices yet"
        try:
            return list(self._internals.client().live_executables()), ""
        except _UNREADABLE as exc:
            return [], missing_name_text("JAX", exc)[:300]

    def _counted(self, alive: dict[Any, Any]) -> GraphCount:
        if self._count is not None and alive.keys() == self._known.keys():
            return self._count
        self._known = {
            key: self._known.get(key) or _read_program(program) for key, program in alive.items()
        }
        self._count = GraphCount(
            operations=sum(program.instructions for program in self._known.values()),
            traces=len(self._known),
            functions=len(self._known),
            by_function=_largest(self._known.values()),
            source=SOURCE,
        )
        return self._count


def _by_key(alive: Sequence[Any]) -> dict[Any, Any]:
    # Programs with one fingerprint are equal; a number distinguishes them.
    keyed: dict[Any, Any] = {}
    seen: Counter[Any] = Counter()
    for program in alive:
        mark = program.fingerprint or program.unsafe_executable_pointer
        seen[mark] += 1
        keyed[mark, seen[mark]] = program
    return keyed


def _read_program(program: Any) -> _Program:
    modules = program.hlo_modules()
    instructions = sum(
        len(computation.instructions())
        for module in modules
        for computation in module.computations()
    )
    name = str(modules[0].name) if modules else ""
    return _Program(name.removeprefix(_PREFIX), instructions)


def _largest(programs: Any) -> tuple[FunctionTraces, ...]:
    tallies: dict[str, list[int]] = {}
    for program in programs:
        tally = tallies.setdefault(program.name, [0, 0])
        tally[0] += 1
        tally[1] += program.instructions
    ordered = sorted(tallies.items(), key=lambda item: item[1][1], reverse=True)
    return tuple(
        FunctionTraces(name=name[:4096], traces=traces, operations=instructions)
        for name, (traces, instructions) in ordered[:_MOST_FUNCTIONS]
    )


def _traces_of(model: KerasModel | None) -> int:
    return sum(_cache_size(jitted) for jitted in _jitted(model))


def _jitted(model: KerasModel | None) -> Iterator[Any]:
    for function in step_functions(model):
        if hasattr(function, "_cache_size"):
            yield function
        elif isinstance(function, FunctionType):
            values = {id(value): value for value in closure_values(function)}
            yield from (value for value in values.values() if hasattr(value, "_cache_size"))


def _cache_size(jitted: Any) -> int:
    try:
        return int(jitted._cache_size())  # noqa: SLF001 - private, looked for
    except _UNREADABLE:
        return 0
