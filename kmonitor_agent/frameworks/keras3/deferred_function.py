# pyright: basic
"""Step functions that a reload drops, so that a model is never without one.

`fit` reads `model.train_function` at every step and calls it. Dropping used to leave None there
until a new function was made: whatever failed in between, a MemoryError above all, ended the
training with "'NoneType' object is not callable". So one assignment puts a deferred function in
its place, which makes the real one when it is called. A reload makes it before that; where the
reload fails, the training's next step does.
"""

import inspect
import weakref
from collections.abc import Callable
from typing import Any

from kmonitor_agent.frameworks.base import KerasModel


class DeferredFunction:
    """Stands for a model's step function until one is made; holds neither."""

    __slots__ = ("__weakref__", "_model", "_name")

    def __init__(self, model: KerasModel, name: str) -> None:
        self._model = weakref.ref(model)
        self._name = name

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Make it, and call it with what this was called with."""
        model = self._model()
        make_function(model, self._name)
        return getattr(model, self._name)(*given, **named)


def drop_function(model: KerasModel, name: str) -> None:
    """Have the model let go of a step function, which is made again when it is needed."""
    setattr(model, name, DeferredFunction(model, name))


def make_function(model: KerasModel, name: str) -> None:
    """Make a step function as Keras would when it next needs it, unless there is one.

    Whatever making it raises, the model has a function, or what makes one when it is called.
    """
    deferred, make = getattr(model, name), getattr(model, f"make_{name}")
    if deferred is None:
        make()
    elif not isinstance(deferred, DeferredFunction):
        return
    elif "force" in inspect.signature(make).parameters:
        make(force=True)  # else Keras takes the deferred one for made
    else:
        _make_unforced(model, name, make)


def make_beside(model: KerasModel, name: str) -> Any:
    """A new step function; the model keeps the one that it has."""
    old = getattr(model, name)
    try:
        drop_function(model, name)
        make_function(model, name)
        return getattr(model, name)
    finally:
        setattr(model, name, old)


def _make_unforced(model: KerasModel, name: str, make: Callable[[], Any]) -> None:
    # A class of the script's own, which makes it in its own way.
    deferred = getattr(model, name)
    setattr(model, name, None)
    try:
        make()
    finally:
        if getattr(model, name) is None:
            setattr(model, name, deferred)
