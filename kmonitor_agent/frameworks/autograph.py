"""What AutoGraph is told of our functions, with no TensorFlow imported."""

from typing import Any, TypeVar

_Function = TypeVar("_Function")

_MARK = "autograph_info__"
"""Private: what `tf.autograph.experimental.do_not_convert` sets on what it returns. A TensorFlow
that looks for another mark converts the function, and warns of syntax that it does not know."""


def not_converted(function: _Function) -> _Function:
    """Mark a function that a script may call in its `tf.function`: it runs as it is written.

    What it calls runs as it is written too.
    """
    marked: Any = function
    setattr(marked, _MARK, {})
    return function
