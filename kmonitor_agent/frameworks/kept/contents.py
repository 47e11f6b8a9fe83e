# pyright: basic
"""Objects that an object refers to: items, attributes, closures, frames of a traceback.

No code of the script's runs.
"""

import gc
import weakref
from collections.abc import Callable, Iterable
from types import CodeType, FrameType, FunctionType, ModuleType, TracebackType
from typing import Any, Final

from kmonitor_agent.frameworks.kept.buffers import bytes_of_buffer
from kmonitor_agent.frameworks.kept.containers import length_of, newest_items, newest_keys
from kmonitor_agent.frameworks.kept.tasks import held_by_future
from kmonitor_agent.frameworks.script_values import (
    instance_dict,
    is_instance,
    is_known_class,
    is_subclass,
    own_attributes,
)

_SAMPLE: Final = 16
"""Number of items of a container that represent all."""

_MOST_HELD: Final = 400
"""Maximum number of objects that one refers to otherwise than by its attributes."""


def held_by(value: Any) -> tuple[Iterable[Any], float]:
    """Contents of an object or a sample of them, and the factor from the sample to all of them."""
    n = length_of(value)
    if n is None:
        return () if bytes_of_buffer(value) else _attributes(value), 1.0
    items = newest_items(value, _SAMPLE)
    return [*items, *newest_keys(value, _SAMPLE)], n / max(1, len(items))


def _attributes(value: Any) -> Iterable[Any]:
    kind: Any = type(value)
    for base, read in _ATTRIBUTES.items():
        if is_subclass(kind, (base,)):
            return read(value)
    if (held := held_by_future(value)) is not None:
        return held
    fields = instance_dict(value)
    return [*fields.values(), *held_beside(value, fields)]


def held_beside(value: Any, fields: dict[str, Any]) -> list[Any]:
    """Objects that an object refers to otherwise than by its dict of attributes.

    These are the values of slots and the parts of Python's own objects: a partial's arguments, a
    generator's variables, what an iterator or a bound method belongs to. The garbage collector's
    view has them all, and asks no code of the object's class.
    """
    listed = {id(fields), *map(id, fields.values())}
    return [
        each
        for each in gc.get_referents(value)[:_MOST_HELD]
        if id(each) not in listed and not is_instance(each, *_SHARED)
    ]


_SHARED: Final = (ModuleType, type, FrameType, CodeType, weakref.ReferenceType)
"""Classes of what objects refer to and do not own."""


def closure_of(function: FunctionType) -> list[tuple[str, Any]]:
    """Variables of enclosing functions that a function refers to, and its argument defaults."""
    code = function.__code__
    defaults = function.__defaults__ if type(function.__defaults__) is tuple else ()
    named = function.__kwdefaults__ if type(function.__kwdefaults__) is dict else {}
    values: list[tuple[str, Any]] = list(named.items())
    last = code.co_argcount
    values += zip(code.co_varnames[last - len(defaults) : last], defaults, strict=False)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            values.append((name, cell.cell_contents))
        except ValueError:  # an empty one
            continue
    return values


def attributes_of_function(function: FunctionType) -> list[tuple[Any, Any]]:
    """Attributes that were set on a function, and its annotations if these were ever read.

    Asking for its `__dict__` would make one for each function that has none, and asking for its
    annotations may run code of the script.
    """
    others = {id(function.__globals__), id(function.__builtins__), id(function.__kwdefaults__)}
    dicts = [each for each in gc.get_referents(function) if type(each) is dict]
    return [pair for each in dicts if id(each) not in others for pair in list(each.items())]


def _closure_values(function: FunctionType) -> list[Any]:
    pairs = (*closure_of(function), *attributes_of_function(function))
    return [value for _, value in pairs]


def _class_values(kind: type) -> list[Any]:
    return [] if is_known_class(kind) else list(own_attributes(kind).values())


def _traceback_values(trace: Any) -> list[Any]:
    values: list[Any] = []
    while trace is not None:
        frame = trace.tb_frame
        shared = (id(frame.f_globals), id(frame.f_builtins))
        # Not by `f_locals`: up to Python 3.12 that makes a copy, which the frame keeps.
        values += [each for each in gc.get_referents(frame) if id(each) not in shared]
        trace = trace.tb_next
    return values


_ATTRIBUTES: Final[dict[type, Callable[[Any], Iterable[Any]]]] = {
    ModuleType: lambda _: (),
    FrameType: lambda _: (),
    type: _class_values,
    FunctionType: _closure_values,
    TracebackType: _traceback_values,
}
"""Readers of attributes for classes that keep them elsewhere than in a dict.

None for modules, classes of libraries and frames of callers, which are shared.
"""
