# pyright: basic
"""Contents of TensorFlow's own objects: tensors of data sets, and current shapes of variables.

Only what their attributes hold is read, and only of TensorFlow's own classes.
"""

import sys
from collections import deque
from typing import Any, Final

from kmonitor_agent.frameworks.script_values import (
    class_bases,
    class_module,
    class_name,
    class_package,
    contents_of,
    instance_dict,
    is_known_class,
    safe_getattr,
)

_MOST_STAGES: Final = 64
"""Maximum number of data sets that are read of one that is made of others."""

_MOST_PARTS: Final = 64


def dataset_tensors(dataset: Any) -> list[Any]:
    """Tensors that a `tf.data` data set was made from, those of its inputs included."""
    found: list[Any] = []
    waiting: deque[Any] = deque([dataset])
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_STAGES:
        each = waiting.popleft()
        if id(each) in seen:
            continue
        seen.add(id(each))
        for name, value in list(instance_dict(each).items()):
            parts = contents_of(value, _MOST_PARTS) or [value]
            if name == "_tensors":
                found += parts
            else:
                waiting += [part for part in parts if _is_dataset(part)]
    return found


def _is_dataset(value: Any) -> bool:
    kind: Any = type(value)
    return class_package(kind) == "tensorflow" and any(
        class_name(base) == "DatasetV2" for base in class_bases(kind)
    )


def current_shape(variable: Any) -> tuple[int, ...]:
    """Shape of the value of a variable whose own shape is open, as with `shape=None`.

    Only TensorFlow can tell: its operation reads the value's shape, and not the value.

    Raises:
        ValueError: TensorFlow is building a graph, or calls the script at each operation.
    """
    context = instance_dict(sys.modules.get("tensorflow.python.eager.context"))["context"]()
    ops = instance_dict(sys.modules.get("tensorflow.python.ops.gen_resource_variable_ops"))
    if not context.executing_eagerly() or context.op_callbacks or not _is_own(variable):
        raise ValueError
    return tuple(ops["variable_shape"](variable.handle).numpy().tolist())


def _is_own(variable: Any) -> bool:
    kind: Any = type(variable)
    return is_known_class(kind) and class_module(kind).startswith("tensorflow.python.ops.")


def is_recording(tape: Any) -> bool:
    """True for a gradient tape that still has what it recorded."""
    return class_package(type(tape)) == "tensorflow" and safe_getattr(tape, "_tape") is not None
