"""A memory map of a model that is there already: for notebooks and scripts.

from kmonitor.notebook import memory_map
found = memory_map(model, batch=64)
found.peak_bytes, found.high_bytes, found.layers
"""

from dataclasses import replace
from typing import Any

import msgspec

from kmonitor.memory.estimate import MemoryMap, Plan, estimate
from kmonitor.memory.layer_rules import Backend
from kmonitor.memory.optimizer_slots import OPTIMIZERS
from kmonitor.memory.traced_step import Traced
from kmonitor_agent.frameworks.layout_reader import check_is_built, read_layout
from kmonitor_agent.frameworks.tensorflow.step_program import CannotTrace, trace_training_step
from kmonitor_agent.wire.messages.model_layout import OptimizerLayout

__all__ = ["MemoryMap", "memory_map"]


def memory_map(
    model: Any,
    *,
    batch: int = 32,
    optimizer: str | None = None,
    precision: str | None = None,
    backend: Backend | None = None,
    input_shapes: list[tuple[int, ...]] | None = None,
) -> MemoryMap:
    """The memory that training a Keras 3 model takes, by layer; nothing runs and nothing changes.

    On TensorFlow the model's own training step is traced, unless something is to be changed; that
    calls its Python code once.

    Args:
        model: Called on data or an Input before; compiled, unless `optimizer` is given.
        batch: Examples a step.
        optimizer: Name of another one than the model's: "adam", "sgd", ...
        precision: Another dtype policy than the model's, for example "mixed_float16".
        backend: "tensorflow", "xla" or "torch"; None: as the model would run here.
        input_shapes: A shape for each input, without the batch; None: the model's own.

    Raises:
        kmonitor_agent.frameworks.layout_reader.ModelNotBuilt: It was never called, so that layers
            have no weights yet.
        kmonitor_agent.frameworks.layout_reader.WrongShape: The model does not take such inputs.
        kmonitor.memory.tensor_sizes.OpenShape: It leaves a length open: give `input_shapes`.
        ValueError: The optimizer is not known.
    """
    if optimizer is not None and optimizer.lower() not in OPTIMIZERS:
        raise ValueError(
            f"{optimizer} is not a known optimizer; use one of: {', '.join(OPTIMIZERS)}"
        )
    check_is_built(model)
    shapes = None if input_shapes is None else [(None, *each) for each in input_shapes]
    layout = read_layout(model, shapes)
    other = None if optimizer is None else OptimizerLayout(optimizer.lower())
    plan = Plan(batch, other, precision, backend)
    if other is not None or precision is not None or backend not in (None, "tensorflow"):
        return estimate(layout, plan)
    try:
        traced = Traced(trace_training_step(model, shapes), layout)
    except CannotTrace as exc:
        found = estimate(layout, plan)
        note = f"rules are used because the step could not be traced: {exc.why}"
        return msgspec.structs.replace(found, notes=(*found.notes, note))
    return estimate(layout, replace(plan, traced=traced))
