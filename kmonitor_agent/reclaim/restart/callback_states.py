"""The plain attributes of a fit's callbacks: History, EarlyStopping and the user's own."""

import sys
from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np

from kmonitor_agent.reclaim.restart.fit_state import (
    ArrayStore,
    CallbackState,
    CannotResume,
    NotPlainAttribute,
    is_array,
    to_json,
)

_KERAS_OWN: Final = frozenset({"model", "_model", "params", "validation_data"})
_STATELESS: Final = frozenset({"MonitorCallback", "Tail", "ProgbarLogger"})
_COMPARISON: Final = "monitor_op"
"""Kept with `min_delta`: Keras turns the sign of that when it chooses the comparison, which some
versions do at an epoch's end, and would turn it twice."""

_COMPARISONS: Final = ("less", "greater")
_LARGEST_BYTES: Final = 64 * 2**20
"""A user's callback may hold whole data sets, which the script makes again; best weights of
Keras' own callbacks are kept whatever their size."""


def read_callbacks(callbacks: Sequence[Any]) -> tuple[tuple[CallbackState, ...], tuple[str, ...]]:
    """Attributes of every callback, and what was left out of them, in words.

    Args:
        callbacks: Of the fit, in order.
    """
    states: list[CallbackState] = []
    left_out: list[str] = []
    for callback in _with_state(callbacks):
        kind = type(callback).__name__
        attributes: dict[str, Any] = {}
        own = cast("dict[str, Any]", vars(callback))
        for name, value in own.items():
            if name in _KERAS_OWN:
                continue
            if name == _COMPARISON and value is not None:
                attributes[name] = _comparison_name(value)
                continue
            why = _why_left_out(callback, value)
            if why:
                left_out.append(f"{kind}.{name}: {why}")
            elif _is_plain(value):
                attributes[name] = value
        states.append(CallbackState(kind, attributes))
    return tuple(states), tuple(left_out)


def write_callbacks(states: Sequence[CallbackState], callbacks: Sequence[Any]) -> None:
    """Put attributes back.

    Raises:
        CannotResume: The fit has other callbacks than before.
    """
    stateful = _with_state(callbacks)
    current_kinds, before = (
        [type(each).__name__ for each in stateful],
        [each.kind for each in states],
    )
    if current_kinds != before:
        raise CannotResume(f"its callbacks were {before} and now are {current_kinds}")
    for callback, state in zip(stateful, states, strict=True):
        for name, value in state.attributes.items():
            if name == _COMPARISON and value is not None:
                _put_comparison(callback, value)
            else:
                setattr(callback, name, value)


def _with_state(callbacks: Sequence[Any]) -> list[Any]:
    return [each for each in callbacks if type(each).__name__ not in _STATELESS]


def _comparison_name(function: Any) -> str:
    name = getattr(function, "__name__", "")
    if name not in _COMPARISONS:
        return ""
    return f"numpy.{name}" if isinstance(function, np.ufunc) else f"keras.{name}"


def _put_comparison(callback: Any, written: object) -> None:
    home, _, name = str(written).partition(".")
    where = np if home == "numpy" else getattr(sys.modules.get("keras"), "ops", None)
    if name in _COMPARISONS and where is not None:
        setattr(callback, _COMPARISON, getattr(where, name))


def _is_plain(value: object) -> bool:
    try:
        to_json(value, ArrayStore())
    except NotPlainAttribute:
        return False
    return True


def _why_left_out(callback: object, value: Any) -> str:
    if type(callback).__module__.partition(".")[0] in {"keras", "tf_keras"} or callable(value):
        return ""
    if is_array(value) and value.nbytes > _LARGEST_BYTES:
        return "larger than 64 MiB"
    return "" if _is_plain(value) else f"a {type(value).__name__}, no plain data"
