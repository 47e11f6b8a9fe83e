# pyright: basic
"""The variables that a Keras 3 training's result depends on, each once by identity."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from kmonitor_agent.frameworks.base import KerasModel, StateUnreadable, StateVariable
from kmonitor_agent.frameworks.keras_facts import variable_bytes, variables_of


def exact_state(model: KerasModel) -> list[StateVariable]:
    """Weights, seed states, metrics, optimizers, loss scale and Keras' global seed.

    Raises:
        StateUnreadable: The model is not built, so there is nothing to save yet.
    """
    if not (getattr(model, "built", False) or _has_stepped(model)):
        raise StateUnreadable("the model is not built yet: it has no weights to save")
    found: dict[int, StateVariable] = {}
    for group, variables in _groups(model):
        for variable in variables:
            name = getattr(variable, "path", None) or getattr(variable, "name", "")
            for part in _parts(variable):
                state = StateVariable(f"{group}/{name}", variable_bytes(part), part)
                found.setdefault(id(part), state)
    if not found:
        raise StateUnreadable("the model has no variables: there is nothing to save")
    return list(found.values())


def _has_stepped(model: KerasModel) -> bool:
    # A model whose `train_step` calls its layers, and never itself, stays "not built".
    optimizer = getattr(model, "optimizer", None)
    return bool(model.weights) and bool(getattr(optimizer, "built", False))


def _parts(variable: Any) -> Iterable[Any]:
    # Under a strategy of TensorFlow each replica has its own; metrics' differ between replicas.
    if sys.modules["keras"].backend.backend() != "tensorflow":
        return (variable,)
    distributed = sys.modules["tensorflow"].distribute.DistributedValues
    value: Any = getattr(variable, "value", None)
    return value.values if isinstance(value, distributed) else (variable,)


def _groups(model: KerasModel) -> Iterator[tuple[str, Iterable[Any]]]:
    yield "model", model.variables
    for metric in getattr(model, "metrics", ()):
        yield "metrics", metric.variables
    for optimizer in optimizers_of(model):
        yield "optimizer", variables_of(optimizer)
    seed = _global_seed()
    if seed is not None:
        yield "seed", [seed.state]


def optimizers_of(model: KerasModel) -> list[Any]:
    """The model's optimizer and those that are attributes of it, each once."""
    found = {id(each): each for each in _optimizers(model)}
    return list(found.values())


def _optimizers(model: KerasModel) -> Iterator[Any]:
    # A model that trains by its own `train_step` may have several, as attributes.
    keras = sys.modules["keras"]
    kinds = (keras.optimizers.Optimizer,)
    for value in (getattr(model, "optimizer", None), *list(vars(model).values())):
        if isinstance(value, kinds):
            yield value
        elif isinstance(value, list | tuple):
            yield from (item for item in value if isinstance(item, kinds))
        elif isinstance(value, dict):
            yield from (item for item in value.values() if isinstance(item, kinds))


def _global_seed() -> Any:
    # Drawn from by layers and `keras.random` calls without a seed. Looked up without making it.
    try:
        from keras.src.backend.common import global_state
        from keras.src.random import seed_generator
    except ImportError:
        return None
    # Older Keras has no constant for the name.
    name = getattr(seed_generator, "GLOBAL_SEED_GENERATOR", "global_seed_generator")
    return global_state.get_global_attribute(name)
