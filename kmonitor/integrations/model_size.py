"""Checks that a model which is about to be made or trained fits into memory.

Two processes share the work. In one of its own, where nothing is trained, the model is built
without values: for that Keras is patched there (`find_minimum_size`, `build_without_values`).
Where it is trained Keras, names and random numbers stay the script's: the result is compared with
what that process holds (`check_training_fits`), and the built model is examined
(`check_step_fits`).
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
        why: In words, with how sure it is.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def process_resident_bytes() -> int:
    """Resident set of this process, bytes."""
    return psutil.Process(os.getpid()).memory_info().rss


class MinimumSize(msgspec.Struct, frozen=True):
    """What a training needs at least: weights, their gradients, the optimizer's slots.

    Attributes:
        parameter_bytes: Its weights alone.
        least_bytes: All of it; 0: not known.
        optimizer: Name of the optimizer.
        refused: Why the model could not even be built to be examined; empty when it could.
    """

    parameter_bytes: float = 0.0
    least_bytes: float = 0.0
    optimizer: str = ""
    refused: str = ""


def find_minimum_size(keras: Any, build: Callable[[], Any], bound_bytes: int) -> MinimumSize:
    """What a training of a model needs at least; in a process where nothing is trained.

    Args:
        keras: Keras 3.
        build: Makes it; what cannot be made, or described, passes.
        bound_bytes: For this process, all in all, where the model can only be made with values.
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
    """What a training needs at least must fit beside what this process holds.

    Args:
        size: As another process found it.
        bound_bytes: For this process, all in all.

    Raises:
        ModelTooLarge: It does not; nothing of its size was made.
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
    """The model without values, whatever its size; with them where it cannot be made otherwise.

    In a process where nothing is trained.

    Args:
        keras: Keras 3.
        bound_bytes: For this process, all in all, where it has values.

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
    """While a model is built: its weights alone must fit, else they are not even made.

    In a process where nothing is trained: the method by which layers get their weights is replaced
    meanwhile, for all threads.

    Args:
        keras: Keras 3.
        bound_bytes: For this process, all in all; None: none.
        are_made: They get values; without, only their shapes are known.

    Raises:
        ModelTooLarge: They do not.
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
    """A training step must fit, even by the low end of the memory map's range.

    Args:
        model: Built; what cannot be described passes.
        batch: Examples a step.
        bound_bytes: For this process, all in all.

    Raises:
        ModelTooLarge: It does not.
    """
    held = process_resident_bytes()
    memory_map = _map_of(model, batch, bound_bytes - held)
    if memory_map is None:
        return
    # What the weights take is there already, so that it is held.
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
    """By rules, and by its traced step where those leave a doubt that it fits."""
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
