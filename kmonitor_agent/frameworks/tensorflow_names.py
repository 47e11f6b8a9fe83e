"""What TensorFlow's names of registered functions say."""

import re

_TRACE = re.compile(r"^__(?:inference|forward|backward)_(.*?)(?:_\d+)?$")
"""What TensorFlow puts around a function's name; around a gradient's twice."""


def traced_name(name: str) -> str:
    """Name of the Python function that a registered function is a trace of.

    Empty for a branch or loop body, which is part of a trace.
    """
    found = _TRACE.match(name)
    if found is None:
        return ""
    return traced_name(found.group(1)) or found.group(1)
