# pyright: basic
"""Search among the living objects of the process: instances, models in use, containers, closures.

All but `closure_values` look through what the garbage collector or the threads' stacks hold: tens
of milliseconds in a large process. Objects that the script froze (`gc.freeze`) are not found.
"""

import gc
import itertools
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from threading import get_ident
from types import FunctionType
from typing import Any, Final

from kmonitor_agent.call_stacks import call_stacks, frame_locals
from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.script_values import (
    contents_of,
    each_of,
    instance_dict,
    is_instance,
)

FUNCTIONS: Final = ("train_function", "test_function", "predict_function")
"""Attributes of a model that hold its step functions; `fit` reads the first again at each step."""


def instances_of(kinds: Iterable[type]) -> list[Any]:
    """Living instances of these classes and their subclasses.

    Only for classes that Python code defines; objects are selected by their type, so that a
    foreign proxy does not compute its `__class__`.
    """
    classes = list({id(each): each for kind in kinds for each in with_subclasses(kind)}.values())
    if not classes:
        return []
    identities = set(map(id, classes))
    referrers: list[object] = gc.get_referrers(*classes)
    return [each for each in referrers if id(type(each)) in identities]


def with_subclasses(kind: type) -> Iterator[type]:
    """A class and all that derive from it, some of them more than once."""
    yield kind
    for subclass in type.__subclasses__(kind):
        yield from with_subclasses(subclass)


def models_with_functions() -> list[KerasModel]:
    """Every living model that was fitted, evaluated or asked to predict."""
    return [model for model in instances_of(_model_classes()) if _has_functions(model)]


def models_in_use(*, elsewhere: bool = False) -> set[int]:
    """Identities of the models that some thread's running call belongs to.

    A model whose `fit` runs must keep its step function: Keras reads it again at each step.

    Args:
        elsewhere: True to leave out the calls of this thread, which wait while it acts.
    """
    kinds = _model_classes()
    used: set[int] = set()
    with call_stacks() as stacks:
        if elsewhere:
            stacks.pop(get_ident(), None)
        for frame in itertools.chain.from_iterable(stacks.values()):
            # Only methods of models are looked into: reading all locals of every frame costs.
            if frame.f_code.co_varnames[:1] == ("self",):
                with frame_locals(frame) as variables:
                    owner = variables.get("self")
                if is_instance(owner, *kinds):
                    used.add(id(owner))
    return used


def _model_classes() -> tuple[type, ...]:
    classes = (getattr(sys.modules.get(name), "Model", None) for name in ("keras", "tf_keras"))
    return tuple(each for each in classes if isinstance(each, type))


def _has_functions(model: Any) -> bool:
    # In the instance: an unbuilt model's `__getattr__` may be the script's own.
    attributes = instance_dict(model)
    return any(attributes.get(name) is not None for name in FUNCTIONS)


_CONTAINERS: Final = (list, dict, set, deque)
_PART: Final = 0.5


def container_name(objects: tuple[Any, ...]) -> str:
    """Name of the variable or attribute whose container refers to at least half of the objects.

    Empty if there is none, or if it has no name.

    Args:
        objects: At least two objects. The caller keeps them in tuples only, which do not count.
    """
    wanted = set(map(id, objects))
    referrers: list[Any] = gc.get_referrers(*objects)
    candidates = [
        (len(wanted.intersection(map(id, contents_of(each)))), each)
        for each in referrers
        if is_instance(each, *_CONTAINERS)
    ]
    n, container = max(candidates, key=lambda each: each[0], default=(0, None))
    return _name_of(container) if n >= max(2.0, _PART * len(objects)) else ""


def _name_of(container: Any) -> str:
    for referrer in gc.get_referrers(container):
        # An object whose `__dict__` was never read refers to its attributes itself.
        is_dict = is_instance(referrer, dict)
        names: Any = referrer if is_dict else instance_dict(referrer)
        for name, value in list(dict[Any, Any].items(names)):
            if value is container and type(name) is str:
                return name
    return ""


def closure_values(function: FunctionType, depth: int = 4) -> Iterator[Any]:
    """Values in a closure and in closures of functions in it; lists and tuples item by item.

    Args:
        depth: Number of nested functions to follow.
    """
    for cell in function.__closure__ or ():
        try:
            content: Any = cell.cell_contents
        except ValueError:  # an empty cell
            continue
        for value in each_of(content):
            if type(value) is not FunctionType:
                yield value
            elif depth > 0:
                yield from closure_values(value, depth - 1)
