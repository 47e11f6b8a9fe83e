# pyright: basic
"""Which traced graphs a function still owns, found without a look through all objects if possible.

A graph does not know its function; only functions refer to it. What tells without asking everyone:

- functions keep weak references to their variables, and cannot be called once these are gone;
- a function is registered under the name of its graph, with as many operations.
"""

import gc
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kmonitor_agent.call_stacks import call_stacks
from kmonitor_agent.frameworks.tensorflow.internals import TensorFlowInternals
from kmonitor_agent.frameworks.tensorflow.tensorflow_names import traced_name

Key = tuple[str, int]
"""Name of a traced Python function, and number of operations."""

_TRACING: Final = "trace_function"
"""Where TensorFlow traces: a graph gets its function in here, a moment after it is whole."""

VARIABLES: Final = "_weak_variables"
"""Of a traced graph: weak references to the variables that it reads or writes."""


class GraphOwners:
    """Knows what was found out about graphs; belongs to the thread that acts."""

    def __init__(self, internals: TensorFlowInternals) -> None:
        self._internals = internals
        self._found: weakref.WeakKeyDictionary[Any, frozenset[tuple[int, bytes]]] = (
            weakref.WeakKeyDictionary()
        )

    def forget(self) -> None:
        """Look afresh from now on."""
        self._found.clear()

    def without(self, graphs: Iterable[Any], registered: Mapping[Key, int]) -> list[Any]:
        """Those that no function owns.

        As many graphs as there are functions of the same name and size have an owner. Where there
        are more graphs than functions, those whose variables are gone have none; only if that
        does not decide it, all objects are asked: tens of milliseconds.

        Args:
            graphs: Traced and whole, each once.
            registered: How many functions there are.
        """
        alike: defaultdict[Key, list[Any]] = defaultdict(list)
        for graph in graphs:
            alike[graph.name, operations_of(graph)].append(graph)
        free: list[Any] = []
        for key, some in alike.items():
            some.sort(key=lambda graph: not self._is_owned_surely(graph))
            free += some[registered.get(key, 0) :]
        return self._confirmed(free)

    def dead(self, graphs: Iterable[Any]) -> list[Any]:
        """Those that nobody can need any more, beyond doubt."""
        graphs = list(graphs)
        doubtful = [graph for graph in graphs if not _is_forsaken(graph)]
        if not is_within(_TRACING):  # asked first: what was being traced is registered by now
            names = b"\n".join(name for _, name in list(self._internals.functions or ()))
            doubtful = [graph for graph in doubtful if str(graph.name).encode() in names]
        free = set(map(id, self._confirmed(doubtful)))
        kept = {id(graph) for graph in doubtful if id(graph) not in free}
        return [graph for graph in graphs if id(graph) not in kept]

    def _confirmed(self, graphs: list[Any]) -> list[Any]:
        new = [graph for graph in graphs if not _is_forsaken(graph) and graph not in self._found]
        if new and is_within(_TRACING):
            # A graph that some thread has just finished has no owner yet.
            waiting = set(map(id, new))
            graphs = [graph for graph in graphs if id(graph) not in waiting]
        elif new:
            found = self._ask_all(new)
            for graph in new:
                self._found[graph] = frozenset(found.get(id(graph), ()))
        return [graph for graph in graphs if _is_forsaken(graph) or not self._has_function(graph)]

    def _has_function(self, graph: Any) -> bool:
        functions = self._internals.functions or {}
        return any(name in functions for name in self._found.get(graph, ()))

    def _is_owned_surely(self, graph: Any) -> bool:
        return not _is_forsaken(graph) and (graph not in self._found or self._has_function(graph))

    def _ask_all(self, graphs: list[Any]) -> dict[int, list[tuple[int, bytes]]]:
        """Names of the functions that own a graph, by the graph's identity."""
        owner_type = self._internals.function_type
        by_name = {name: (scope, name) for scope, name in list(self._internals.functions or ())}
        # Objects refer to their class: cheaper than to look for those that refer to a graph.
        # The type's own attribute: `isinstance` would ask an abstract class each time.
        functions = [each for each in gc.get_referrers(owner_type) if type(each) is owner_type]
        if by_name.keys() - {function.name for function in functions}:
            referrers = gc.get_referrers(*graphs)
            functions = [each for each in referrers if owner_type in type(each).__mro__]
        owners: dict[int, list[tuple[int, bytes]]] = {}
        for function in functions:
            graph = getattr(function, "_cached_graph", None)
            if graph is not None and function.name in by_name:
                owners.setdefault(id(graph), []).append(by_name[function.name])
        return owners


def registered_sizes(operations: Mapping[str, int]) -> Counter[Key]:
    """How many functions there are of each name and size.

    Args:
        operations: Operations of each registered function by its name, inputs included.
    """
    return Counter((traced_name(name), size) for name, size in operations.items())


def operations_of(graph: Any) -> int:
    """Nodes of a traced graph; 0 if it does not tell."""
    try:
        return int(graph.num_operations())
    except (AttributeError, TypeError, RuntimeError):
        return 0


def is_within(function: str) -> bool:
    """Whether some thread runs a function of this name."""
    with call_stacks() as stacks:
        return any(
            frame.f_code.co_name == function for stack in stacks.values() for frame in stack
        )


def _is_forsaken(graph: Any) -> bool:
    """Whether all variables of a trace are gone: nobody can call it, or needs its gradient."""
    variables = getattr(graph, VARIABLES, None)
    if not isinstance(variables, list) or not variables:
        return False  # none, or another TensorFlow: not known
    return all(isinstance(each, weakref.ref) and each() is None for each in variables)
