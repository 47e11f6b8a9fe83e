# pyright: basic
"""What the arguments of a trace were, and what differs from those of the trace before."""

import sys
from collections.abc import Mapping
from typing import Any, Final

from kmonitor_agent.frameworks.tensorflow.tensorflow_names import is_trace_of_call

VALUES: Final = "python"
"""All tensors were as before: a Python value was another one, or another object."""

_MOST_TOLD: Final = 3
_LONGEST: Final = 300
_ABSENT: Final = "-"

Arguments = Mapping[str, tuple[str, str]]
"""(dtype, shape) of each tensor that was passed, by the name of its argument."""


def arguments_of(name: str, definition: Any) -> Arguments | None:
    """Tensors that a call passed; None where it is not the trace of a call, or does not tell.

    Args:
        name: Of the registered function.
        definition: Its FunctionDef.
    """
    if not is_trace_of_call(name):
        return None
    as_dtype = getattr(sys.modules.get("tensorflow"), "as_dtype", None)
    if as_dtype is None:
        return None
    found: dict[str, tuple[str, str]] = {}
    for place, argument in enumerate(definition.signature.input_arg):
        told = definition.arg_attr.get(place)
        if told is None or not told.attr["_output_shapes"].list.shape:
            continue  # a variable that it reads
        shape = told.attr["_output_shapes"].list.shape[0]
        name = told.attr["_user_specified_name"].s.decode("utf-8", "replace") or argument.name
        found[name] = (as_dtype(argument.type).name, _shape(shape))
    return found


def difference(before: Arguments, now: Arguments) -> str:
    """What changed from one trace to the next: "x (8, 64) → (9, 64)", or `VALUES`."""
    parts: list[str] = []
    for name in (*before, *(name for name in now if name not in before)):
        was, comes = before.get(name), now.get(name)
        if was == comes:
            continue
        is_shape = was is not None and comes is not None and was[0] == comes[0]
        parts.append(f"{name} {_words(was, is_shape)} \u2192 {_words(comes, is_shape)}")
    return "; ".join(parts[:_MOST_TOLD])[:_LONGEST] if parts else VALUES


def _words(argument: tuple[str, str] | None, is_shape: bool) -> str:  # noqa: FBT001
    if argument is None:
        return _ABSENT
    return argument[1] if is_shape else " ".join(argument)


def _shape(shape: Any) -> str:
    if shape.unknown_rank:
        return "(?)"
    return f"({', '.join(str(dim.size) if dim.size >= 0 else '?' for dim in shape.dim)})"
