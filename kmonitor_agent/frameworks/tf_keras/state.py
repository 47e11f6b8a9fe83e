# pyright: basic
"""The variables that a tf_keras training's result depends on, each once by identity.

tf_keras lists weights only. What else is drawn from or counted (generators of random layers,
hyperparameters of old optimizers, loss scales) is found by following what TensorFlow tracks for
checkpoints.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final

from kmonitor_agent.frameworks.base import KerasModel, StateUnreadable, StateVariable
from kmonitor_agent.frameworks.model_facts import variable_bytes, variables_of

_LOOP_COUNTERS: Final = ("_train_counter", "_test_counter", "_predict_counter")
"""tf_keras' own loops set them to 0 before they read them."""


def tf_keras_state(model: KerasModel) -> list[StateVariable]:
    """Weights, metrics, optimizers, generators of random layers and loss scales.

    Raises:
        StateUnreadable: The model is not built, so there is nothing to save yet.
    """
    if not (getattr(model, "built", False) or _has_weights(model)):
        raise StateUnreadable("the model is not built yet: it has no weights to save")
    left_out = {id(getattr(model, name, None)) for name in _LOOP_COUNTERS}
    found: dict[int, StateVariable] = {}
    for group, variables in _groups(model):
        for variable in variables:
            for part in _parts(variable):
                if id(part) not in left_out:
                    path = f"{group}/{getattr(variable, 'name', '')}"
                    state = StateVariable(path, variable_bytes(part), part)
                    found.setdefault(id(part), state)
    if not found:
        raise StateUnreadable("the model has no variables: there is nothing to save")
    return list(found.values())


def _has_weights(model: KerasModel) -> bool:
    # A model whose `train_step` calls its parts, and never the model, stays unbuilt for ever.
    try:
        return bool(model.weights)
    except ValueError:  # it says that it has none yet
        return False


def _groups(model: KerasModel) -> Iterator[tuple[str, Iterable[Any]]]:
    yield "model", model.variables
    for metric in getattr(model, "metrics", ()):
        yield "metrics", metric.variables
    optimizers = list(_optimizers(model))
    for optimizer in optimizers:
        yield "optimizer", variables_of(optimizer)
    for optimizer in optimizers:
        yield "optimizer", _tracked(optimizer)
        yield "optimizer", _hyperparameters(optimizer)
    yield "model", _tracked(model)


def _optimizers(model: KerasModel) -> Iterator[Any]:
    # A model that trains by its own `train_step` may have several, as attributes.
    for value in (getattr(model, "optimizer", None), *list(vars(model).values())):
        for each in value if isinstance(value, list | tuple) else (value,):
            # Also a v1 optimizer in tf_keras' wrapper, which has no common base with the others.
            # Classes are asked: what a variable of a strategy lacks is looked for in its value,
            # which all workers would have to sum up together.
            kind = type(each)
            if hasattr(kind, "apply_gradients") or hasattr(kind, "get_updates"):
                yield each


def _hyperparameters(optimizer: Any) -> Iterator[Any]:
    # An optimizer of before TensorFlow 2.11 keeps its learning rate apart from its weights.
    for value in getattr(optimizer, "_hyper", {}).values():
        if _is_variable(value):
            yield value


def _tracked(root: Any) -> list[Any]:
    """Variables below an object, as a checkpoint would find them."""
    found: list[Any] = []
    todo, seen = [root], {id(root)}
    while todo:
        each = todo.pop(0)
        if _is_variable(each):
            found.append(each)
            continue
        for child in _children(each):
            if id(child) not in seen:
                seen.add(id(child))
                todo.append(child)
    return found


def _children(tracked: Any) -> list[Any]:
    give: Any = getattr(tracked, "_trackable_children", None)
    try:
        children = list(give().values()) if give is not None else []
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        children = []
    # A random layer hides its generator from checkpoints that would not know it.
    generator = getattr(tracked, "_random_generator", None)
    state = getattr(getattr(generator, "_generator", None), "state", None)
    # A stateful recurrent layer hides what it carries from batch to batch.
    carried = getattr(tracked, "states", ()) if getattr(tracked, "stateful", False) else ()
    flat = sys.modules["tensorflow"].nest.flatten(carried or ())
    return [*children, *flat] if state is None else [*children, *flat, state]


def _parts(variable: Any) -> Iterable[Any]:
    # Under a strategy each replica has its own; metrics' differ between replicas.
    distributed: Any = sys.modules["tensorflow"].distribute.DistributedValues
    is_distributed = isinstance(variable, distributed)
    return variable.values if is_distributed else (variable,)


def _is_variable(value: Any) -> bool:
    tf = sys.modules["tensorflow"]
    return isinstance(value, tf.Variable | tf.distribute.DistributedValues) and hasattr(
        value, "dtype"
    )
