# pyright: basic
"""Kinds of objects that a script keeps, by which they are named to the user."""

from collections import Counter, deque
from collections.abc import Sequence
from types import FunctionType
from typing import Any, Final

from kmonitor_agent.frameworks.kept.containers import newest_keys
from kmonitor_agent.frameworks.kept.sizes import (
    FINALIZER,
    KERAS_MODEL,
    ObjectSize,
    is_keras_model,
)
from kmonitor_agent.frameworks.script_values import (
    class_module,
    class_name,
    class_package,
    is_exactly,
    is_subclass,
)


def named_kind(kind: str) -> ObjectSize:
    return ObjectSize(kind, 0, 0)


def most_common(sizes: Sequence[ObjectSize]) -> ObjectSize:
    """The newest one with the most common shape: the last batch of an epoch may be smaller.

    Args:
        sizes: At least one, the newest last.
    """
    shapes = Counter((each.kind, each.shape, each.dtype) for each in reversed(sizes))
    (shape, _), *_ = shapes.most_common(1)
    newest = (each for each in reversed(sizes) if (each.kind, each.shape, each.dtype) == shape)
    return next(newest, sizes[-1])


_PLAIN: Final = (list, tuple, dict, set, frozenset, deque)


def kind_of_item(item: Any) -> ObjectSize | None:
    """Kind of an item, by its class; None for a container, since its contents say more."""
    kind: Any = type(item)
    if is_subclass(kind, (*_PLAIN, FINALIZER)):
        return None
    if is_keras_model(kind):
        return named_kind(KERAS_MODEL)
    if is_subclass(kind, (type,)):
        return named_kind("class")
    if kind is FunctionType:
        return named_kind("function")
    if is_exactly(item, str, bytes, bytearray):
        return named_kind(class_name(kind))
    module = class_module(kind)
    name = class_name(kind)
    known = class_package(kind)
    return named_kind(_OF_C.get(known, f"{known or module}.") + name)


def kind_of_key(container: Any) -> ObjectSize:
    """Kind of the newest key of a dict whose values are smaller, as of a `Counter` of words."""
    newest = newest_keys(container, 1)
    return named_kind(class_name(type(newest[0])) if newest else "object")


_OF_C: Final = {"builtins": "", "_asyncio": "asyncio."}
"""Public names of modules of C, with a dot."""
