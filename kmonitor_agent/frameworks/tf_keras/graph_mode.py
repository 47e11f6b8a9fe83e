# pyright: basic
"""tf_keras in v1 graph mode (`disable_eager_execution()`): one graph and one session for all.

There is no trace to release and no function to make anew within a `fit`: operations of the default
graph are freed only by clearing the session, after which no model made before can go on. Saving
works anywhere; `kmonitor_agent.fit` reloads by rebuilding the model between two epochs.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kmonitor_agent.frameworks.base import (
    AllocatorReadings,
    FitFacts,
    GraphCount,
    KerasModel,
    ModelDescription,
    Probed,
    ReclaimSteps,
    Released,
    StateUnreadable,
    StateVariable,
)
from kmonitor_agent.frameworks.missing_names import lacking
from kmonitor_agent.frameworks.model_facts import rate_reading, read_description, read_fit_facts
from kmonitor_agent.frameworks.tensorflow.graphs import STATEFUL_RANDOM, called_functions
from kmonitor_agent.frameworks.tensorflow.internals import find_internals
from kmonitor_agent.frameworks.tensorflow.memory import TensorFlowAllocator
from kmonitor_agent.frameworks.tf_keras.state import tf_keras_state
from kmonitor_agent.frameworks.tf_keras.tf_keras_session import backend_of, title_of
from kmonitor_agent.wire.messages.events import FunctionTraces
from kmonitor_agent.wire.messages.reading import Reading

SOURCE: Final = "tensorflow: operations of the v1 default graph"
WHY_NOT: Final = (
    "not available inside a plain fit in v1 graph mode (disable_eager_execution): only clearing"
    " the session frees operations, and the model must be rebuilt after it; train with"
    " kmonitor_agent.fit(model, ...) instead of model.fit(...) and ask for a reload"
)
_NO_COLLECT: Final = (
    "nothing to collect in v1 graph mode (disable_eager_execution): there are no traces, and"
    " operations are freed only by a reload, in kmonitor_agent.fit(model, ...)"
)
_NO_FUNCTIONS: Final = "there are no traced functions in v1 graph mode; see the graph's operations"
_RATE_ADDS: Final = (
    "in v1 graph mode (disable_eager_execution) reading a schedule would add operations to the"
    " graph"
)
_NUMBERED: Final = re.compile(r"_\d+$")
_MOST_SCOPES: Final = 64


class V1GraphFramework:
    """Reads a tf_keras in v1 graph mode; belongs to the thread that trains."""

    def __init__(self, *, versions: dict[str, str], package: str = "tf_keras") -> None:
        self._package = package
        self._allocator = TensorFlowAllocator(find_internals())
        self._operations = _ScopeCounts()
        self._probed = Probed(
            backend="tensorflow",
            versions=versions,
            unavailable={"collect": _NO_COLLECT, "reload": WHY_NOT},
        )
        if why := why_no_names(package):
            self._probed.unavailable["save"] = why

    def probed(self) -> Probed:
        """What was found when TensorFlow was first met."""
        return self._probed

    def fit_facts(self, model: KerasModel) -> FitFacts:
        """How this model is compiled."""
        return read_fit_facts(model)

    def learning_rate(self, model: KerasModel) -> Reading:
        """The optimizer's learning rate now; absent where reading it would add operations."""
        optimizer = getattr(model, "optimizer", None)
        rate = getattr(optimizer, "_hyper", {}).get("learning_rate")
        if isinstance(rate, float):
            return rate_reading(rate)
        if not isinstance(rate, sys.modules["tensorflow"].Variable):
            return Reading.missing("1", _RATE_ADDS)
        try:
            return rate_reading(float(_value(self._package, rate)))
        except (ImportError, AttributeError, RuntimeError, TypeError, ValueError) as exc:
            return Reading.missing("1", f"the optimizer does not tell it ({type(exc).__name__})")

    def describe(self, model: KerasModel) -> ModelDescription:
        """Layers, weights and optimizer slots."""
        return read_description(model)

    def graph(self, model: KerasModel | None) -> GraphCount:
        """Operations in the graph of the model, else in the default graph."""
        try:
            return self._operations.count(graph_of(model))
        except (AttributeError, TypeError) as exc:
            why = lacking("TensorFlow", exc)
            return GraphCount(operations=None, absent=why)

    def function_count(self) -> Reading:
        """Absent: there are none."""
        return Reading.missing("functions", _NO_FUNCTIONS)

    def allocator(self) -> AllocatorReadings:
        """Allocator of the first GPU, else of the CPU device; any thread."""
        return self._allocator.read()

    def reclaim_steps(self) -> ReclaimSteps | None:
        """What saving needs; the others are unavailable."""
        return V1GraphSteps(self._package)


class V1GraphSteps:
    """Implements `ReclaimSteps`, as far as v1 graph mode allows."""

    def __init__(self, package: str) -> None:
        self._package = package

    def state(self, model: KerasModel) -> list[StateVariable]:
        """See `ReclaimSteps.state`."""
        if getattr(model, "optimizer", None) is None:
            raise StateUnreadable("the model is not compiled: it has no optimizer")
        return tf_keras_state(model)

    def read(self, variable: Any) -> Any:
        """The value as a numpy array; adds no operation to the graph."""
        return sys.modules["numpy"].asarray(_value(self._package, variable))

    def assign(self, variable: Any, value: Any) -> None:
        """In place, by the variable's own initializer: adds no operation to the graph."""
        initializer = variable.initializer
        session = backend_of(self._package).get_session()
        session.run(initializer, feed_dict={initializer.inputs[1]: value})

    def drop_functions(self, model: KerasModel) -> Sequence[str]:
        """Nothing: a running fit keeps its function in a variable of its own."""
        del model
        return ()

    def make_functions(self, model: KerasModel, names: Sequence[str]) -> None:
        """Nothing."""

    def release_retained(self) -> Released:
        """Nothing."""
        return Released(why=_NO_COLLECT)

    def clear_session(self) -> str:
        """Never: no model would survive it."""
        return f"session not cleared: {WHY_NOT}"

    def inexact(self, model: KerasModel) -> str:
        """Whether the train step draws from operations whose counters no one can save."""
        found = _step_operations(model) & STATEFUL_RANDOM
        if not found:
            return ""
        return (
            f"not exact: the step draws from stateful operations ({', '.join(sorted(found))},"
            " for example of Dropout) whose counters start again in a new session"
        )


class _ScopeCounts:
    """Operations of a graph by the first part of their names; reads only those that are new."""

    def __init__(self) -> None:
        self._graph: Any = None
        self._scopes: dict[str, int] = {}
        self._count = GraphCount(operations=None, absent="nothing was counted yet")

    def count(self, graph: Any) -> GraphCount:
        """Operations of a default graph by scope; only what is new is looked at."""
        key, total = id(graph), _operation_count(graph)
        if self._graph != key or total < (self._count.operations or 0):
            self._graph, self._scopes, self._count = key, {}, GraphCount(operations=0)
        if total != self._count.operations or not self._count.source:
            for op in graph.get_operations()[self._count.operations :]:
                scope = _NUMBERED.sub("", op.name.partition("/")[0])
                self._scopes[scope] = self._scopes.get(scope, 0) + 1
            largest = sorted(self._scopes.items(), key=lambda item: item[1], reverse=True)
            self._count = GraphCount(
                operations=total,
                by_function=tuple(
                    FunctionTraces(name=name[:4096], traces=0, operations=operations)
                    for name, operations in largest[:_MOST_SCOPES]
                ),
                source=SOURCE,
            )
        return self._count


def why_no_names(package: str, *names: str) -> str:
    """Why values cannot be read and written, and the rest not be done; empty when they can.

    Args:
        package: The Keras 2.
        *names: More names of its backend that are needed.
    """
    try:
        backend = backend_of(package)
        for name in ("get_value", "get_session", *names):
            getattr(backend, name)
    except (ImportError, AttributeError) as exc:
        return lacking(title_of(package), exc)
    return ""


def graph_of(model: KerasModel | None) -> Any:
    """The graph that a model was built in, else the one that new operations go to."""
    weights = getattr(model, "weights", None) or ()
    for weight in weights:
        return weight.graph
    return sys.modules["tensorflow"].compat.v1.get_default_graph()


def _operation_count(graph: Any) -> int:
    # Older TensorFlow has no such method.
    count: Any = getattr(graph, "num_operations", None)
    return len(graph.get_operations()) if count is None else int(count())


def _value(package: str, variable: Any) -> Any:
    return backend_of(package).get_value(variable)


def _step_operations(model: KerasModel) -> set[str]:
    """Kinds of operations that a train step runs: what it fetches, and what that needs."""
    function = getattr(model, "train_function", None)
    fetched = [getattr(output, "op", None) for output in getattr(function, "outputs", ())]
    fetched = [op for op in (*fetched, getattr(function, "updates_op", None)) if op is not None]
    if not fetched:
        return set()
    definition = fetched[0].graph.as_graph_def()
    functions = {each.signature.name: each for each in definition.library.function}
    nodes = {node.name: node for node in definition.node}
    needed = _needed(nodes, [op.name for op in fetched])
    kinds, todo = {node.op for node in needed}, [*needed]
    while todo:
        # A branch of a condition, such as Dropout's on the learning phase, is a function.
        for name in called_functions(todo.pop()):
            found = functions.pop(name, None)
            if found is not None:
                kinds |= {node.op for node in found.node_def}
                todo.extend(found.node_def)
    return kinds


def _needed(nodes: Mapping[str, Any], names: Iterable[str]) -> list[Any]:
    todo, seen = list(names), set(names)
    found: list[Any] = []
    while todo:
        node = nodes[todo.pop()]
        found.append(node)
        for given in node.input:
            name = given.removeprefix("^").partition(":")[0]
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return found
