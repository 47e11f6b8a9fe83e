# pyright: basic
"""tf_keras in v1 graph mode (`disable_eager_execution()`): framework, save steps, model rebuilder.

All models share one graph and one session. There is no trace to release and no function to
recreate within a `fit`: operations of the default graph are freed only by clearing the session,
after which no earlier model can be used. Saving works anywhere; `kmonitor_agent.fit` reloads by
rebuilding the model between two epochs.
"""

import contextlib
import re
import sys
import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from kmonitor_agent.frameworks.base import (
    AllocatorReadings,
    FitFacts,
    FrameworkInfo,
    GraphCount,
    KerasModel,
    ModelDescription,
    ReclaimSteps,
    ReleasedTraces,
    StateUnreadable,
    StateVariable,
    missing_name_text,
)
from kmonitor_agent.frameworks.global_state import (
    keras2_name_counters,
    read_random_states,
    write_random_states,
)
from kmonitor_agent.frameworks.model_building import (
    CannotRebuild,
    CompileArguments,
    ModelFactory,
    call_model_factory,
    compile_arguments,
    copy_model,
    keras_package,
    why_not_copyable,
)
from kmonitor_agent.frameworks.model_facts import (
    learning_rate_reading,
    read_description,
    read_fit_facts,
)
from kmonitor_agent.frameworks.model_rebuilder import check_same_variables, variable_shapes
from kmonitor_agent.frameworks.script_values import instance_dict, safe_get
from kmonitor_agent.frameworks.tensorflow.graphs import STATEFUL_RANDOM, called_functions
from kmonitor_agent.frameworks.tensorflow.internals import find_internals
from kmonitor_agent.frameworks.tensorflow.memory import TensorFlowAllocator
from kmonitor_agent.frameworks.tf_keras.state import (
    continue_name_counters,
    keras2_backend,
    keras2_title,
    tf_keras_state,
)
from kmonitor_agent.wire.messages.events import FunctionTraces
from kmonitor_agent.wire.messages.readings import Reading

SOURCE: Final = "tensorflow: operations of the v1 default graph"

WHY_NOT: Final = (
    "not available inside a plain fit in v1 graph mode (disable_eager_execution): only "
    "clearing the session frees operations, and the model must be rebuilt afterwards; train "
    "with kmonitor_agent.fit(model, ...) instead of model.fit(...) and ask for a reload"
)

_NO_COLLECT: Final = (
    "nothing to collect in v1 graph mode (disable_eager_execution): there are no traces, and"
    " operations are freed only by a reload, in kmonitor_agent.fit(model, ...)"
)

_NO_FUNCTIONS: Final = "there are no traced functions in v1 graph mode; see the graph's operations"

_RATE_ADDS: Final = (
    "in v1 graph mode (disable_eager_execution), reading a schedule would add operations to the "
    "graph"
)

_NUMBERED: Final = re.compile(r"_\d+$")
_MOST_SCOPES: Final = 64


class V1GraphFramework:
    """Reads a tf_keras in v1 graph mode; belongs to the thread that trains."""

    def __init__(self, *, versions: dict[str, str], package: str = "tf_keras") -> None:
        self._package = package
        self._allocator = TensorFlowAllocator(find_internals())
        self._operations = _ScopeCounts()
        self._framework_info = FrameworkInfo(
            backend="tensorflow",
            versions=versions,
            unavailable={"collect": _NO_COLLECT, "reload": WHY_NOT},
        )
        if why := why_names_missing(package):
            self._framework_info.unavailable["save"] = why

    def info(self) -> FrameworkInfo:
        """Facts from the time when TensorFlow was first used."""
        return self._framework_info

    def fit_facts(self, model: KerasModel) -> FitFacts:
        return read_fit_facts(model)

    def learning_rate(self, model: KerasModel) -> Reading:
        """The optimizer's learning rate now; absent where reading it would add operations."""
        hyper = instance_dict(instance_dict(model).get("optimizer")).get("_hyper")
        rate = safe_get(hyper, "learning_rate")
        if isinstance(rate, float):
            return learning_rate_reading(rate)
        if not isinstance(rate, sys.modules["tensorflow"].Variable):
            return Reading.missing("1", _RATE_ADDS)
        try:
            return learning_rate_reading(float(_value(self._package, rate)))
        except (ImportError, AttributeError, RuntimeError, TypeError, ValueError) as exc:
            return Reading.missing("1", f"the optimizer does not report it ({type(exc).__name__})")

    def describe(self, model: KerasModel) -> ModelDescription:
        return read_description(model)

    def graph(self, model: KerasModel | None) -> GraphCount:
        """Operations in the graph of the model, else in the default graph."""
        try:
            return self._operations.count(graph_of(model))
        except (AttributeError, TypeError) as exc:
            why = missing_name_text("TensorFlow", exc)
            return GraphCount(operations=None, absent=why)

    def function_count(self) -> Reading:
        """Absent: there are none."""
        return Reading.missing("functions", _NO_FUNCTIONS)

    def functions_made(self) -> Reading:
        return self.function_count()

    def allocator(self) -> AllocatorReadings:
        """Allocator of the first GPU, else of the CPU device; any thread."""
        return self._allocator.read()

    def reclaim_steps(self) -> ReclaimSteps | None:
        """Steps of saving; the others are unavailable."""
        return V1GraphReclaim(self._package)


class V1GraphReclaim:
    """Implements `ReclaimSteps`, as far as v1 graph mode allows."""

    def __init__(self, package: str) -> None:
        self._package = package

    def state(self, model: KerasModel) -> list[StateVariable]:
        if getattr(model, "optimizer", None) is None:
            raise StateUnreadable("the model is not compiled: it has no optimizer")
        return tf_keras_state(model)

    def read(self, variable: Any) -> Any:
        """Value as a numpy array; adds no operation to the graph."""
        return sys.modules["numpy"].asarray(_value(self._package, variable))

    def assign(self, variable: Any, value: Any) -> None:
        """Assign in place, by the variable's own initializer: adds no operation to the graph."""
        initializer = variable.initializer
        session = keras2_backend(self._package).get_session()
        session.run(initializer, feed_dict={initializer.inputs[1]: value})

    def drop_functions(self, model: KerasModel) -> Sequence[str]:
        """Do nothing: a running fit keeps its function in a local variable."""
        del model
        return ()

    def make_functions(self, model: KerasModel, names: Sequence[str]) -> None:
        pass

    def release_retained(self) -> ReleasedTraces:
        return ReleasedTraces(why=_NO_COLLECT)

    def clear_session(self) -> str:
        """Never clear: no model would survive it."""
        return f"session not cleared: {WHY_NOT}"

    def inexact(self, model: KerasModel) -> str:
        """Non-empty if the train step draws from operations whose counters cannot be saved."""
        operations = _step_operations(model) & STATEFUL_RANDOM
        if not operations:
            return ""
        return (
            "not exact: the step draws random numbers from stateful operations "
            f"({', '.join(sorted(operations))}, for example, in Dropout), whose counters start "
            "over in a new session"
        )


class _ScopeCounts:
    """Operations of a graph by the first part of their names; reads only those that are new."""

    def __init__(self) -> None:
        self._graph: Any = None
        self._scopes: dict[str, int] = {}
        self._count = GraphCount(operations=None, absent="nothing has been counted yet")

    def count(self, graph: Any) -> GraphCount:
        """Operations of a default graph by scope; only new ones are read."""
        key = id(graph)
        total = _operation_count(graph)
        if self._graph != key or total < (self._count.operations or 0):
            self._graph = key
            self._scopes = {}
            self._count = GraphCount(operations=0)
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


def why_names_missing(package: str, *names: str) -> str:
    """Reason why values cannot be read and written, or a needed name is missing; empty if neither.

    Args:
        package: Name of the Keras 2 package.
        *names: More names of its backend that are needed.
    """
    try:
        backend = keras2_backend(package)
        for name in ("get_value", "get_session", *names):
            getattr(backend, name)
    except (ImportError, AttributeError) as exc:
        return missing_name_text(keras2_title(package), exc)
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
    return keras2_backend(package).get_value(variable)


def _step_operations(model: KerasModel) -> set[str]:
    """Kinds of operations that a train step runs: its fetches and their ancestors."""
    function = getattr(model, "train_function", None)
    fetched = [getattr(output, "op", None) for output in getattr(function, "outputs", ())]
    fetched = [op for op in (*fetched, getattr(function, "updates_op", None)) if op is not None]
    if not fetched:
        return set()
    definition = fetched[0].graph.as_graph_def()
    functions = {each.signature.name: each for each in definition.library.function}
    nodes = {node.name: node for node in definition.node}
    needed = _needed(nodes, [op.name for op in fetched])
    kinds = {node.op for node in needed}
    todo = [*needed]
    while todo:
        # A branch of a condition, such as Dropout's on the learning phase, is a function.
        for name in called_functions(todo.pop()):
            function_definition = functions.pop(name, None)
            if function_definition is not None:
                kinds |= {node.op for node in function_definition.node_def}
                todo.extend(function_definition.node_def)
    return kinds


def _needed(nodes: Mapping[str, Any], names: Iterable[str]) -> list[Any]:
    todo = list(names)
    seen = set(names)
    needed: list[Any] = []
    while todo:
        node = nodes[todo.pop()]
        needed.append(node)
        for input_name in node.input:
            name = input_name.removeprefix("^").partition(":")[0]
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return needed


_NEEDED: Final = (
    *("_GRAPH_LEARNING_PHASES", "_SESSION", "PER_GRAPH_OBJECT_NAME_UIDS"),
    *("clear_session", "get_graph", "get_uid", "set_learning_phase", "set_session"),
)

_STEP_MAKER: Final = "_make_train_function"


@dataclass(frozen=True, slots=True)
class _Settings:
    """A script's settings of graph and session, which clearing forgets."""

    seed: int | None
    names: list[dict[Any, int]]
    learning_phase: int | None
    session_config: Any


class V1GraphRebuilder:
    """tf_keras with `disable_eager_execution()`: implements `ModelRebuilder`."""

    destroys = True

    def __init__(self, package: str) -> None:
        self._package = package

    def why_forbidden(self) -> str:
        """Non-empty if the script builds in a graph or a session of its own."""
        if why := why_names_missing(self._package, *_NEEDED):
            return why
        v1 = sys.modules["tensorflow"].compat.v1
        if v1.get_default_session() is not None:
            return (
                "the code runs inside `with tf.Session()`; hand the session to Keras instead, with"
                " tf.compat.v1.keras.backend.set_session(session)"
            )
        if v1.get_default_graph() is not self._backend().get_graph() or _is_nested():
            return "the code runs inside `with graph.as_default()`, whose graph cannot be cleared"
        if sys.modules["tensorflow"].distribute.has_strategy():
            return "the code runs inside strategy.scope(), which clearing the session would break"
        return ""

    def try_out(self, model: KerasModel, script: ModelFactory | None) -> None:
        """Build the model once in a temporary graph, where no variable gets a value."""
        if script is None and (why := why_not_copyable(model)):
            raise CannotRebuild(why)
        if not getattr(model, "built", False):
            raise CannotRebuild("the model is not built; give its first layer an input shape")
        if not hasattr(model, _STEP_MAKER):
            raise CannotRebuild(missing_name_text(keras2_title(self._package), _STEP_MAKER))
        with self._throwaway_graph(), _preserve_random_numbers():
            compiled = None if script is not None else compile_arguments(model)
            trial_model = self._build(model, compiled, script)
            new = variable_shapes(V1GraphReclaim(self._package).state(trial_model))
        model._make_train_function()  # noqa: SLF001 - what fit does first
        check_same_variables(variable_shapes(V1GraphReclaim(self._package).state(model)), new)

    def make(self, model: KerasModel, script: ModelFactory | None) -> KerasModel:
        """Clear the session, its settings kept, and build."""
        backend = self._backend()
        compiled = None if script is not None else compile_arguments(model)
        settings = self._settings(backend)
        backend.clear_session()
        self._apply(backend, settings)
        with _preserve_random_numbers():
            return self._build(model, compiled, script)

    def _build(
        self, model: KerasModel, arguments: CompileArguments | None, script: ModelFactory | None
    ) -> KerasModel:
        new_model = (
            copy_model(model, arguments)
            if arguments is not None
            else call_model_factory(cast("ModelFactory", script))
        )
        _make_step(new_model)
        return new_model

    def _backend(self) -> Any:
        return keras2_backend(self._package)

    def _settings(self, backend: Any) -> _Settings:
        graph = backend.get_graph()
        phase = backend._GRAPH_LEARNING_PHASES.get(graph)  # noqa: SLF001
        session = backend._SESSION.session  # noqa: SLF001
        return _Settings(
            seed=graph.seed,
            names=[dict(each) for each in keras2_name_counters(backend)],
            learning_phase=phase if isinstance(phase, int) else None,
            session_config=None if session is None else session._config,  # noqa: SLF001
        )

    def _apply(self, backend: Any, settings: _Settings) -> None:
        v1 = sys.modules["tensorflow"].compat.v1
        graph = backend.get_graph()
        graph.seed = settings.seed
        continue_name_counters(backend, settings.names)
        if settings.learning_phase is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Keras deprecates what the script called itself
                backend.set_learning_phase(settings.learning_phase)
        if settings.session_config is not None:
            backend.set_session(v1.Session(graph=graph, config=settings.session_config))

    @contextlib.contextmanager
    def _throwaway_graph(self) -> Generator[None]:
        backend = self._backend()
        tf = sys.modules["tensorflow"]
        own, backend._SESSION.session = backend._SESSION.session, None  # noqa: SLF001
        try:
            with tf.Graph().as_default():
                yield
        finally:
            graph_session, backend._SESSION.session = backend._SESSION.session, own  # noqa: SLF001
            if graph_session is not None and graph_session is not own:
                graph_session.close()


@contextlib.contextmanager
def _preserve_random_numbers() -> Generator[None]:
    # First values of weights are drawn with seeds that Keras draws from Python's generator.
    states = read_random_states()
    try:
        yield
    finally:
        write_random_states({name: states.get(name) for name in ("python", "numpy")})


def v1_graph_rebuilder(model: KerasModel) -> V1GraphRebuilder:
    return V1GraphRebuilder(keras_package(model))


def _make_step(model: KerasModel) -> None:
    # Optimizer slots are made with the train function, which fit would make first of all.
    if not getattr(model, "built", False) or getattr(model, "optimizer", None) is None:
        raise CannotRebuild(
            "rebuild= returned a model that is not built and compiled; give its first layer an"
            " input shape and call model.compile(...)"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model._make_train_function()  # noqa: SLF001 - looked for by `built` models of v1


def _is_nested() -> bool:
    try:
        from tensorflow.python.framework.ops import _default_graph_stack
    except ImportError:
        return False
    return bool(getattr(_default_graph_stack, "stack", ()))
