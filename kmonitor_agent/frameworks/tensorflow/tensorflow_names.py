"""What TensorFlow's names of registered functions say."""

import re

_TRACE = re.compile(r"^__(?:inference|forward|backward)_(.*?)(?:_\d+)?$")
"""What TensorFlow puts around a function's name; around a gradient's twice."""

_CALL = re.compile(r"^__inference_(?!__)(?:.*_)?(\d+)$")
"""As it was called: not the pair for gradients that is made of it, nor what it calls."""


def is_trace_of_call(name: str) -> bool:
    """Whether a registered function is what a call of a Python function was traced to."""
    return _CALL.match(name) is not None


def order_of(name: str) -> int:
    """What rises from function to function as they are made; 0 where the name does not tell."""
    tail = name.rpartition("_")[2]
    return int(tail) if tail.isdigit() else 0


def traced_name(name: str) -> str:
    """Name of the Python function that a registered function is a trace of.

    Empty for a branch or loop body, which is part of a trace.
    """
    found = _TRACE.match(name)
    if found is None:
        return ""
    return traced_name(found.group(1)) or found.group(1)
