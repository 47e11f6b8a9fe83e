# pyright: basic
"""Save, collect and reload on Keras 3 with TensorFlow: the steps that know its internals.

A reload drops a model's step functions, collects garbage, releases the traces that TensorFlow's
registry keeps of dead models, clears the session, and makes the step functions again. Before it, a
new step is traced for the same arguments as the old one and compared with it (`step_comparison`):
where the two differ, a reload would change the result and is not done. Where it may, `recreate`
also gives the variables new memory. All of it runs on the training thread.
"""

import contextlib
import gc
import math
import sys
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Final

from kmonitor_agent.frameworks.base import (
    EmptyArrayFactory,
    KerasModel,
    ReleasedTraces,
    StateUnreadable,
    StateVariable,
    missing_name_text,
)
from kmonitor_agent.frameworks.global_state import preserve_name_counters, preserve_random_state
from kmonitor_agent.frameworks.keras3.state import exact_state, unsaved_optimizers
from kmonitor_agent.frameworks.keras3.step_functions import (
    check_functions,
    drop_function,
    is_of_keras,
    is_recreatable,
    make_function,
    make_spare_function,
    models_in,
)
from kmonitor_agent.frameworks.live_objects import FUNCTIONS
from kmonitor_agent.frameworks.model_parts import strategy_of, variable_value
from kmonitor_agent.frameworks.script_values import instance_dict, is_instance
from kmonitor_agent.frameworks.tensorflow.graphs import GraphInventory
from kmonitor_agent.frameworks.tensorflow.internals import TensorFlowInternals
from kmonitor_agent.frameworks.tensorflow.memory import (
    cpu_in_use_bytes,
    is_on_cpu,
    is_same_memory,
)
from kmonitor_agent.frameworks.tensorflow.recreate import recreate, why_not_recreate
from kmonitor_agent.frameworks.tensorflow.step_comparison import (
    TracedSignatures,
    all_traces,
    is_same_step,
    retrace,
    step_arguments,
    trace_name,
)
from kmonitor_agent.frameworks.tensorflow.traces import RetainedTraces
from kmonitor_agent.frameworks.tensorflow.workers import why_not_alone

_OTHER_STEP: Final = (
    "a reload would change the result: {name} computes something different when it is traced"
    " again. A value that its Python code reads during tracing, such as an attribute or a random"
    " number, has changed. Keep that value in a framework variable"
)

_FEW: Final = 4
"""More traces than this come from repeated creation: most of them are no longer used."""

_SINGLE_REFERENCE: Final = 2
"""`sys.getrefcount` of an object that only a local variable refers to."""

_SLICE_BYTES: Final = 4 * 1024 * 1024
"""A larger variable is assigned in slices: a whole one would be in memory twice more."""


class Keras3TensorFlowReclaim:
    """Implements `ReclaimSteps`; owned by the training thread."""

    def __init__(
        self,
        internals: TensorFlowInternals,
        retained: RetainedTraces,
        inventory: GraphInventory,
    ) -> None:
        self._internals = internals
        self._retained = retained
        self._inventory = inventory
        self._again: dict[tuple[int, str], Any] = {}
        """Step functions that were traced again, by model id and function name."""
        self._arguments: dict[tuple[int, str], TracedSignatures] = {}
        """Arguments that the functions in `_again` were traced for."""
        self._without_function: list[weakref.ref[Any]] = []
        """Graphs of dropped functions, which the next garbage collection frees."""

    def state(self, model: KerasModel) -> list[StateVariable]:
        check_functions(model)
        return exact_state(model)

    def read(self, variable: Any) -> Any:
        """Value as a read-only numpy array of the variable's own dtype."""
        target = _tensorflows(variable)
        with eager_mode():
            # Converting the variable itself would copy it. On a CPU the tensor read from it is
            # not copied, and does not change: TensorFlow gives a variable that is assigned
            # meanwhile other memory.
            value = target.read_value() if _is_variable(target) else target
            return sys.modules["numpy"].asarray(value)

    def hold(self, variable: Any) -> Any | None:
        target = _tensorflows(variable)
        if not _is_variable(target) or not is_on_cpu(target.device):
            return None
        before = cpu_in_use_bytes()
        value = self.read(variable)
        # One that is updated sparsely is copied when it is read. The allocator sees large copies,
        # of which there must not be two; a small one is not where the next is.
        if before is None or cpu_in_use_bytes() != before or not self.is_held(variable, value):
            return None
        return value

    def is_held(self, variable: Any, value: Any) -> bool:
        return is_same_memory(self.read(variable), value)

    def assign(self, variable: Any, value: Any) -> None:
        """Assign in place; large variables slice by slice."""
        with eager_mode():
            _assign(variable, value)

    def drop_functions(self, model: KerasModel) -> Sequence[str]:
        """Forget train, test and predict functions, except one that the script put there."""
        dropped = [name for name in FUNCTIONS if is_recreatable(model, name)]
        for name in dropped:
            function = getattr(model, name)
            untrack(model, name)
            if (again := self._again.pop((id(model), name), None)) is not None:
                setattr(model, name, again)
            else:
                drop_function(model, name)
            if sys.getrefcount(function) == _SINGLE_REFERENCE and is_of_keras(function):
                self._without_function += map(weakref.ref, _graphs_of(function))
        _forget_losses(model)
        return dropped

    def trace_again(self, model: KerasModel) -> str:
        """See `ChecksRetracing.trace_again`.

        Not under a strategy, whose workers trace together.
        """
        if not _is_alone(model):
            return ""
        with eager_mode(), preserve_name_counters(), preserve_random_state():
            for name in FUNCTIONS:
                self._arguments.pop((id(model), name), None)
                old = getattr(model, name)
                if not is_recreatable(model, name) or not any(all_traces(old)):
                    continue
                if not self._is_same_when_retraced(model, name, step_arguments(old)):
                    return _OTHER_STEP.format(name=name)
        return ""

    def _is_same_when_retraced(
        self, model: KerasModel, name: str, signatures: TracedSignatures
    ) -> bool:
        spares = [make_spare_function(model, name)]
        try:
            retrace(spares[0], signatures)
            is_it = self._are_same_functions(getattr(model, name), spares[0])
            if is_it and sum(map(len, signatures)) <= _FEW:
                self._again[id(model), name] = spares.pop()
                self._arguments[id(model), name] = signatures
            return is_it
        finally:
            self._free_functions(spares)

    def _are_same_functions(self, old: Any, new: Any) -> bool:
        eager_context = self._internals.eager_context
        context = None if eager_context is None else eager_context()
        return context is None or is_same_step(old, new, context.get_function_def)

    def forget_traced(self) -> None:
        again = list(self._again.values())
        self._again.clear()
        self._free_functions(again)

    def _free_functions(self, functions: list[Any]) -> None:
        """Free functions by emptying the list; nothing else may hold them."""
        if not functions:
            return
        graphs = [trace.graph for each in functions for trace in all_traces(each)]
        gone = [weakref.ref(each) for each in graphs]
        functions.clear()
        graphs.clear()
        gc.collect()  # a function is part of a cycle
        self._retained.release([found for each in gone if (found := each()) is not None])

    def make_functions(self, model: KerasModel, names: Sequence[str]) -> None:
        """Create step functions as Keras would, and trace them for the same arguments as before.

        Later a callback may have changed values that tracing reads.
        """
        for name in names:
            make_function(model, name)
            function = getattr(model, name)
            arguments = self._arguments.pop((id(model), name), None)
            if arguments and not any(all_traces(function)):
                # Where that fails, the next step traces it, as without us.
                with (
                    contextlib.suppress(Exception),
                    eager_mode(),
                    preserve_name_counters(),
                    preserve_random_state(),
                ):
                    retrace(function, arguments)

    def release_retained(self) -> ReleasedTraces:
        without, self._without_function = self._without_function, []
        return self._retained.release([found for each in without if (found := each()) is not None])

    def clear_session(self) -> str:
        """Clear unless this point of the program forbids it."""
        return why_not_clear_session(self._internals) or clear_session_keeping_settings()

    def models_in(self, model: KerasModel) -> list[KerasModel]:
        return models_in(model)

    def not_saved(self, model: KerasModel) -> tuple[str, ...]:
        return unsaved_optimizers(model)

    def why_vetoed(self, model: KerasModel, action: str) -> str:
        return why_not_alone(model, action)

    def why_not_recreate(self, model: KerasModel, state: Sequence[StateVariable]) -> str:
        return (
            why_not_clear_session(self._internals).removeprefix("session not cleared: ")
            or self._retained.why_unavailable()  # what hides holders of traces hides variables'
            or why_not_recreate(model, state)
        )

    def recreate(
        self,
        model: KerasModel,
        state: Sequence[StateVariable],
        values: Callable[[EmptyArrayFactory | None], Iterator[Any]],
    ) -> bool:
        return recreate(model, state, values=values, write=_write)

    def inexact(self, model: KerasModel) -> str:
        """Non-empty if a train step draws from `tf.random.*`, which a retrace seeds again."""
        facts = self._inventory.facts()
        steps = (instance_dict(each).get("train_function") for each in models_in(model))
        todo = [trace_name(trace) for step in steps for trace in all_traces(step)]
        seen = set(todo)
        operations: set[str] = set()
        while todo:
            function = facts.get(todo.pop())
            if function is not None:
                operations |= function.stateful_random
                todo.extend(function.calls - seen)
                seen |= function.calls
        if not operations:
            return ""
        return (
            "not exact: the step draws random numbers from stateful operations"
            f" ({', '.join(sorted(operations))}), which a new trace reseeds; keras.random and"
            " tf.random.Generator are exact"
        )


def _is_alone(model: KerasModel) -> bool:
    return type(strategy_of(model)).__name__.startswith("_DefaultDistributionStrategy")


def _graphs_of(step: Any) -> list[Any]:
    return [trace.graph for trace in all_traces(step) if hasattr(trace, "graph")]


def untrack(model: KerasModel, name: str) -> None:
    """Have the model release a function that is, or was, an attribute of the model."""
    # TensorFlow keeps a tf.function that was an attribute (Keras 3.6) also as a dependency of the
    # model, until another takes its place: setting None is not enough to let it go.
    delete = getattr(model, "_delete_tracking", None)
    if callable(delete):
        delete(name)


def _forget_losses(model: KerasModel) -> None:
    # A layer that calls `add_loss` keeps the tensor, and so the whole trace, until its next call,
    # which begins by clearing it. Eager tensors have values that a script may still read.
    clear = getattr(model, "_clear_losses", None)
    if callable(clear) and not getattr(model, "run_eagerly", False):
        clear()


def _assign(variable: Any, value: Any) -> None:
    target = _tensorflows(variable)
    if value.nbytes <= _SLICE_BYTES or not _has_rows(value) or not _is_variable(target):
        variable.assign(value)
    else:
        _write(variable, value)


def _write(variable: Any, value: Any) -> None:
    """Write a value into the variable's existing memory, a few rows at a time."""
    target = _tensorflows(variable)
    if not _has_rows(value):
        target[...].assign(value)
        return
    rows = value.shape[0]
    step = max(1, rows // math.ceil(value.nbytes / _SLICE_BYTES))
    for start in range(0, rows, step):
        target[start : start + step].assign(value[start : start + step])


def _has_rows(value: Any) -> bool:
    return value.ndim > 0 and value.shape[0] > 1


def _tensorflows(variable: Any) -> Any:
    # A replica's own variable is TensorFlow's already.
    return variable if _is_variable(variable) else variable_value(variable)


def _is_variable(target: Any) -> bool:
    return is_instance(target, sys.modules["tensorflow"].Variable)


@contextlib.contextmanager
def eager_mode() -> Generator[None]:
    """Run operations in the block eagerly, also where the code around it builds a graph.

    Raises:
        StateUnreadable: The code around it builds a graph, and this TensorFlow cannot leave it.
    """
    tf = sys.modules["tensorflow"]
    if tf.executing_eagerly():
        yield
        return
    context: Any = getattr(getattr(tf, "__internal__", None), "eager_context", None)
    if not hasattr(context, "eager_mode"):
        raise StateUnreadable("the code runs inside a graph, where values cannot be read")
    with context.eager_mode():
        yield


def why_not_clear_session(internals: TensorFlowInternals) -> str:
    """Reason why the session must not be cleared at this point of the program; empty if it may."""
    tf = sys.modules["tensorflow"]
    if tf.distribute.has_strategy():
        return (
            "session not cleared: the code runs inside strategy.scope(), which clearing the"
            " session would break"
        )
    if not tf.executing_eagerly():
        return "session not cleared: the code runs inside a graph"
    stack = internals.default_graph_stack
    if stack is None:
        return f"session not cleared: {internals.missing.get('default_graph_stack', 'unknown')}"
    if getattr(stack, "stack", ()):
        return "session not cleared: the code runs inside a nested tf.Graph"
    return ""


def clear_session_keeping_settings() -> str:
    """Reset TensorFlow's default graph and kernel caches; return why it was not done, else "".

    Keras' own clearing replaces two thread-local objects that hold, for all threads, the dtype
    policy, the seed, name counters, the distribution and open scopes. They are put back whole, so
    a script and its other models go on as before.
    """
    try:
        from keras.src.backend.common import global_state
    except ImportError as exc:
        return f"session not cleared: {missing_name_text('Keras', exc)}"
    names = [
        name for name in vars(global_state) if name.startswith("GLOBAL_") and "TRACKER" in name
    ]
    if "GLOBAL_STATE_TRACKER" not in names:
        return f"session not cleared: {missing_name_text('Keras', 'GLOBAL_STATE_TRACKER')}"
    settings = {name: getattr(global_state, name) for name in names}
    try:
        # The caller collects garbage, once for all steps.
        global_state.clear_session(free_memory=False)
    finally:
        for name, value in settings.items():
            setattr(global_state, name, value)
    return ""
