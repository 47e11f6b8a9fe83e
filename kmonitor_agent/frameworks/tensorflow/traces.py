# pyright: basic
"""Traces that TensorFlow's gradient registry keeps alive, and the release of the dead ones.

Each use of a `tf.custom_gradient` in a graph registers `CustomGradient-<n>` for the life of the
process; the entry's closure holds tensors, their graph, and the variables which that captures.
An entry is *dead* when all graphs in its closure belong to step functions of Keras (a branch of a
condition or loop counts to the trace around it) and none of those is owned by a function any more:
its model is gone, was compiled again, or has dropped the function. No one can then differentiate
the trace. Users' own functions keep other names, live models keep their functions: both stay, and
those that hold many traces are named. All of it belongs to the thread that trains.
"""

import gc
import sys
import time
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final

from kmonitor_agent.call_stacks import call_stacks
from kmonitor_agent.frameworks.base import ReleasedTraces, TraceHolder
from kmonitor_agent.frameworks.live_objects import closure_values, container_name, instances_of
from kmonitor_agent.frameworks.script_values import class_name, holds_only_known, is_instance
from kmonitor_agent.frameworks.tensorflow.internals import TensorFlowInternals, traced_name

TraceKey = tuple[str, int]
"""Name of a traced Python function, and number of operations."""

VARIABLES: Final = "_weak_variables"
"""Attribute of a traced graph: weak references to the variables that it reads or writes."""

STEP_FUNCTIONS: Final = frozenset(
    {"one_step_on_data", "one_step_on_data_distributed", "one_step_on_iterator"}
    | {"multi_step_on_data", "multi_step_on_iterator"}
    | {"predict_function", "test_function", "train_function"}
)
"""Names of the functions that Keras 3 and tf_keras trace for fit, evaluate and predict."""

_SCRATCH: Final = "_scratch_graph"
_SCRATCH_CALL: Final = "_infer_output_signature"
"""End of the name of a scratch graph of tf_keras, and the function that builds in it."""

GRADIENT_PREFIX: Final = "CustomGradient-"
_MOST_HELD_LINES: Final = 32


@dataclass(frozen=True, slots=True)
class OrphanGraph:
    """A traced graph whose function is gone; only the registry holds it.

    Attributes:
        name: Name of the traced Python function.
        operations: Nodes in it.
        branches: Registered functions of its conditions and loops, kept by it.
        is_disused: True if weights that it uses are alive: its model was compiled again, or a new
            model has its layers.
    """

    name: str
    operations: int
    branches: tuple[str, ...]
    is_disused: bool = False


@dataclass(frozen=True, slots=True)
class RegistryContents:
    """Contents of the registry now.

    Attributes:
        step_entries: Entries of Keras' step functions, live or dead; None if unknown.
        dead_step_entries: Those of them that no live model needs; None if unknown.
        orphans: Graphs that only the registry holds, each once.
        disused_step_entries: Those of the dead entries whose weights are alive.
    """

    step_entries: int | None = None
    dead_step_entries: int | None = None
    orphans: tuple[OrphanGraph, ...] = ()
    disused_step_entries: int = 0


@dataclass(slots=True)
class _Entry:
    graphs: tuple["weakref.ref[Any]", ...]
    is_step: bool


class RetainedTraces:
    """Reads the registry's entries, and releases the dead ones."""

    def __init__(self, internals: TensorFlowInternals) -> None:
        self._internals = internals
        self._entries: dict[str, _Entry] = {}
        self._owners = GraphOwners(internals)
        self._frozen = gc.get_freeze_count()

    def why_unavailable(self) -> str:
        """Reason why the registry cannot be read; empty if it can."""
        return self._why_unreadable() or self._why_hidden()

    def _why_unreadable(self) -> str:
        names = ("gradients", "func_graph", "function_type", "functions")
        return next((why for name in names if (why := self._internals.missing.get(name))), "")

    def _why_hidden(self) -> str:
        """Reason why owners of traces may not be found; counting a million objects takes 80 ms."""
        if gc.get_freeze_count() > self._frozen:
            # Frozen objects are no referrers: a live model's traces would look dead.
            return "gc.freeze() was called after training began and hides what holds the traces"
        return ""

    def read(self, registered: Mapping[TraceKey, int]) -> RegistryContents:
        """Contents now; reads only entries that are new.

        Args:
            registered: Number of functions of each name and size.
        """
        if self._why_unreadable():
            return RegistryContents()
        self._read_new()
        graphs = _distinct(g for entry in self._entries.values() for g in _alive(entry.graphs))
        orphans = self._owners.without(graphs, registered)
        if orphans and self._why_hidden():
            return RegistryContents()
        free = set(map(id, orphans))
        steps = [entry for entry in self._entries.values() if entry.is_step]
        dead = [entry for entry in steps if all(id(g) in free for g in _alive(entry.graphs))]
        disused = sum(any(map(_has_living_variables, _alive(entry.graphs))) for entry in dead)
        return RegistryContents(len(steps), len(dead), tuple(map(_orphan, orphans)), disused)

    def release(self, without_function: Iterable[Any] = ()) -> ReleasedTraces:
        """Remove the entries of dead step functions. Collect garbage before and after.

        Args:
            without_function: Graphs to whose functions nothing refers any more, though garbage was
                not collected since: dead too.

        Where models are alive, the owners of graphs are searched for among all objects: tens of
        milliseconds.
        """
        why = self.why_unavailable()
        if why:
            return ReleasedTraces(why=why)
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
        return ReleasedTraces(
            traces=len(graphs),
            models=_count_models(of_dead),
            disused=len(disused),
            held=tuple(self._held()),
        )

    def _read_new(self) -> None:
        registry = self._internals.gradients or {}
        current = {
            key: entry for key, entry in dict(registry).items() if key.startswith(GRADIENT_PREFIX)
        }
        for gone in self._entries.keys() - current.keys():
            del self._entries[gone]
        new_graphs = {
            key: self._graphs(current[key]) for key in current.keys() - self._entries.keys()
        }
        # Another thread may be tracing: what is being built has no owner yet, and is not dead.
        building = is_any_thread_in(_SCRATCH_CALL)
        new_graphs = {
            key: some
            for key, some in new_graphs.items()
            if all(_is_finished(graph, building=building) for graph in some)
        }
        for key, some in new_graphs.items():
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
        values = closure_values(gradient)
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
            yield f"{_traces_text(len(live))} in use by live models"
        users = Counter(
            graph.name
            for graph in _distinct(
                graph
                for entry in self._entries.values()
                if not entry.is_step
                for graph in _alive(entry.graphs)
            )
        )
        retraced = functions_with_many_traces(self._internals, but=STEP_FUNCTIONS)
        yield from map(_holder_text, retraced)
        for each in retraced:
            del users[each.name]
        for name, count in users.most_common(_MOST_HELD_LINES - 2 - len(retraced)):
            yield f"{_traces_text(count)} held by `{name}` (a tf.function in the script)"
        unknown = sum(1 for entry in self._entries.values() if not entry.graphs)
        if unknown:
            yield f"{unknown} custom gradients whose traces are unknown"


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


def _orphan(graph: Any) -> OrphanGraph:
    is_disused = _has_living_variables(graph)
    return OrphanGraph(graph.name, operations_of(graph), tuple(_branches(graph)), is_disused)


def _branches(graph: Any) -> Iterator[str]:
    for name in getattr(graph, "_functions", ()):
        yield name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)


def _has_living_variables(graph: Any) -> bool:
    # The variables of a dead model are gone; a live model that was compiled again keeps its
    # weights.
    weak = getattr(graph, VARIABLES, None) or ()
    return any(isinstance(each, weakref.ref) and each() is not None for each in weak)


def _count_models(graphs: Iterable[Any]) -> int:
    # Traces of one model use the same variables; of different models, different ones, unless one
    # is a layer of the other: then the name shows which of them was fitted.
    groups: list[tuple[set[int], set[str]]] = []
    for graph in graphs:
        used = set(_variables(graph))
        names = {_model_name(graph)}
        for group in [each for each in groups if each[0] & used]:
            groups.remove(group)
            used |= group[0]
            names |= group[1]
        groups.append((used, names))
    return sum(len(names) for _, names in groups)


def _model_name(graph: Any) -> str:
    """Outermost name scope of a graph's first operation: the name of the called model."""
    names = (str(each.name) for each in graph.get_operations())
    return next((name.partition("/")[0] for name in names if "/" in name), "")


def _variables(graph: Any) -> Iterator[int]:
    """Identities of a graph's variables; the same for all graphs that use a variable."""
    weak = getattr(graph, VARIABLES, None)
    if isinstance(weak, list) and weak:
        # All graphs that use a variable share one weak reference to it, also after it is gone.
        yield from map(id, weak)
        return
    for handle, _ in getattr(graph, "captures", ()):
        if getattr(getattr(handle, "dtype", None), "name", "") == "resource":
            yield id(handle)


def _holder_text(holder: TraceHolder) -> str:
    container_text = f", retained in `{holder.container}`" if holder.container else ""
    why_text = f", {holder.why}{container_text}" if holder.why else ""
    held = f"{holder.traces} traces held by `{holder.name}`"
    return f"{held} (a tf.function in the script{why_text})"


def _traces_text(count: int) -> str:
    return f"{count} trace{'' if count == 1 else 's'}"


_TRACING: Final = "trace_function"
"""Function in which TensorFlow traces: a graph gets its function here, just after completion."""


SEARCH_PART: Final = 0.02
_MOST_SEARCH_S: Final = 0.5
"""Maximum part of a core for asking all objects, and the time that is saved up for it, seconds."""


class GraphOwners:
    """Finds out which graphs a registered function owns, and remembers it."""

    def __init__(self, internals: TensorFlowInternals) -> None:
        self._internals = internals
        self._found: weakref.WeakKeyDictionary[Any, frozenset[tuple[int, bytes]]] = (
            weakref.WeakKeyDictionary()
        )

        self._left_s = _MOST_SEARCH_S
        self._refilled_s = time.monotonic()

    def forget(self) -> None:
        self._found.clear()

    def without(self, graphs: Iterable[Any], registered: Mapping[TraceKey, int]) -> list[Any]:
        """Graphs that no function owns.

        As many graphs as there are functions of the same name and size have an owner. Where there
        are more graphs than functions, those whose variables are gone have none; only if that
        does not decide it, all objects are asked: tens of milliseconds. That is left for later
        where a script traces ever again and it has taken `SEARCH_PART` of the time already.

        Args:
            graphs: Traced and whole, each once.
            registered: Number of functions of each name and size.
        """
        alike: defaultdict[TraceKey, list[Any]] = defaultdict(list)
        for graph in graphs:
            alike[graph.name, operations_of(graph)].append(graph)
        free: list[Any] = []
        for key, some in alike.items():
            some.sort(key=lambda graph: not self._is_owned_surely(graph))
            free += some[registered.get(key, 0) :]
        self._refill()
        return self._confirmed(free, may_search=self._left_s > 0.0)

    def _refill(self) -> None:
        now_s = time.monotonic()
        more_s = SEARCH_PART * max(0.0, now_s - self._refilled_s)
        self._left_s = min(_MOST_SEARCH_S, self._left_s + more_s)
        self._refilled_s = now_s

    def dead(self, graphs: Iterable[Any]) -> list[Any]:
        """Graphs that certainly cannot be needed any more."""
        graphs = list(graphs)
        doubtful = [graph for graph in graphs if not _lost_its_variables(graph)]
        if not is_any_thread_in(
            _TRACING
        ):  # asked first: what was being traced is registered by now
            names = b"\n".join(name for _, name in list(self._internals.functions or ()))
            doubtful = [graph for graph in doubtful if str(graph.name).encode() in names]
        free = set(map(id, self._confirmed(doubtful)))
        alive_ids = {id(graph) for graph in doubtful if id(graph) not in free}
        return [graph for graph in graphs if id(graph) not in alive_ids]

    def _confirmed(self, graphs: list[Any], *, may_search: bool = True) -> list[Any]:
        new = [
            graph
            for graph in graphs
            if not _lost_its_variables(graph) and graph not in self._found
        ]
        if new and (not may_search or is_any_thread_in(_TRACING)):
            # A graph that some thread has just finished has no owner yet.
            waiting = set(map(id, new))
            graphs = [graph for graph in graphs if id(graph) not in waiting]
        elif new:
            began_s = time.thread_time()
            owners = self.find_owners(new)
            self._left_s -= time.thread_time() - began_s
            for graph in new:
                self._found[graph] = frozenset(owners.get(id(graph), ()))
        return [
            graph
            for graph in graphs
            if _lost_its_variables(graph) or not self._has_function(graph)
        ]

    def _has_function(self, graph: Any) -> bool:
        functions = self._internals.functions or {}
        return any(name in functions for name in self._found.get(graph, ()))

    def _is_owned_surely(self, graph: Any) -> bool:
        return not _lost_its_variables(graph) and (
            graph not in self._found or self._has_function(graph)
        )

    def find_owners(self, graphs: list[Any]) -> dict[int, list[tuple[int, bytes]]]:
        """Names of the functions that own a graph, by the graph's identity."""
        owner_type: Any = self._internals.function_type
        by_name = {name: (scope, name) for scope, name in list(self._internals.functions or ())}
        # Objects refer to their class: cheaper than to look for those that refer to a graph.
        # The type's own attribute: `isinstance` would ask an abstract class each time.
        functions = [each for each in gc.get_referrers(owner_type) if type(each) is owner_type]
        if by_name.keys() - {function.name for function in functions}:
            referrers = gc.get_referrers(*graphs)
            functions = [each for each in referrers if is_instance(each, owner_type)]
        owners: dict[int, list[tuple[int, bytes]]] = {}
        for function in functions:
            graph = getattr(function, "_cached_graph", None)
            if graph is not None and function.name in by_name:
                owners.setdefault(id(graph), []).append(by_name[function.name])
        return owners


def registered_sizes(operations: Mapping[str, int]) -> Counter[TraceKey]:
    """Number of functions of each name and size.

    Args:
        operations: Operations of each registered function by its name, inputs included.
    """
    return Counter((traced_name(name), size) for name, size in operations.items())


def operations_of(graph: Any) -> int:
    """Nodes of a traced graph; 0 if they cannot be counted."""
    try:
        return int(graph.num_operations())
    except (AttributeError, TypeError, RuntimeError):
        return 0


def is_any_thread_in(function: str) -> bool:
    """True if some thread runs a function of this name."""
    with call_stacks() as stacks:
        return any(
            frame.f_code.co_name == function for stack in stacks.values() for frame in stack
        )


def _lost_its_variables(graph: Any) -> bool:
    """True if all variables of a trace are gone: it cannot be called or differentiated."""
    variables = getattr(graph, VARIABLES, None)
    if not isinstance(variables, list) or not variables:
        return False  # none, or another TensorFlow: not known
    return all(isinstance(each, weakref.ref) and each() is None for each in variables)


MANY_TRACES: Final = 5
"""Traces from which on a function is named: TensorFlow itself warns of retracing at five."""

_MOST_NAMED: Final = 8


def functions_with_many_traces(
    internals: TensorFlowInternals, but: Iterable[str] = ()
) -> list[TraceHolder]:
    """The script's functions with `MANY_TRACES` or more, alone or together, most first, at most 8.

    Only when there are such does it look through all objects for them: tens of milliseconds.

    Args:
        internals: Where registered functions are listed.
        but: Names to leave out: Keras' own.
    """
    names = Counter(
        traced_name(name.decode("utf-8", "replace")) for _, name in list(internals.functions or ())
    )
    suspects = {name for name, count in names.items() if name and count >= MANY_TRACES}
    suspects -= set(but)
    if not suspects:
        return []
    alive = tuple(_living_functions(suspects))
    found = [each for function in alive if (each := _read_holder(function)) is not None]
    found += _recreated_functions(alive, suspects - {each.name for each in found})
    # Holders that the script froze cannot be listed: only the name and count of their traces.
    hidden = suspects - {each.name for each in found}
    if hidden and gc.get_freeze_count():
        found += [TraceHolder(name, names[name]) for name in hidden]
    return sorted(found, key=lambda each: -each.traces)[:_MOST_NAMED]


def _living_functions(names: set[str]) -> Iterator[Any]:
    types = getattr(getattr(sys.modules.get("tensorflow"), "types", None), "experimental", None)
    kind = getattr(types, "PolymorphicFunction", None)
    if kind is None:
        return
    for function in instances_of([kind]):
        if getattr(function, "__name__", "") in names:
            yield function


def _read_holder(function: Any) -> TraceHolder | None:
    try:
        traces = function._list_all_concrete_functions()  # noqa: SLF001 - looked for, may be missing
        if len(traces) < MANY_TRACES:
            return None
        return TraceHolder(function.__name__, len(traces), _differences(traces))
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return None


def _differences(traces: list[Any]) -> str:
    tf = sys.modules["tensorflow"]
    shapes: set[str] = set()
    values: set[str] = set()
    for trace in traces:
        leaves = tf.nest.flatten(trace.structured_input_signature)
        is_tensor = [is_instance(leaf, tf.TensorSpec) for leaf in leaves]
        pairs = list(zip(leaves, is_tensor, strict=True))
        shapes.add(repr([str(leaf.shape) for leaf, is_it in pairs if is_it]))
        values.add(repr([_text_of(leaf) for leaf, is_it in pairs if not is_it]))
    counts = [(len(shapes), "shapes"), (len(values), "Python values")]
    return ", ".join(f"{count} {what}" for count, what in counts if count > 1)


def _text_of(argument: object) -> str:
    known = holds_only_known(argument)
    return repr(argument) if known else f"{class_name(type(argument))} {id(argument)}"


def _recreated_functions(alive: tuple[Any, ...], suspects: set[str]) -> Iterator[TraceHolder]:
    """Names of which no function has many traces, but of which many functions have some."""
    for name in suspects:
        functions = tuple([each for each in alive if each.__name__ == name and _trace_count(each)])
        if len(functions) >= MANY_TRACES:
            n = sum(map(_trace_count, functions))
            yield TraceHolder(
                name, n, f"created {len(functions)} times", container_name(functions)
            )


def _trace_count(function: Any) -> int:
    try:
        return len(function._list_all_concrete_functions())  # noqa: SLF001 - may be missing
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return 0
