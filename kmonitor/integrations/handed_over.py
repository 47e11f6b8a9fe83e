"""Arguments of a search, encoded for other processes: arrays in files, functions by name.

Nothing is pickled. An object is encoded as its class and its attributes and made again from them,
without its `__init__`, where all of them can be encoded.
"""

import inspect
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

from kmonitor.integrations.array_files import NotAnArray, map_array, store_array
from kmonitor_agent.studies.values import NotPlainData, pack_value

_DEEPEST: Final = 16
_PLAIN: Final = (str, bytes, bool, int, float, type(None))


class NotEncodable(TypeError):
    """A value that cannot be sent to another process.

    Attributes:
        where: What it is, as the user calls it: "x", "callbacks[0]".
        kind: Name of its type.
    """

    def __init__(self, where: str, kind: str) -> None:
        super().__init__(f"{where} is a {kind}, which cannot be sent to another process")
        self.where = where
        self.kind = kind


class HandedOver:
    """Encodes values as plain data; functions and classes apart, by the names used for them.

    Attributes:
        callables: Those functions and classes, for a `functools.partial`.
    """

    def __init__(self, folder: Path) -> None:
        """Begin.

        Args:
            folder: Takes the arrays' files.
        """
        self.callables: dict[str, Any] = {}
        self._folder = folder

    def encode(self, where: str, value: Any) -> list[Any]:
        """A value as plain data.

        Args:
            where: What it is, for refusals and files.
            value: Plain data, arrays, functions, classes, objects of such attributes; lists,
                tuples and dicts of them.

        Raises:
            NotEncodable: It is, or holds, something else.
            OSError: An array cannot be written.
        """
        return self._encode(where, value, 0)

    def _encode(self, where: str, value: Any, depth: int) -> list[Any]:
        if depth > _DEEPEST:
            raise NotEncodable(where, "value nested too deeply")
        if isinstance(value, _PLAIN):
            return ["plain", value]
        kind = cast("type[Any]", type(value))
        if kind in (list, tuple):
            inner = [
                self._encode(f"{where}[{at}]", one, depth + 1) for at, one in enumerate(value)
            ]
            return [kind.__name__, inner]
        if isinstance(value, dict):
            named = cast("dict[Any, Any]", value)
            inner = [
                [["plain", key], self._encode(f"{where}[{key!r}]", one, depth + 1)]
                for key, one in named.items()
            ]
            return ["dict", inner]
        if inspect.isfunction(value) or inspect.isclass(value):
            return ["part", self._part(value)]
        if hasattr(value, "__array__"):
            return self._array(where, value)
        return self._object(where, value, depth)

    def _array(self, where: str, value: Any) -> list[Any]:
        name = "".join(each if each.isalnum() else "-" for each in where).strip("-")
        try:
            return ["array", store_array(self._folder, name, value)]
        except NotAnArray:
            pass
        try:
            pack_value(value)  # one of numpy's own numbers
        except NotPlainData:
            raise NotEncodable(where, type(value).__name__) from None
        return ["plain", value]

    def _object(self, where: str, value: Any, depth: int) -> list[Any]:
        kind = cast("type[Any]", type(value))
        attributes = getattr(value, "__dict__", None)
        is_built_in = kind.__module__ == "builtins" or isinstance(value, types.ModuleType)
        if attributes is None or is_built_in or _is_data(value):
            raise NotEncodable(where, kind.__name__)
        inner = [
            [name, self._encode(f"{where}.{name}", each, depth + 1)]
            for name, each in attributes.items()
            if not (inspect.ismethod(each) and each.__self__ is value)
        ]
        return ["object", self._part(kind), inner]

    def _part(self, value: Any) -> str:
        for name, known in self.callables.items():
            if known is value:
                return name
        name = f"part_{len(self.callables)}"
        self.callables[name] = value
        return name


def _is_data(value: Any) -> bool:
    """Whether it gives data one by one, so that its attributes do not say what."""
    return any(hasattr(value, name) for name in ("__iter__", "__next__", "__getitem__"))


def decode(encoded: list[Any], callables: dict[str, Callable[..., Any]]) -> Any:
    """The value again, in the other process.

    Args:
        encoded: By `HandedOver.encode`.
        callables: Its functions and classes.
    """
    kind = encoded[0]
    what = encoded[1]
    if kind == "list":
        return [decode(each, callables) for each in what]
    if kind == "tuple":
        return tuple(decode(each, callables) for each in what)
    if kind == "dict":
        return {key[1]: decode(each, callables) for key, each in what}
    if kind == "array":
        return map_array(what)
    if kind == "object":
        return _object(cast("type[Any]", callables[what]), encoded[2], callables)
    return callables[what] if kind == "part" else what


def _object(
    kind: type[Any], attributes: list[Any], callables: dict[str, Callable[..., Any]]
) -> Any:
    created: Any = cast("Any", object).__new__(kind)
    for name, each in attributes:
        created.__dict__[name] = decode(each, callables)
    return created
