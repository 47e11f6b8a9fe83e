"""Where a fit runs: its thread, the frame of Keras' `fit`, and what only that frame has."""

import inspect
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from kmonitor_agent.call_stacks import DATA_NAMES, frame_locals, is_keras_frame
from kmonitor_agent.frameworks.script_values import (
    class_attribute,
    instance_dict,
    is_known_class,
    safe_count,
    safe_getattr,
)


@dataclass(frozen=True, slots=True)
class FitOrigin:
    """Thread and frame in which a fit runs.

    Attributes:
        thread: Ident of its thread.
        frame_id: `id` of the frame of `fit`; 0 if not found; valid while `token` lives.
        token: Keras' CallbackList, which only the frame of `fit` holds; None if not found.
        batch_size: Examples per step; None if the data decide it.
        initial_epoch: First epoch's index, from 0.
        is_own_loop: True if the script calls Keras' CallbackList itself, without a `fit` of Keras.
        epoch_iterator: Keras' iterator over the data; None if not found.
    """

    thread: int
    frame_id: int = 0
    token: "weakref.ref[Any] | None" = None
    batch_size: int | None = None
    initial_epoch: int = 0
    is_own_loop: bool = False
    epoch_iterator: "weakref.ref[Any] | None" = None

    def callback_list(self) -> Any:
        """Keras' CallbackList; None if not found or gone."""
        return None if self.token is None else self.token()


def find_origin(callback: object) -> FitOrigin:
    """Origin of the fit whose `on_train_begin` is running; call it from that hook only.

    Args:
        callback: Our callback, to distinguish it from Keras' list of callbacks.
    """
    thread = threading.get_ident()
    frame = _list_frame(inspect.currentframe(), callback)
    if frame is None:
        return FitOrigin(thread)
    token = frame.f_locals.get("self")
    fit_frame = frame.f_back
    if fit_frame is not None and fit_frame.f_code.co_name == _BETWEEN:
        fit_frame = fit_frame.f_back
    if token is None or fit_frame is None:
        return FitOrigin(thread)
    found = _read_locals(fit_frame)
    return FitOrigin(
        thread,
        id(fit_frame),
        weakref.ref(token),
        found.batch_size,
        found.initial_epoch,
        is_own_loop=not is_keras_frame(fit_frame),
        epoch_iterator=found.epoch_iterator,
    )


@dataclass(frozen=True, slots=True)
class _FitLocals:
    """Values that only the frame of Keras' `fit` has."""

    batch_size: int | None = None
    initial_epoch: int = 0
    epoch_iterator: "weakref.ref[Any] | None" = None


_BETWEEN: Final = "_call_begin_hook"
"""Method through which the list of callbacks calls itself in v1 graph mode."""


def _list_frame(frame: FrameType | None, callback: object) -> FrameType | None:
    """Frame of `CallbackList.on_train_begin` that called our hook."""
    for caller_frame in callers_of(frame):
        code = caller_frame.f_code
        if code.co_name == "on_train_begin" and code.co_varnames[:1] == ("self",):
            caller = caller_frame.f_locals.get("self")
            if caller is not callback and _has_callbacks(caller):
                return caller_frame
    return None


def _has_callbacks(caller: object) -> bool:
    is_attribute = "callbacks" in instance_dict(caller)
    return is_attribute or class_attribute(type(caller), "callbacks") is not None


def _read_locals(frame: FrameType) -> _FitLocals:
    """Batch size, first epoch and data from the frame of Keras' `fit`."""
    code = frame.f_code
    if not code.co_flags & inspect.CO_OPTIMIZED or DATA_NAMES.isdisjoint(code.co_varnames):
        # A script's own loop. Never look further: at module level the "locals" are its globals.
        return _FitLocals()
    with frame_locals(frame) as fit_locals:
        iterator: object = fit_locals.get("epoch_iterator")
        adapter = safe_getattr(iterator, "data_adapter")
        batch_size = safe_count(fit_locals.get("batch_size")) or safe_getattr(
            adapter, "batch_size"
        )
        initial_epoch = fit_locals.get("initial_epoch")
    is_known = iterator is not None and is_known_class(type(iterator))
    return _FitLocals(
        safe_count(batch_size),
        safe_count(initial_epoch) or 0,
        weakref.ref(iterator) if is_known else None,
    )


def is_same_fit(one: FitOrigin, other: FitOrigin) -> bool:
    """True if two hooks were called in the same call of `fit`."""
    token = other.callback_list()
    return token is not None and one.callback_list() is token


def callers_of(frame: FrameType | None) -> Iterator[FrameType]:
    """The frame and those of its callers, the newest first."""
    while frame is not None:
        yield frame
        frame = frame.f_back
