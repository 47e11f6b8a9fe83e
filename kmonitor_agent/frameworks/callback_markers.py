"""Marks between the callbacks of Keras' list, so that each one's time is known in some steps.

While a step or an epoch's end is timed, the list has a mark before each callback and one behind
the last: no frame of ours is on the stack while a callback of the script runs, and all are called
by Keras itself. Otherwise the list is as Keras created it.
"""

import functools
import threading
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from kmonitor_agent.frameworks.callback_base import times_hooks, with_keras_callback
from kmonitor_agent.frameworks.script_values import (
    class_bases,
    class_name,
    class_package,
    instance_dict,
    is_known_function,
    safe_text,
)
from kmonitor_agent.guard import is_from_signal_handler

if TYPE_CHECKING:
    import weakref

Hook = Literal["step_begin", "step_end", "epoch_begin", "epoch_end"]
Passed = Callable[[Hook, int], None]
"""Called with the hook and the number of callbacks called in it so far."""

_CHECKPOINTS: Final = frozenset({"ModelCheckpoint", "BackupAndRestore"})
_OURS: Final = "kmonitor_agent"
CallbackKind = Literal["ours", "checkpoint", "other"]


def callback_kind(callback: object) -> CallbackKind:
    """Kind of a callback: ours, one of Keras' that save checkpoints, or any other."""
    for base in class_bases(type(callback)):
        if class_package(base) == _OURS:
            return "ours"
        if class_package(base) in {"keras", "tf_keras"} and class_name(base) in _CHECKPOINTS:
            return "checkpoint"
    return "other"


_OF_FUNCTIONS: Final = "LambdaCallback"
_LAMBDA: Final = "<lambda>"
_MOST_PARTIALS: Final = 8


def callback_name(callback: object, private: Callable[[str], str]) -> str:
    """Class name of a callback; for Keras' `LambdaCallback` with the functions that it calls.

    "LambdaCallback(upload_plots)". A lambda is named by its line: "LambdaCallback(<lambda>:14)".

    Args:
        private: Hides a name of the script's if it is private.
    """
    kind: Any = type(callback)
    name = class_name(kind)
    if class_package(kind) not in {"keras", "tf_keras"}:
        return private(name)
    if name != _OF_FUNCTIONS:
        return name
    found = (
        _function_name(value)
        for hook, value in list(instance_dict(callback).items())
        if type(hook) is str and hook.startswith("on_")
    )
    functions = list(dict.fromkeys(filter(None, found)))
    return f"{name}({', '.join(map(private, functions))})" if functions else name


def _function_name(function: Any) -> str:
    """Name of a function that a script gave to Keras; empty for a default of Keras' own."""
    for _ in range(_MOST_PARTIALS):
        if type(function) is not functools.partial:
            break
        function = function.func
    if type(function) is MethodType:
        function = function.__func__
    if type(function) is not FunctionType:
        return "" if function is None else class_name(cast("Any", type(function)))
    if is_known_function(function):
        return ""
    name = safe_text(function.__name__)
    return f"{name}:{function.__code__.co_firstlineno}" if name == _LAMBDA else name


class _Mark:
    """Mark in Keras' list, called by Keras like a callback."""

    def __init__(self, passed: Passed, fault: Callable[[Exception], None], index: int) -> None:
        super().__init__()
        self._passed = passed
        self._fault = fault
        self._index = index
        self._thread = threading.get_ident()
        self.async_safe = True
        # tf_keras: turning logs into numbers for us would make every step wait for the device.
        self._supports_tf_logs = True

    def on_train_batch_begin(self, batch: Any, logs: Any = None) -> None:
        self._pass("step_begin")

    def on_train_batch_end(self, batch: Any, logs: Any = None) -> None:
        self._pass("step_end")

    def on_epoch_begin(self, epoch: Any, logs: Any = None) -> None:
        self._pass("epoch_begin")

    def on_epoch_end(self, epoch: Any, logs: Any = None) -> None:
        self._pass("epoch_end")

    def _pass(self, hook: Hook) -> None:
        try:
            # Where no callback needs to be waited for, Keras calls the ends of steps beside the
            # training: what passes then is no time of the training's.
            if threading.get_ident() == self._thread:
                self._passed(hook, self._index)
        except Exception as exc:
            if is_from_signal_handler(exc):
                raise
            self._fault(exc)


class CallbackMarkers:
    """Puts marks into a fit's list of callbacks and takes them out; for the training thread.

    Args:
        token: Keras' list of callbacks.
        passed: Called at each mark.
        fault: Called with an exception that `passed` raised.

    Attributes:
        callbacks: Callbacks that were in the list when it was marked.
    """

    def __init__(
        self,
        token: "weakref.ref[Any] | None",
        passed: Passed,
        fault: Callable[[Exception], None],
    ) -> None:
        self.callbacks: list[object] = []
        self._token = token
        self._passed = passed
        self._fault = fault
        self._original: list[Any] | None = None
        self._marks: list[Any] = []

    @property
    def is_set(self) -> bool:
        """True if the list is marked."""
        return self._original is not None

    def set(self) -> bool:
        """Mark the list; False if there is none that can be marked.

        An iteration of Keras that has already begun continues unmarked, over the list as it was.
        """
        token = None if self._token is None else self._token()
        own = instance_dict(token).get("callbacks") if token is not None else None
        if self.is_set or type(own) is not list:
            return self.is_set
        if times_hooks(token):
            return False
        callbacks = cast("list[object]", own)
        if len(self._marks) != len(callbacks) + 1:
            make = with_keras_callback(_Mark)
            self._marks = [
                make(self._passed, self._fault, index) for index in range(len(callbacks) + 1)
            ]
        marked = [self._marks[0]]
        for callback, mark in zip(callbacks, self._marks[1:], strict=True):
            marked += [callback, mark]
        self.callbacks = callbacks[:]
        self._original = callbacks
        instance_dict(token)["callbacks"] = marked
        return True

    def remove(self) -> None:
        """Take the marks out; changes that the script made to the list meanwhile stay."""
        original, self._original = self._original, None
        token = None if self._token is None else self._token()
        if original is None or token is None:
            return
        found = cast("list[object]", instance_dict(token)["callbacks"])
        marks = set(map(id, self._marks))
        callbacks = [each for each in found if id(each) not in marks]
        if [*map(id, callbacks)] != [*map(id, original)]:
            original[:] = callbacks
        instance_dict(token)["callbacks"] = original

    def close(self) -> None:
        """Drop all references to the fit, which has ended."""
        self.remove()
        self.callbacks = []
        self._marks = []
