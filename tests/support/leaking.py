"""Remains of a loop: functions that TensorFlow knows and entries of gradients."""

import gc
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tensorflow.python.eager.polymorphic_function import atomic_function
from tensorflow.python.framework import ops


@dataclass(frozen=True, order=True)
class Left:
    """Counted straight from TensorFlow, not as kmonitor counts.

    Attributes:
        functions: Functions registered with the runtime.
        entries: Custom gradients in the gradient registry.
    """

    functions: int
    entries: int


def gradient_registry() -> dict[str, Any]:
    """TensorFlow's custom gradients by name."""
    return ops.gradient_registry._registry


def left() -> Left:
    """Now, garbage gone."""
    gc.collect()
    registry = gradient_registry()
    return Left(
        len(atomic_function.RUNTIME_FUNCTION_REFS),
        sum(1 for name in registry if name.startswith("CustomGradient-")),
    )


def after_each(turn: Callable[[], object], *, turns: int = 3) -> list[Left]:
    """Remains after each turn of a loop."""
    found: list[Left] = []
    for _ in range(turns):
        turn()
        found.append(left())
    return found


def grows(found: list[Left]) -> bool:
    """True if each turn leaves more than the one before."""
    return all(
        before.functions < after.functions or before.entries < after.entries
        for before, after in itertools.pairwise(found)
    )


def is_flat(found: list[Left]) -> bool:
    """True if no turn after the first leaves anything."""
    return found[1:] == found[:1] * (len(found) - 1)
