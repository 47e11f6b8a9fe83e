# pyright: basic
"""The training step of a Keras model as a program, where its backend can trace one."""

from collections.abc import Sequence
from typing import Any

from kmonitor_agent.frameworks.global_state import draws_undone
from kmonitor_agent.frameworks.keras_names import names_kept
from kmonitor_agent.frameworks.tensorflow.step_graph import CannotTrace
from kmonitor_agent.frameworks.tensorflow.step_program import step_program
from kmonitor_agent.wire.messages.model_layout import OptimizerLayout
from kmonitor_agent.wire.messages.step_program import StepProgram

__all__ = ["CannotTrace", "retrained", "trace"]


def trace(model: Any, shapes: Sequence[tuple[int | None, ...]] | None = None) -> StepProgram:
    """The program of one training step; nothing runs, weights and slots stay as they are.

    So do names and random numbers, which the tracing counts and draws.

    Args:
        model: Built and compiled.
        shapes: Of its inputs, with the batch first; None: the model's own.

    Raises:
        CannotTrace: It is not compiled, of another backend, or its step has no graph.
    """
    import keras

    if keras.backend.backend() != "tensorflow":
        raise CannotTrace(f"steps on {keras.backend.backend()} are not traced")
    if not getattr(model, "compiled", False) or model.optimizer is None:
        raise CannotTrace("the model is not compiled")
    if model.jit_compile:
        raise CannotTrace("XLA compiles the step")
    with names_kept(), draws_undone():
        return _traced(model, shapes)


def _traced(model: Any, shapes: Sequence[tuple[int | None, ...]] | None) -> StepProgram:
    own = model.optimizer
    if own.built:
        return step_program(model, shapes=shapes)
    # Slots would stay with the model for good: another optimizer of the kind has them meanwhile.
    model.optimizer = type(own).from_config(own.get_config())
    try:
        model.optimizer.build(model.trainable_variables)
        return step_program(model, shapes=shapes)
    finally:
        model.optimizer = own


def retrained(model: Any, optimizer: OptimizerLayout) -> None:
    """Give a model another optimizer; one that is not compiled gets a loss that fits its end."""
    import keras

    kind: Any = type(keras.optimizers.get(optimizer.kind.lower()))
    made = kind(**optimizer.settings)
    if not model.compiled:
        ends = getattr(getattr(model, "layers", [None])[-1], "activation", None)
        is_choice = getattr(ends, "__name__", "") == "softmax"
        loss = "sparse_categorical_crossentropy" if is_choice else "mse"
        model.compile(made, loss, jit_compile=False)
        return
    if str(model.dtype_policy.name) == "mixed_float16":
        made = keras.optimizers.LossScaleOptimizer(made)
    model.optimizer = made
