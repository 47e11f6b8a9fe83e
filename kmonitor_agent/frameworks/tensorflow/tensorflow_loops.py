# pyright: basic
"""How often a loop in a graph of TensorFlow turns, where the graph says it."""

from collections.abc import Mapping
from typing import Any, Final

_SAME: Final = ("Identity", "StopGradient", "Cast", "EnsureShape")
_FEWER: Final = ("Less", "LessEqual")


def trips_of(
    loop: Any, condition: Any, known: Mapping[tuple[int, str], int | None], place: int
) -> int | None:
    """Turns of a loop, from what its condition compares; None where data decide.

    Args:
        loop: The operation.
        condition: The graph of what it asks before each turn.
        known: Turns of the loops before it, by place of the graph and name.
        place: Of the loop's graph.
    """
    arguments = {each.op.name: number for number, each in enumerate(condition.inputs)}
    found = []
    for operation in condition.get_operations():
        if operation.type in _FEWER:
            limit = _source(operation.inputs[1])
            if limit.op.name in arguments:
                limit = _source(loop.inputs[arguments[limit.op.name]])
            found.append(_value(limit, known, place))
    told = [each for each in found if each is not None and each >= 0]
    return min(told, default=None)


def _value(tensor: Any, known: Mapping[tuple[int, str], int | None], place: int) -> int | None:
    import tensorflow as tf

    if tensor.op.type in ("While", "StatelessWhile"):
        return known.get((place, tensor.op.name))
    value = tf.get_static_value(tensor)
    return None if value is None or value.size != 1 else int(value.reshape(()))


def _source(tensor: Any) -> Any:
    while tensor.op.type in _SAME:
        tensor = tensor.op.inputs[0]
    return tensor
