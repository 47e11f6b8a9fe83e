"""What a Python function's closure holds."""

from collections.abc import Iterator
from types import FunctionType
from typing import Any, cast


def closure_values(function: FunctionType, depth: int) -> Iterator[Any]:
    """Values in a closure and in those of functions in it, items of lists and tuples each.

    Args:
        function: Where to begin.
        depth: How many functions deep to follow.
    """
    for cell in function.__closure__ or ():
        try:
            content: Any = cell.cell_contents
        except ValueError:  # an empty cell
            continue
        values = cast("list[Any]", content) if isinstance(content, list | tuple) else [content]
        for value in values:
            if not isinstance(value, FunctionType):
                yield value
            elif depth > 0:
                yield from closure_values(value, depth - 1)
