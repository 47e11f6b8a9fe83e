"""Base classes and marks that Keras and TensorFlow expect of our callbacks and functions.

The Keras in use is found without importing one too early, and no TensorFlow is imported.
"""

import contextlib
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, TypeVar

from kmonitor_agent.frameworks.script_values import instance_dict, items_of

_NAMES: Final = ("keras", "tf_keras")

_NO_KERAS: Final = (
    "MonitorCallback needs Keras: install keras 3.6 or newer with a backend such as tensorflow."
)

_combined_classes: dict[tuple[type, type], type] = {}
T = TypeVar("T")


def with_keras_callback(cls: type[T]) -> type[T]:
    """The same class with Keras' Callback as its last base; the same one each time.

    Raises:
        ImportError: Neither keras nor tf_keras is installed.
    """
    base = _callback_class(os.environ)
    if issubclass(cls, base):
        return cls
    if (cls, base) not in _combined_classes:
        body = {"__module__": cls.__module__, "__doc__": cls.__doc__, "_plain": cls}
        subclass = type(cls.__name__, (cls, base), body)
        subclass.__qualname__ = cls.__qualname__
        _combined_classes[cls, base] = subclass
    return _combined_classes[cls, base]


def add_keras_callback(cls: type[T]) -> type[T]:
    """Return a class of ours, or one derived from it, with Keras' Callback as a base.

    Our class gets the base, so that pickle and `__init_subclass__` see the classes that they
    expect. If the order of bases of any of the script's classes does not allow that, the script's
    class gets the base; else a class of the same name is derived, the same one each time.

    Raises:
        ImportError: Neither keras nor tf_keras is installed.
    """
    base = _callback_class(os.environ)
    own: Any = next(each for each in reversed(cls.__mro__) if _is_ours(each))
    for each in (own, cls):
        if not issubclass(cls, base):
            with contextlib.suppress(TypeError):
                each.__bases__ = (*each.__bases__, base)
    return with_keras_callback(cls)


def _is_ours(kind: type) -> bool:
    # The one below it is only there since a class whose one base is `object` keeps that for ever.
    return kind.__module__.startswith("kmonitor_agent.") and kind.__bases__ != (object,)


def overrides_step_end(cls: type) -> bool:
    """True if a script's class does something of its own when a step ends."""
    return any(
        name in base.__dict__
        for base in cls.__mro__
        for name in ("on_batch_end", "on_train_batch_end")
        if base.__module__.partition(".")[0] not in _NAMES
    )


def leave_timing_check_to_others(callback_list: object) -> None:
    """Have tf_keras time the hooks of a fit's steps only where it would without our callbacks.

    tf_keras' list of callbacks times them, and warns "Callback method ... is slow" where steps
    take less than a few milliseconds, as soon as one callback is of a class that is not tf_keras'
    own.
    """
    attributes = instance_dict(callback_list)
    if not times_hooks(callback_list):
        return
    modules = (kind.__module__ for kind in type(callback_list).__mro__)
    module = next((each for each in modules if each.startswith("tf_keras.")), "")
    known = vars(sys.modules[module]) if module in sys.modules else {}
    kinds = map(type, items_of(attributes.get("callbacks")))
    if all(_is_ours(kind) or kind.__name__ in known for kind in kinds):
        attributes["_check_timing"] = False


def times_hooks(callback_list: object) -> bool:
    """True while tf_keras times the hooks of the first steps, and may warn that they are slow."""
    return instance_dict(callback_list).get("_check_timing") is True


def _callback_class(environ: Mapping[str, str]) -> type:
    module: Any = import_module(f"{_keras_name(environ)}.callbacks")
    return module.Callback


def _keras_name(environ: Mapping[str, str]) -> str:
    """Name of the Keras in use: the requested one, else an imported one, else an installed one."""
    names = _NAMES[::-1] if environ.get("TF_USE_LEGACY_KERAS") in {"1", "True", "true"} else _NAMES
    for name in names:
        if name in sys.modules:
            return name
    for name in names:
        if find_spec(name) is not None:
            return name
    raise ImportError(_NO_KERAS)


_MARK = "autograph_info__"
"""Private: attribute that `tf.autograph.experimental.do_not_convert` sets on its result.

A TensorFlow that looks for another mark converts the function, and warns of syntax that it does
not know.
"""


def not_converted(function: T) -> T:
    """Mark a function that a script may call in its `tf.function`, so that it runs unconverted.

    Functions that it calls run unconverted too.
    """
    marked: Any = function
    setattr(marked, _MARK, {})
    return function
