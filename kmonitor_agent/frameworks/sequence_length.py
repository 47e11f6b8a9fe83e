# pyright: basic
"""How long the data of a running `fit` are along the axes that its model leaves open."""

from collections.abc import Mapping, Sequence
from typing import Any


def sequence_length_of(model: Any, fit_locals: Mapping[str, Any]) -> int | None:
    """The one length that every batch of a fit has wherever the model's inputs name none.

    Read off arrays and the element types of data sets; nothing is taken of the data.

    Args:
        model: That is fitted.
        fit_locals: Names of its `fit`, of which `x` is looked at.

    Returns:
        None where the model leaves nothing open, lengths differ, or the data do not say.
    """
    inputs = _flat(getattr(model, "inputs", None))
    data = _first(fit_locals.get("x"))
    given = _by_name(inputs, data) if isinstance(data, dict) else _flat(data)
    if not inputs or len(given) != len(inputs):
        return None
    found: set[int | None] = set()
    for wanted, have in zip(inputs, given, strict=True):
        shapes = [tuple(getattr(each, "shape", None) or ()) for each in (wanted, have)]
        if len(shapes[0]) != len(shapes[1]):
            return None
        pairs = zip(shapes[0][1:], shapes[1][1:], strict=True)
        found |= {length for axis, length in pairs if axis is None}
    only = found.pop() if len(found) == 1 else None
    return int(only) if only else None


def _first(data: Any) -> Any:
    """What goes into the model, of data that may bring targets and weights along."""
    element = getattr(data, "element_spec", data)
    return element[0] if element is not data and isinstance(element, tuple) else element


def _flat(data: Any) -> list[Any]:
    if data is None:
        return []
    return list(data) if isinstance(data, list | tuple) else [data]


def _by_name(inputs: Sequence[Any], data: dict[str, Any]) -> list[Any]:
    return [data[name] for each in inputs if (name := getattr(each, "name", "")) in data]
