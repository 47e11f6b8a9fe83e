"""Plain attributes of a fit's callbacks: History, EarlyStopping and the user's own."""

from collections.abc import Sequence
from typing import Any, Final, cast

from kmonitor_agent.frameworks.script_values import (
    class_bases,
    class_name,
    class_package,
    instance_dict,
    own_attributes,
)
from kmonitor_agent.reclaim.restart.fit_state import (
    ArrayStore,
    CallbackState,
    CannotResume,
    NotPlainAttribute,
    to_json,
)

_KERAS_OWN: Final = frozenset({"model", "_model", "params", "validation_data"})
_OF_KERAS: Final = frozenset({"keras", "tf_keras"})
_LARGEST_BYTES: Final = 64 * 2**20
"""Maximum size of the arrays kept of one attribute of a user's callback, bytes.

An attribute may hold whole data sets that the script creates again, or the growth that a restart
is to end; best weights of Keras' own callbacks are kept whatever their size.
"""


def read_callbacks(callbacks: Sequence[Any]) -> tuple[tuple[CallbackState, ...], tuple[str, ...]]:
    """Attributes of every callback, and texts on those that were left out.

    Args:
        callbacks: Callbacks of the fit, in order.
    """
    states: list[CallbackState] = []
    left_out: list[str] = []
    for callback in _with_state(callbacks):
        kind = cast("type[Any]", type(callback))
        attributes: dict[str, Any] = {}
        left = _KERAS_OWN | _own_attributes(kind)
        for name, value in list(instance_dict(callback).items()):
            if name in left:
                continue
            n_bytes = _array_bytes(value)
            if why := _why_left_out(callback, value, n_bytes):
                left_out.append(f"{class_name(kind)}.{name}: {why}")
            elif n_bytes is not None:
                attributes[name] = value
        states.append(CallbackState(class_name(kind), attributes))
    return tuple(states), tuple(left_out)


def write_callbacks(states: Sequence[CallbackState], callbacks: Sequence[Any]) -> None:
    """Restore the attributes.

    Raises:
        CannotResume: The fit has other callbacks than before.
    """
    stateful = _with_state(callbacks)
    current_kinds = [class_name(cast("type[Any]", type(each))) for each in stateful]
    before = [each.kind for each in states]
    if current_kinds != before:
        raise CannotResume(f"its callbacks were {before} and are now {current_kinds}")
    for callback, state in zip(stateful, states, strict=True):
        for name, value in state.attributes.items():
            setattr(callback, name, value)


def _with_state(callbacks: Sequence[Any]) -> list[Any]:
    return [each for each in callbacks if not _is_stateless(cast("type[Any]", type(each)))]


def _is_stateless(kind: type[Any]) -> bool:
    """True for our own callbacks, which a fit may have or not, and the progress bar.

    Classes that the script derives from ours have state.
    """
    package = class_package(kind)
    is_bar = package in _OF_KERAS and class_name(kind) == "ProgbarLogger"
    return is_bar or package == "kmonitor_agent"


def _own_attributes(kind: type[Any]) -> frozenset[str]:
    """Names of attributes that our callbacks, and classes derived from them, own."""
    ours = (each for each in class_bases(kind) if class_package(each) == "kmonitor_agent")
    names = (own_attributes(each).get("OWN_ATTRIBUTES", ()) for each in ours)
    return frozenset[str]().union(*names)


def _array_bytes(value: object) -> int | None:
    """Size of the arrays in plain data, bytes; None if the data are not plain."""
    store = ArrayStore()
    try:
        to_json(value, store)
    except NotPlainAttribute:
        return None
    return store.n_bytes


def _why_left_out(callback: object, value: Any, n_bytes: int | None) -> str:
    if class_package(type(callback)) in _OF_KERAS or callable(value):
        return ""
    if n_bytes is None:
        return f"a {class_name(cast('type[Any]', type(value)))}, not plain data"
    return "larger than 64 MiB" if n_bytes > _LARGEST_BYTES else ""
