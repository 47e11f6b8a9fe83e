# pyright: basic
"""Traces that TensorFlow's gradient registry keeps alive, and the release of the dead ones.

Each use of a `tf.custom_gradient` in a graph registers `CustomGradient-<n>` for the life of the
process; the entry's closure holds tensors, their graph, and the variables which that captures.
An entry is *dead* when all graphs in its closure belong to step functions of Keras (a branch of a
condition or loop counts to the trace around it) and none of those is owned by a function any more:
its model is gone, was compiled anew, or has dropped the function. No one can then differentiate
the trace. Users' own functions keep other names, live models keep their functions: both stay.
"""

import gc
import sys
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final

from kmonitor_agent.frameworks.base import Released
from kmonitor_agent.frameworks.closures import closure_values
from kmonitor_agent.frameworks.tensorflow.internals import TensorFlowInternals
from kmonitor_agent.frameworks.tensorflow.tensorflow_owners import (
    VARIABLES,
    GraphOwners,
    Key,
    is_within,
    operations_of,
)
from kmonitor_agent.frameworks.tensorflow.tensorflow_user_functions import (
    functions_with_many_traces,
)

STEP_FUNCTIONS: Final = frozenset(
    {"one_step_on_data", "one_step_on_data_distributed", "one_step_on_iterator"}
    | {"multi_step_on_data", "multi_step_on_iterator"}
    | {"predict_function", "test_function", "train_function"}
)
"""Names of the functions that Keras 3 and tf_keras trace for fit, evaluate and predict."""

_SCRATCH: Final = "_scratch_graph"
_SCRATCH_CALL: Final = "_infer_output_signature"
"""Of tf_keras: how the name of a scratch graph ends, and the function that builds in it."""

GRADIENT_PREFIX: Final = "CustomGradient-"
CLOSURE_DEPTH: Final = 4
_MOST_HELD_LINES: Final = 32


@dataclass(frozen=True, slots=True)
class Orphan:
    """A traced graph whose function is gone; only the registry holds it.

    Attributes:
        name: Name of the traced Python function.
        operations: Nodes in it.
        branches: Registered functions of its conditions and loops, kept by it.
    """

    name: str
    operations: int
    branches: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Retained:
    """What the registry holds now.

    Attributes:
        step_entries: Entries of Keras' step functions, live or dead; None if it cannot be told.
        dead_step_entries: Those of them that no live model needs; None likewise.
        orphans: Graphs that only the registry holds, each once.
    """

    step_entries: int | None = None
    dead_step_entries: int | None = None
    orphans: tuple[Orphan, ...] = ()


@dataclass(slots=True)
class _Entry:
    """Graphs that one entry keeps."""

    graphs: tuple["weakref.ref[Any]", ...]
    is_step: bool


class RetainedTraces:
    """Knows the registry's entries; owned by the training thread."""

    def __init__(self, internals: TensorFlowInternals) -> None:
        self._internals = internals
        self._entries: dict[str, _Entry] = {}
        self._owners = GraphOwners(internals)
        self._frozen = gc.get_freeze_count()

    def why_unavailable(self) -> str:
        """Why the registry cannot be read; empty when it can."""
        for name in ("gradients", "func_graph", "function_type", "functions"):
            if name in self._internals.missing:
                return self._internals.missing[name]
        if gc.get_freeze_count() > self._frozen:
            # Frozen objects are no referrers: a live model's traces would look dead.
            return "gc.freeze() was called after training began: it hides who holds a trace"
        return ""

    def read(self, registered: Mapping[Key, int]) -> Retained:
        """What is retained now; looks only at entries that are new.

        Args:
            registered: How many functions of each name and size there are.
        """
        if self.why_unavailable():
            return Retained()
        self._read_new()
        graphs = _distinct(g for entry in self._entries.values() for g in _alive(entry.graphs))
        orphans = self._owners.without(graphs, registered)
        free = set(map(id, orphans))
        steps = [entry for entry in self._entries.values() if entry.is_step]
        dead = sum(1 for entry in steps if all(id(g) in free for g in _alive(entry.graphs)))
        return Retained(len(steps), dead, tuple(map(_orphan, orphans)))

    def release(self, without_function: Iterable[Any] = ()) -> Released:
        """Remove the entries of dead step functions. Collect garbage before and after.

        Args:
            without_function: Graphs whose functions nobody refers to any more, though garbage was
                not collected since: dead too.

        Where models are alive, who owns a graph is looked up afresh among all objects: tens of
        milliseconds.
        """
        why = self.why_unavailable()
        if why:
            return Released(why=why)
        self._owners.forget()
        self._read_new()
        registry = self._internals.gradients or {}
        steps = {key: entry for key, entry in self._entries.items() if entry.is_step}
        graphs = _distinct(g for entry in steps.values() for g in _alive(entry.graphs))
        free = {id(each) for each in without_function}
        free |= set(map(id, self._owners.dead([each for each in graphs if id(each) not in free])))
        dead = [key for key in steps if all(id(g) in free for g in _alive(steps[key].graphs))]
        graphs = _distinct(g for key in dead for g in _alive(steps[key].graphs))
        disused = [graph for graph in graphs if _has_living_variables(graph)]
        of_dead = [graph for graph in graphs if not _has_living_variables(graph)]
        for key in dead:
            registry.pop(key, None)
            del self._entries[key]
        return Released(
            traces=len(graphs),
            models=_count_models(of_dead),
            disused=len(disused),
            held=tuple(self._held()),
        )

    def _read_new(self) -> None:
        registry = self._internals.gradients or {}
        now = {
            key: entry for key, entry in dict(registry).items() if key.startswith(GRADIENT_PREFIX)
        }
        for gone in self._entries.keys() - now.keys():
            del self._entries[gone]
        found = {key: self._graphs(now[key]) for key in now.keys() - self._entries.keys()}
        # Another thread may be tracing: what is being built has no owner yet, and is not dead.
        building = is_within(_SCRATCH_CALL)
        found = {
            key: some
            for key, some in found.items()
            if all(_is_finished(graph, building=building) for graph in some)
        }
        for key, some in found.items():
            self._entries[key] = _Entry(
                graphs=tuple(weakref.ref(graph) for graph in some),
                is_step=bool(some) and all(map(_is_of_keras, some)),
            )

    def _graphs(self, entry: Any) -> tuple[Any, ...]:
        gradient = entry.get("type") if isinstance(entry, dict) else None
        if not isinstance(gradient, FunctionType):
            return ()
        traced = self._internals.func_graph or ()
        tensor_type = getattr(sys.modules.get("tensorflow"), "Tensor", ())
        values = closure_values(gradient, CLOSURE_DEPTH)
        graphs = (
            getattr(value, "graph", None) for value in values if isinstance(value, tensor_type)
        )
        return _distinct(self._root(graph) for graph in graphs if isinstance(graph, traced))

    def _root(self, graph: Any) -> Any:
        # A branch is traced in a graph of its own inside the step function's.
        while isinstance(graph, self._internals.branch_graphs):
            outer = graph.outer_graph
            if not isinstance(outer, self._internals.func_graph or ()):
                return graph
            graph = outer
        return graph

    def _held(self) -> Iterator[str]:
        live = _distinct(
            graph
            for entry in self._entries.values()
            if entry.is_step
            for graph in _alive(entry.graphs)
        )
        if live:
            yield f"{_traces(len(live))} in use by live models"
        users = Counter(
            graph.name
            for graph in _distinct(
                graph
                for entry in self._entries.values()
                if not entry.is_step
                for graph in _alive(entry.graphs)
            )
        )
        many = functions_with_many_traces(self._internals, but=STEP_FUNCTIONS)
        yield from (str(each) for each in many)
        for each in many:
            del users[each.name]
        for name, count in users.most_common(_MOST_HELD_LINES - 2 - len(many)):
            yield f"{_traces(count)} held by `{name}` (a tf.function of the script)"
        unknown = sum(1 for entry in self._entries.values() if not entry.graphs)
        if unknown:
            yield f"{unknown} custom gradients whose trace cannot be told"


def _traces(count: int) -> str:
    return f"{count} trace{'' if count == 1 else 's'}"


def _distinct(graphs: Iterable[Any]) -> tuple[Any, ...]:
    return tuple({id(graph): graph for graph in graphs}.values())


def _alive(references: Iterable["weakref.ref[Any]"]) -> Iterator[Any]:
    return (graph for reference in references if (graph := reference()) is not None)


def _is_of_keras(graph: Any) -> bool:
    return graph.name in STEP_FUNCTIONS or _is_scratch(graph)


def _is_scratch(graph: Any) -> bool:
    # tf_keras calls each layer once in such a graph, only to learn the shape of its output.
    return str(graph.name).endswith(_SCRATCH)


def _is_finished(graph: Any, *, building: bool) -> bool:
    if _is_scratch(graph):
        return not building
    return bool(getattr(graph, "outputs", True)) or graph.structured_outputs is not None


def _orphan(graph: Any) -> Orphan:
    return Orphan(graph.name, operations_of(graph), tuple(_branches(graph)))


def _branches(graph: Any) -> Iterator[str]:
    for name in getattr(graph, "_functions", ()):
        yield name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)


def _has_living_variables(graph: Any) -> bool:
    # A dead model's are gone. Of a live one that was compiled anew the weights stay.
    weak = getattr(graph, VARIABLES, None) or ()
    return any(isinstance(each, weakref.ref) and each() is not None for each in weak)


def _count_models(graphs: Iterable[Any]) -> int:
    # Traces of one model use the same variables; of different models, different ones, unless one
    # is a layer of the other: then the name tells which of them was fitted.
    groups: list[tuple[set[int], set[str]]] = []
    for graph in graphs:
        used, names = set(_variables(graph)), {_model_name(graph)}
        for group in [each for each in groups if each[0] & used]:
            groups.remove(group)
            used |= group[0]
            names |= group[1]
        groups.append((used, names))
    return sum(len(names) for _, names in groups)


def _model_name(graph: Any) -> str:
    """Outermost name scope of the first operation in one: that of the model that was called."""
    names = (str(each.name) for each in graph.get_operations())
    return next((name.partition("/")[0] for name in names if "/" in name), "")


def _variables(graph: Any) -> Iterator[int]:
    """Identities of what stands for its variables; for all graphs that use one it is the same."""
    weak = getattr(graph, VARIABLES, None)
    if isinstance(weak, list) and weak:
        # Of a variable that is gone, its weak reference is still the one that all of them have.
        yield from map(id, weak)
        return
    for handle, _ in getattr(graph, "captures", ()):
        if getattr(getattr(handle, "dtype", None), "name", "") == "resource":
            yield id(handle)
