# pyright: basic
"""Save, collect and reload on tf_keras 2 in eager mode: where it differs from Keras 3."""

import gc
from collections.abc import Sequence
from typing import Any

from kmonitor_agent.frameworks.base import (
    KerasModel,
    ReleasedTraces,
    StateUnreadable,
    StateVariable,
)
from kmonitor_agent.frameworks.keras3.step_functions import DeferredFunction, is_of_keras
from kmonitor_agent.frameworks.live_objects import FUNCTIONS, models_with_functions
from kmonitor_agent.frameworks.script_values import has_attribute, instance_dict
from kmonitor_agent.frameworks.tensorflow.graphs import GraphInventory
from kmonitor_agent.frameworks.tensorflow.internals import TensorFlowInternals
from kmonitor_agent.frameworks.tensorflow.reclaim import (
    Keras3TensorFlowReclaim,
    untrack,
    why_not_clear_session,
)
from kmonitor_agent.frameworks.tensorflow.traces import RetainedTraces
from kmonitor_agent.frameworks.tensorflow.workers import (
    WorkerGroup,
    why_not_alone,
    worker_group,
)
from kmonitor_agent.frameworks.tf_keras.state import clear_keras2_session, tf_keras_state

_EXACT_WITH = "keras.random and tf.random.Generator are exact"

_EXACT_HERE = (
    "tf.random.Generator is exact, and so are layers such as Dropout if"
    " tf_keras.backend.experimental.enable_tf_random_generator() is called before they are"
    " created"
)

_NADAM = (
    "not exact: Nadam in tf_keras depends on how often it has been traced, so it continues "
    "differently after a retrace; tf_keras.optimizers.legacy.Nadam is exact"
)


class TfKerasReclaim:
    """Implements `ReclaimSteps`; owned by the training thread.

    A tf_keras model's step functions are the tf.functions themselves, under the names that Keras 3
    uses: finding, dropping and making them is the same.
    """

    def __init__(
        self,
        internals: TensorFlowInternals,
        retained: RetainedTraces,
        inventory: GraphInventory,
        *,
        package: str = "tf_keras",
    ) -> None:
        self._internals = internals
        self._package = package
        self._same = Keras3TensorFlowReclaim(internals, retained, inventory)

    def state(self, model: KerasModel) -> list[StateVariable]:
        if not has_attribute(model, "train_function"):
            raise StateUnreadable(
                "this model does not keep its step functions where kmonitor expects them"
            )
        return tf_keras_state(model)

    def read(self, variable: Any) -> Any:
        """Value as a numpy array of the variable's own dtype."""
        return self._same.read(variable)

    def assign(self, variable: Any, value: Any) -> None:
        """Assign in place; large variables slice by slice."""
        self._same.assign(variable, value)

    def drop_functions(self, model: KerasModel) -> Sequence[str]:
        """Forget train, test and predict functions, except one that the script put there."""
        dropped = self._same.drop_functions(model)
        if "train_function" in dropped and getattr(model, "train_tf_function", None) is not None:
            # The same function again, which TensorBoard logs the graph from.
            untrack(model, "train_tf_function")
            step = model.train_function
            model.train_tf_function = None if isinstance(step, DeferredFunction) else step
        return dropped

    def trace_again(self, model: KerasModel) -> str:
        step = getattr(model, "train_tf_function", None)
        try:
            return self._same.trace_again(model)
        finally:
            model.train_tf_function = step

    def forget_traced(self) -> None:
        self._same.forget_traced()

    def make_functions(self, model: KerasModel, names: Sequence[str]) -> None:
        """Create step functions as tf_keras would when it next needs them.

        Nothing is traced yet.
        """
        self._same.make_functions(model, names)

    def release_retained(self) -> ReleasedTraces:
        """See `RetainedTraces.release`; functions from before a `compile` are released first."""
        forgotten = [forget_replaced_functions(model) for model in models_with_functions()]
        if any(forgotten):
            gc.collect()  # a function is part of a cycle
        return self._same.release_retained()

    def clear_session(self) -> str:
        """Clear unless this point of the program forbids it."""
        return why_not_clear_session(self._internals) or clear_keras2_session(self._package)

    def group(self, model: KerasModel) -> WorkerGroup:
        return worker_group(model)

    def why_vetoed(self, model: KerasModel, action: str) -> str:
        return why_not_alone(model, action)

    def inexact(self, model: KerasModel) -> str:
        """Non-empty if a train step has stateful operations, which a retrace seeds again."""
        random = self._same.inexact(model).replace(_EXACT_WITH, _EXACT_HERE)
        # A value that Python updates while it traces is a constant of the trace.
        optimizer = instance_dict(model).get("optimizer")
        counts = has_attribute(optimizer, "_u_product_counter")
        return "; ".join(filter(None, (random, _NADAM if counts else "")))


def forget_replaced_functions(model: KerasModel) -> bool:
    """Have a model release step functions that it no longer uses; True if there were any.

    tf_keras counts what each attribute refers to, but not while it compiles: a function that
    `compile` takes away stays in that count for the life of the model.
    """
    counts = vars(model).get("_obj_reference_counts_dict")
    if counts is None:
        return False
    used = {id(vars(model).get(name)) for name in (*FUNCTIONS, "train_tf_function")}
    replaced = [each for each in counts if _is_step(each) and id(each) not in used]
    for each in replaced:
        del counts[each]
    return bool(replaced)


def _is_step(value: Any) -> bool:
    return hasattr(value, "experimental_get_tracing_count") and is_of_keras(value)
