"""Values of callbacks as JSON and arrays, and back; nothing that is read is executed."""

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast

import numpy as np

_DEEPEST: Final = 16
_COMPARISONS: Final = ("less", "greater")
_COMPARED_BY: Final = ("numpy", "keras.ops")


class NotPlain(Exception):
    """A value that is no plain data.

    Attributes:
        kind: Name of its type.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass(slots=True)
class ArrayShelf:
    """Arrays that stand beside the JSON, which names them by number.

    Attributes:
        arrays: In order.
    """

    arrays: list[Any] = field(default_factory=list[Any])

    def put(self, array: Any) -> int:
        """Keep an array; its number."""
        self.arrays.append(array)
        return len(self.arrays) - 1


def to_json(value: object, shelf: ArrayShelf, depth: int = 0) -> Any:
    """A value as JSON knows it.

    Args:
        value: None, numbers, texts, lists, tuples, dicts, numpy's own, and the comparisons that
            Keras' callbacks keep as `monitor_op`.
        shelf: Takes its arrays.
        depth: How deep it stands.

    Raises:
        NotPlain: It is, or holds, something else.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic) or is_array(value):
        return _array_to_json(value, shelf)
    if isinstance(value, int | float):
        return _number_to_json(value)
    if depth < _DEEPEST and isinstance(value, list | tuple | dict):
        return _container_to_json(cast("Any", value), shelf, depth + 1)
    if comparison := _comparison_name(value):
        return {"comparison": comparison}
    raise NotPlain(type(value).__name__)


def from_json(found: Any, shelf: ArrayShelf) -> Any:
    """The value again.

    Raises:
        ValueError: It is not what `to_json` wrote.
    """
    if not isinstance(found, dict):
        return found
    (kind, inner), *more = cast("dict[str, Any]", found).items()
    if more or kind not in _READERS:
        raise ValueError(f"a value of kind {kind}")
    return _READERS[kind](inner, shelf)


def is_array(value: object) -> bool:
    """Whether it is an array of numpy's."""
    return isinstance(value, np.ndarray)


def _number_to_json(value: float) -> Any:
    if isinstance(value, float):
        return {"float": float(value).hex()}
    # Other readers of JSON round larger ones.
    return {"int": str(int(value))} if abs(int(value)) >= 1 << 53 else int(value)


def _array_to_json(value: Any, shelf: ArrayShelf) -> Any:
    if value.dtype.hasobject or value.dtype.kind in "USVmM":
        raise NotPlain(f"{type(value).__name__} of {value.dtype}")
    if isinstance(value, np.generic):
        return {"scalar": shelf.put(np.asarray(cast("Any", value)))}
    return {"array": shelf.put(value)}


def _read_dict(inner: Any, shelf: ArrayShelf) -> Any:
    return {from_json(key, shelf): from_json(each, shelf) for key, each in inner}


_READERS: Final[dict[str, Callable[[Any, ArrayShelf], Any]]] = {
    "int": lambda inner, _: int(inner),
    "float": lambda inner, _: float.fromhex(inner),
    "array": lambda inner, shelf: shelf.arrays[inner],
    "scalar": lambda inner, shelf: shelf.arrays[inner][()],
    "list": lambda inner, shelf: [from_json(each, shelf) for each in inner],
    "tuple": lambda inner, shelf: tuple(from_json(each, shelf) for each in inner),
    "dict": _read_dict,
    "comparison": lambda inner, _: _comparison(str(inner)),
}


def _container_to_json(value: Any, shelf: ArrayShelf, depth: int) -> Any:
    # A subclass (a named tuple, a Counter) could not be made again from its items alone.
    name = type(value).__name__
    if type(value) is dict:
        pairs: Any = value.items()  # pyright: ignore[reportUnknownVariableType]
        return {"dict": [[to_json(part, shelf, depth) for part in pair] for pair in pairs]}
    if type(value) in {list, tuple}:
        return {name: [to_json(each, shelf, depth) for each in value]}
    raise NotPlain(name)


def _comparison_name(value: object) -> str:
    for module in _COMPARED_BY:
        for name in _COMPARISONS:
            loaded: Any = sys.modules.get(module)
            if loaded is not None and getattr(loaded, name, None) is value:
                return f"{module}:{name}"
    return ""


def _comparison(written: str) -> Any:
    module, _, name = written.partition(":")
    if module not in _COMPARED_BY or name not in _COMPARISONS:
        raise ValueError(f"a comparison called {written}")
    return getattr(importlib.import_module(module), name)
