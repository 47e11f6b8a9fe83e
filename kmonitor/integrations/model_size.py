"""Checks that a model which is about to be built or trained fits into memory.

Two processes share the work. In a separate one, where nothing is trained, the model is built
without values; Keras is patched there for that purpose (`find_minimum_size`,
`build_without_values`). In the process of the training, Keras, names and random numbers stay those
of the script: the result is compared with the memory that the process holds
(`check_training_fits`), and the built model is examined (`check_step_fits`).
"""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import msgspec
import psutil

from kmonitor.memory.estimate import MemoryMap, Plan, estimate
from kmonitor.memory.tensor_sizes import item_bytes
from kmonitor.memory.traced_step import Traced
from kmonitor_agent.frameworks.layout_reader import read_layout
from kmonitor_agent.frameworks.tensorflow.step_program import CannotTrace, trace_training_step
from kmonitor_agent.wire.text import binary_size


class ModelTooLarge(Exception):
    """The model does not fit.

    Attributes:
        why: Reason as text, with its certainty.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def process_resident_bytes() -> int:
    return psutil.Process(os.getpid()).memory_info().rss


class MinimumSize(msgspec.Struct, frozen=True):
    """Least memory of a training: weights, their gradients, the optimizer's slots.

    Attributes:
        parameter_bytes: Size of the weights alone.
        least_bytes: Total size; 0: not known.
        optimizer: Name of the optimizer.
        refused: Reason why the model could not even be built for the check; empty when it could.
    """

    parameter_bytes: float = 0.0
    least_bytes: float = 0.0
    optimizer: str = ""
    refused: str = ""


def find_minimum_size(keras: Any, build: Callable[[], Any], bound_bytes: int) -> MinimumSize:
    """Return the least memory of training a model; for a process where nothing is trained.

    Args:
        keras: Keras 3.
        build: Builds the model; a model that cannot be built or described passes.
        bound_bytes: Bound of this process' total memory, for models that can only be built with
            values.
    """
    try:
        memory_map = estimate(
            read_layout(build_without_values(keras, build, bound_bytes)), Plan(1)
        )
    except ModelTooLarge as exc:
        return MinimumSize(refused=exc.why)
    except Exception:  # noqa: BLE001 - it is built in earnest, where its own error shows
        return MinimumSize()
    if not memory_map.optimizer:
        return MinimumSize()
    # Gradients need not all be there at one time.
    all_bytes = memory_map.parameter_bytes + memory_map.gradient_bytes + memory_map.slot_bytes
    least = min(memory_map.low_bytes, all_bytes)
    return MinimumSize(memory_map.parameter_bytes, least, memory_map.optimizer)


def check_training_fits(size: MinimumSize, bound_bytes: int) -> None:
    """Check that the least memory of a training fits beside the memory of this process.

    Args:
        size: Size from another process.
        bound_bytes: Bound of this process' total memory.

    Raises:
        ModelTooLarge: The training does not fit; nothing of its size was built.
    """
    if size.refused:
        raise ModelTooLarge(size.refused)
    held = process_resident_bytes()
    if held + size.least_bytes <= bound_bytes:
        return
    raise ModelTooLarge(
        f"the weights of this model ({binary_size(size.parameter_bytes)}), their gradients "
        f"and {size.optimizer}'s state need at least {binary_size(size.least_bytes)}, on top "
        f"of the {binary_size(held)} that its process already holds; the limit is "
        f"memory={binary_size(bound_bytes)}, so the model was not built"
    )


def build_without_values(keras: Any, build: Callable[[], Any], bound_bytes: int) -> Any:
    """Build the model without values, at any size; with values only if there is no other way.

    For a process where nothing is trained.

    Args:
        keras: Keras 3.
        bound_bytes: Bound of this process' total memory, for a model with values.

    Raises:
        ModelTooLarge: The values do not fit.
    """
    try:
        with weights_bounded(keras, None, are_made=False):
            return build()
    except Exception:  # noqa: BLE001 - likewise
        with weights_bounded(keras, bound_bytes):
            return build()


@contextmanager
def weights_bounded(
    keras: Any, bound_bytes: int | None, *, are_made: bool = True
) -> Generator[None]:
    """Bound the weights of a model while it is built: too large ones are not even allocated.

    For a process where nothing is trained: the method that adds weights to layers is replaced
    meanwhile, for all threads.

    Args:
        keras: Keras 3.
        bound_bytes: Bound of this process' total memory; None: none.
        are_made: True if weights get values; else only their shapes are known.

    Raises:
        ModelTooLarge: The weights do not fit.
    """
    add_weight = keras.layers.Layer.add_weight
    held = process_resident_bytes()
    made_bytes = [0]

    def counted(layer: Any, shape: Any = None, *args: Any, **named: Any) -> Any:
        size = item_bytes(str(named.get("dtype") or layer.variable_dtype))
        for length in shape or ():
            size *= length or 1
        made_bytes[0] += size
        if bound_bytes is not None and held + made_bytes[0] > bound_bytes:
            raise ModelTooLarge(
                f"the weights of this model need at least {binary_size(made_bytes[0])}, on "
                f"top of the {binary_size(held)} that its process already holds; the limit "
                f"is memory={binary_size(bound_bytes)}, so the model was not built"
            )
        if are_made:
            return add_weight(layer, shape, *args, **named)
        with keras.StatelessScope(initialize_variables=False):  # values are made when it ends
            return add_weight(layer, shape, *args, **named)

    keras.layers.Layer.add_weight = counted
    try:
        yield
    finally:
        keras.layers.Layer.add_weight = add_weight


def check_step_fits(model: Any, batch: int, bound_bytes: int) -> None:
    """Check that a training step fits, at least by the low end of the memory map's range.

    Args:
        model: The built model; one that cannot be described passes.
        batch: Examples per step.
        bound_bytes: Bound of this process' total memory.

    Raises:
        ModelTooLarge: The step does not fit.
    """
    held = process_resident_bytes()
    memory_map = _map_of(model, batch, bound_bytes - held)
    if memory_map is None:
        return
    # The weights are allocated already, so that `held` includes them.
    more = memory_map.low_bytes - memory_map.parameter_bytes
    if held + more <= bound_bytes:
        return
    low = binary_size(memory_map.low_bytes)
    high = memory_map.high_bytes
    most = f" to {binary_size(high)}" if high is not None else " or more"
    raise ModelTooLarge(
        "a training step of this model would need about "
        f"{binary_size(memory_map.peak_bytes)} ({low}{most}, tier {memory_map.tier}: "
        f"{memory_map.method}) at batch size {batch}; its process, including the weights, "
        f"already holds {binary_size(held)}, and the limit is "
        f"memory={binary_size(bound_bytes)}, so the model was not trained"
    )


def _map_of(model: Any, batch: int, left_bytes: int) -> MemoryMap | None:
    """Memory map by rules, or by the traced step where the rules leave the fit in doubt."""
    try:
        layout = read_layout(model)
        memory_map = estimate(layout, Plan(batch))
        if memory_map.peak_bytes - memory_map.parameter_bytes <= left_bytes:
            return None
        try:
            traced = Traced(trace_training_step(model), layout)
        except CannotTrace:
            return memory_map
        return estimate(layout, Plan(batch, traced=traced))
    except Exception:  # noqa: BLE001 - a model that cannot be described is trained and watched
        return None
