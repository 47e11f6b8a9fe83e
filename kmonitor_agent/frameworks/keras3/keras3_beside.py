# pyright: basic
"""Optimizers that train a model of Keras 3 without being a part of it.

A loop of the script's own often keeps its optimizer in a variable. Nothing leads to it from the
model, so a checkpoint does not have it, and must say so.
"""

import gc
import inspect
import sys
import weakref
from collections.abc import Iterator
from typing import Any, Final

from kmonitor_agent.call_stacks import is_of_keras, locals_of
from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.instances import instances_of
from kmonitor_agent.frameworks.keras3.keras3_state import (
    inner_optimizers,
    optimizers_of,
    with_inner,
)
from kmonitor_agent.frameworks.keras3.state import contents_of

_MOST_NAMED: Final = 8
_NOT_A_PART: Final = "is not part of the model: not saved"
_OF_JAX: Final = (
    "values that the loop keeps in arrays of its own, and not in the model's variables, are not"
    " saved"
)


def not_saved(model: KerasModel) -> tuple[str, ...]:
    """What trains this model and is not part of its state, one text for each; at most 8.

    In Keras' `fit` of a model whose own optimizers train all of it nobody else is looked for: that
    goes through all objects, which takes tenths of a second in a large process.
    """
    contents, backend = contents_of(model), sys.modules["keras"].backend.backend()
    lines: list[str] = []
    if not (_is_in_fit(model) and _is_trained_whole(model)):
        lines += map(_keras_line, _beside(model))
        if backend == "torch":
            lines += map(_torch_line, _torch_beside(model))
        if backend == "jax" and not any(map(_has_step, contents.models)):
            lines.append(_OF_JAX)
    lines += map(_torch_line, contents.torch_optimizers)
    return tuple(dict.fromkeys(lines[:_MOST_NAMED]))


def _is_in_fit(model: KerasModel) -> bool:
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "fit" and is_of_keras(frame):
            with locals_of(frame) as found:
                if found.get("self") is model:
                    return True
        frame = frame.f_back
    return False


def _is_trained_whole(model: KerasModel) -> bool:
    trained = set[int]().union(*map(_trained_by, with_inner(optimizers_of(model))))
    return all(id(each) in trained for each in model.trainable_variables)


def _has_step(model: KerasModel) -> bool:
    # Keras' own loops put the values back before they are read.
    return getattr(model, "train_function", None) is not None


def _beside(model: KerasModel) -> list[Any]:
    """Living optimizers of Keras that train variables of the model and are no part of it."""
    if not _found(model):
        return []
    # One that `compile` replaced may be garbage that was not collected yet.
    found = [weakref.ref(each) for each in _found(model)]
    gc.collect()
    return [optimizer for each in found if (optimizer := each()) is not None]


def _found(model: KerasModel) -> list[Any]:
    keras = sys.modules["keras"]
    known = {id(each) for each in with_inner(optimizers_of(model))}
    variables = {id(each) for each in model.trainable_variables}
    living = instances_of([keras.optimizers.Optimizer])
    inside = {id(one) for each in living for one in inner_optimizers(each)}
    return [
        each
        for each in living
        if id(each) not in known | inside and not variables.isdisjoint(_trained_by(each))
    ]


def _trained_by(optimizer: Any) -> set[int]:
    return {id(each) for each in vars(optimizer).get("_trainable_variables", ())}


def _keras_line(optimizer: Any) -> str:
    count = len(optimizer.variables)
    return f"the optimizer {type(optimizer).__name__} ({count} variables) {_NOT_A_PART}"


def _torch_beside(model: KerasModel) -> Iterator[Any]:
    mine = {id(each.value) for each in model.trainable_variables}
    for each in instances_of([sys.modules["torch"].optim.Optimizer]):
        if not mine.isdisjoint(id(one) for group in each.param_groups for one in group["params"]):
            yield each


def _torch_line(optimizer: Any) -> str:
    return f"the state of PyTorch's optimizer {type(optimizer).__name__} is not saved"
