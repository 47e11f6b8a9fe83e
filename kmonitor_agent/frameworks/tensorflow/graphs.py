# pyright: basic
"""Graph size: operations in all live traces and registered functions of the process.

Counted are: every function that Python has registered with TensorFlow's runtime (a trace of a
`tf.function`, its forward and backward functions, functions of tf.data, branches of conditions
and loop bodies), each once by its unique name; and every traced graph whose function is gone but
that an entry of the gradient registry still holds, each once by identity. An operation is a node,
inputs included. Graphs that nothing registered (Keras' symbolic calls, scratch graphs) and the
wrappers of eager operations are not counted.

A function's definition is read once, when it is first seen; afterwards the registries' lengths and
newest keys show that nothing has changed. The signatures of traces, compared one with the next,
give the reason of each retrace.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kmonitor_agent.frameworks.base import GraphCount
from kmonitor_agent.frameworks.tensorflow.internals import (
    TensorFlowInternals,
    is_trace_of_call,
    registration_order,
    traced_name,
)
from kmonitor_agent.frameworks.tensorflow.traces import (
    OrphanGraph,
    RegistryContents,
    RetainedTraces,
    TraceKey,
    registered_sizes,
)
from kmonitor_agent.wire.messages.events import FunctionTraces

SOURCE: Final = "tensorflow: registered functions and gradient registry"
_BRANCHES: Final = "branches and loop bodies"
_MOST_FUNCTIONS: Final = 64

_CALLS: Final = frozenset(
    {"Case", "For", "If", "StatelessCase", "StatelessIf", "StatelessWhile", "While"}
    | {"PartitionedCall", "RemoteCall", "StatefulPartitionedCall", "SymbolicGradient"}
    | {"XlaLaunch"}
)
"""Operations whose attributes name other functions."""

STATEFUL_RANDOM: Final = frozenset(
    {"Multinomial", "ParameterizedTruncatedNormal", "RandomGamma", "RandomPoisson"}
    | {"RandomPoissonV2", "RandomShuffle", "RandomStandardNormal", "RandomUniform"}
    | {"RandomUniformInt", "TruncatedNormal"}
)
"""Operations that keep a counter of their own, which a new trace starts again."""

TensorArguments = Mapping[str, tuple[str, str]]
"""(dtype, shape) of each tensor that was passed, by the name of its argument."""


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """Facts from the definition of one registered function.

    Attributes:
        operations: Nodes, inputs included.
        calls: Names of functions that the function calls.
        stateful_random: Kinds of operations in it that a new trace seeds again.
        arguments: Tensors that the call passed; None if it is not the trace of a call.
    """

    operations: int
    calls: frozenset[str]
    stateful_random: frozenset[str]
    arguments: TensorArguments | None = None


class GraphInventory:
    """Counts traces and their operations; owned by the training thread."""

    def __init__(self, internals: TensorFlowInternals, retained: RetainedTraces) -> None:
        self._internals = internals
        self._retained = retained
        self._facts: dict[str, FunctionFacts] = {}
        self._seen: tuple[Any, ...] | None = None
        self._count = GraphCount(operations=None, absent="nothing has been counted yet")

    def count(self) -> GraphCount:
        """Graph size now; a microsecond or two when nothing was traced or freed since."""
        functions = self._internals.functions
        if functions is None:
            return GraphCount(operations=None, absent=self._internals.missing["functions"])
        marks = (*_marks(functions), *_marks(self._internals.gradients or {}))
        if marks != self._seen:
            self._read_new(_names(functions))
            self._count = self._counted(self._retained.read(self._sizes()))
            self._seen = marks
        return self._count

    def facts(self) -> Mapping[str, FunctionFacts]:
        """Every registered function by name, as of now."""
        self.count()
        return self._facts

    def _read_new(self, names: set[str]) -> None:
        for gone in self._facts.keys() - names:
            del self._facts[gone]
        new = names - self._facts.keys()
        context = self._context()
        for name in sorted(new, key=registration_order):
            self._facts[name] = read_function(context, name)

    def _sizes(self) -> Counter[TraceKey]:
        return registered_sizes({name: facts.operations for name, facts in self._facts.items()})

    def _context(self) -> Any:
        eager_context = self._internals.eager_context
        return eager_context() if eager_context is not None else None

    def _counted(self, contents: RegistryContents) -> GraphCount:
        owners = _owners(self._facts, contents)
        tallies: dict[str, _Tally] = {}
        for name, facts in self._facts.items():
            trace = traced_name(name)
            user_name = trace or owners.get(name, _BRANCHES)
            tally = tallies.setdefault(user_name, _Tally())
            tally.add(facts.operations, is_trace=bool(trace))
            tally.call(facts.arguments)
        for graph in contents.orphans:
            tallies.setdefault(graph.name, _Tally()).add_orphan(graph)
        return GraphCount(
            operations=sum(tally.operations for tally in tallies.values()),
            traces=sum(tally.traces for tally in tallies.values()),
            functions=len(self._facts),
            retained=contents.dead_step_entries,
            disused=contents.disused_step_entries,
            step_entries=contents.step_entries,
            by_function=_largest(tallies),
            source=SOURCE,
        )


@dataclass(slots=True)
class _Tally:
    traces: int = 0
    operations: int = 0
    retained: int = 0
    disused: int = 0
    changed: str = ""
    newest: TensorArguments | None = None

    def call(self, arguments: TensorArguments | None) -> None:
        if arguments is not None:
            self.changed = (
                "" if self.newest is None else argument_difference(self.newest, arguments)
            )
            self.newest = arguments

    def add(self, operations: int, *, is_trace: bool) -> None:
        self.operations += operations
        self.traces += is_trace

    def add_orphan(self, graph: OrphanGraph) -> None:
        self.operations += graph.operations
        self.traces += 1
        self.retained += 1
        self.disused += graph.is_disused


def _marks(registry: Mapping[Any, Any]) -> tuple[int, Any]:
    # Names are never used twice and both registries keep the order of arrival: equal length and
    # equal newest key mean that nothing came and nothing went.
    try:
        return len(registry), next(reversed(registry), None)  # pyright: ignore[reportArgumentType]
    except RuntimeError:  # another thread is tracing at this moment
        return len(registry), object()


def _names(functions: Mapping[tuple[int, bytes], int]) -> set[str]:
    return {name.decode("utf-8", "replace") for _, name in list(functions)}


def read_function(context: Any, name: str) -> FunctionFacts:
    try:
        definition = context.get_function_def(name)
    except (AttributeError, LookupError, RuntimeError, ValueError, _error_of_tensorflow()):
        # Freed since the registry was read, or of another context.
        return FunctionFacts(0, frozenset(), frozenset())
    calls: set[str] = set()
    drawing: set[str] = set()
    for node in definition.node_def:
        if node.op in _CALLS:
            calls.update(called_functions(node))
        elif node.op in STATEFUL_RANDOM:
            drawing.add(node.op)
    operations = len(definition.node_def) + len(definition.signature.input_arg)
    arguments = trace_arguments(name, definition)
    return FunctionFacts(operations, frozenset(calls), frozenset(drawing), arguments)


def _error_of_tensorflow() -> type[Exception]:
    errors = getattr(sys.modules.get("tensorflow"), "errors", None)
    return getattr(errors, "OpError", RuntimeError)


def called_functions(node: Any) -> Iterable[str]:
    """Names of the functions in the attributes of a node's definition."""
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func.name
        yield from (function.name for function in value.list.func)


def _owners(facts: Mapping[str, FunctionFacts], contents: RegistryContents) -> dict[str, str]:
    # A branch belongs to the trace that calls it, through other branches.
    owners: dict[str, str] = {}
    todo = [(name, trace) for name in facts if (trace := traced_name(name))]
    for graph in contents.orphans:
        owners.update(dict.fromkeys(graph.branches, graph.name))
        todo.extend((branch, graph.name) for branch in graph.branches)
    while todo:
        name, owner = todo.pop()
        for called in facts[name].calls if name in facts else ():
            if called not in owners and not traced_name(called):
                owners[called] = owner
                todo.append((called, owner))
    return owners


def _largest(tallies: Mapping[str, _Tally]) -> tuple[FunctionTraces, ...]:
    ordered = sorted(tallies.items(), key=lambda item: item[1].operations, reverse=True)
    return tuple(
        FunctionTraces(
            name=name[:4096],
            traces=tally.traces,
            operations=tally.operations,
            retained=tally.retained,
            changed=tally.changed,
            disused=tally.disused,
        )
        for name, tally in ordered[:_MOST_FUNCTIONS]
    )


VALUES: Final = "python"
"""All tensors were as before: a Python value differed, or was another object."""

_MOST_CHANGES: Final = 3
_LONGEST: Final = 300
_ABSENT: Final = "-"


def trace_arguments(name: str, definition: Any) -> TensorArguments | None:
    """Tensors that a call passed; None if it is not the trace of a call, or they are unknown.

    Args:
        name: Name of the registered function.
    """
    if not is_trace_of_call(name):
        return None
    as_dtype = getattr(sys.modules.get("tensorflow"), "as_dtype", None)
    if as_dtype is None:
        return None
    arguments: dict[str, tuple[str, str]] = {}
    for index, argument in enumerate(definition.signature.input_arg):
        attributes = definition.arg_attr.get(index)
        if attributes is None or not attributes.attr["_output_shapes"].list.shape:
            continue  # a variable that it reads
        shape = attributes.attr["_output_shapes"].list.shape[0]
        name = (
            attributes.attr["_user_specified_name"].s.decode("utf-8", "replace") or argument.name
        )
        arguments[name] = (as_dtype(argument.type).name, _shape_text(shape))
    return arguments


def argument_difference(before: TensorArguments, after: TensorArguments) -> str:
    """Difference between one trace and the next: "x (8, 64) → (9, 64)", or `VALUES`."""
    changes: list[str] = []
    for name in (*before, *(name for name in after if name not in before)):
        was = before.get(name)
        comes = after.get(name)
        if was == comes:
            continue
        is_shape = was is not None and comes is not None and was[0] == comes[0]
        changes.append(
            f"{name} {_argument_text(was, is_shape)} \u2192 {_argument_text(comes, is_shape)}"
        )
    return "; ".join(changes[:_MOST_CHANGES])[:_LONGEST] if changes else VALUES


def _argument_text(argument: tuple[str, str] | None, is_shape: bool) -> str:  # noqa: FBT001
    if argument is None:
        return _ABSENT
    return argument[1] if is_shape else " ".join(argument)


def _shape_text(shape: Any) -> str:
    if shape.unknown_rank:
        return "(?)"
    return f"({', '.join(str(dim.size) if dim.size >= 0 else '?' for dim in shape.dim)})"
