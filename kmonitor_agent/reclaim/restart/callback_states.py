"""The plain attributes of a fit's callbacks: History, EarlyStopping and the user's own."""

from collections.abc import Sequence
from typing import Any, Final, cast

from kmonitor_agent.reclaim.restart.fit_state import (
    ArrayStore,
    CallbackState,
    CannotResume,
    NotPlainAttribute,
    is_array,
    to_json,
)

_KERAS_OWN: Final = frozenset({"model", "_model", "params", "validation_data"})
_OF_KERAS: Final = frozenset({"keras", "tf_keras"})
_LARGEST_BYTES: Final = 64 * 2**20
"""Largest array kept of a user's callback, which may hold whole data sets that the script makes
again; best weights of Keras' own callbacks are kept whatever their size."""


def read_callbacks(callbacks: Sequence[Any]) -> tuple[tuple[CallbackState, ...], tuple[str, ...]]:
    """Attributes of every callback, and those that were left out, in words.

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
            if name in _KERAS_OWN or name in getattr(callback, "OWN_ATTRIBUTES", ()):
                continue
            why = _why_left_out(callback, value)
            if why:
                left_out.append(f"{kind}.{name}: {why}")
            elif _is_plain(value):
                attributes[name] = value
        states.append(CallbackState(kind, attributes))
    return tuple(states), tuple(left_out)


def write_callbacks(states: Sequence[CallbackState], callbacks: Sequence[Any]) -> None:
    """Restore the attributes.

    Raises:
        CannotResume: The fit has other callbacks than before.
    """
    stateful = _with_state(callbacks)
    current_kinds = [type(each).__name__ for each in stateful]
    before = [each.kind for each in states]
    if current_kinds != before:
        raise CannotResume(f"its callbacks were {before} and now are {current_kinds}")
    for callback, state in zip(stateful, states, strict=True):
        for name, value in state.attributes.items():
            setattr(callback, name, value)


def _with_state(callbacks: Sequence[Any]) -> list[Any]:
    return [each for each in callbacks if not _is_stateless(cast("type[Any]", type(each)))]


def _is_stateless(kind: type[Any]) -> bool:
    """True for our own, which a fit may have at one time and not at another, and the progress bar.

    What the script derives from ours has its own state.
    """
    package = kind.__module__.partition(".")[0]
    is_bar = package in _OF_KERAS and kind.__name__ == "ProgbarLogger"
    return is_bar or package == "kmonitor_agent"


def _is_plain(value: object) -> bool:
    try:
        to_json(value, ArrayStore())
    except NotPlainAttribute:
        return False
    return True


def _why_left_out(callback: object, value: Any) -> str:
    if type(callback).__module__.partition(".")[0] in _OF_KERAS or callable(value):
        return ""
    if is_array(value) and value.nbytes > _LARGEST_BYTES:
        return "larger than 64 MiB"
    return "" if _is_plain(value) else f"a {type(value).__name__}, no plain data"
