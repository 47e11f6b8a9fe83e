# pyright: basic
"""The variables that a Keras 3 training's result depends on, each once by identity."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from kmonitor_agent.frameworks.base import KerasModel, StateUnreadable, StateVariable
from kmonitor_agent.frameworks.keras3.state import ModelContents, contents_of
from kmonitor_agent.frameworks.model_facts import variable_bytes, variables_of


def exact_state(model: KerasModel) -> list[StateVariable]:
    """Weights, seed states, metrics, optimizers, loss scale and Keras' global seed.

    A model need not be built itself: one whose `train_step` calls its parts, and never the model,
    stays unbuilt for ever.

    Raises:
        StateUnreadable: The model has no weights yet, so there is nothing to save.
    """
    if not (getattr(model, "built", False) or model.weights):
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


def _parts(variable: Any) -> Iterable[Any]:
    # Under a strategy of TensorFlow each replica has its own; metrics' differ between replicas.
    if sys.modules["keras"].backend.backend() != "tensorflow":
        return (variable,)
    distributed = sys.modules["tensorflow"].distribute.DistributedValues
    is_keras = isinstance(variable, sys.modules["keras"].Variable)
    value: Any = variable.value if is_keras else variable
    return value.values if isinstance(value, distributed) else (variable,)


def _groups(model: KerasModel) -> Iterator[tuple[str, Iterable[Any]]]:
    # What Keras lists comes first, in its order: checkpoints of earlier versions fit.
    contents = contents_of(model)
    yield "model", model.variables
    for metric in getattr(model, "metrics", ()):
        yield "metrics", metric.variables
    for optimizer in _distinct_optimizers(model, contents):
        yield "optimizer", variables_of(optimizer)
    yield "model", filter(_has_value, contents.variables)
    for metric in contents.metrics:
        yield "metrics", metric.variables
    yield "tensorflow", contents.foreign
    seed = _global_seed()
    if seed is not None:
        yield "seed", [seed.state]


def _has_value(variable: Any) -> bool:
    # On JAX the values of a fit around this one are in its own frame.
    return getattr(variable, "_value", variable) is not None


def optimizers_of(model: KerasModel) -> list[Any]:
    """The optimizers of the model and of models in it, each once, but for those inside of others.

    A model that trains by its own `train_step` may have several, as attributes or in its parts.
    """
    return _distinct_optimizers(model, contents_of(model))


def with_inner(optimizers: Iterable[Any]) -> list[Any]:
    """Optimizers, and behind each one those that it wraps."""
    return [one for each in optimizers for one in (each, *inner_optimizers(each))]


def inner_optimizers(optimizer: Any) -> Iterator[Any]:
    """Optimizers that this one wraps."""
    kind = sys.modules["keras"].optimizers.Optimizer
    for value in vars(optimizer).values():
        for each in value if isinstance(value, list | tuple) else (value,):
            if isinstance(each, kind) and each is not optimizer:
                yield each
                yield from inner_optimizers(each)


def _distinct_optimizers(model: KerasModel, contents: ModelContents) -> list[Any]:
    own = getattr(model, "optimizer", None)
    known = sys.modules["keras"].optimizers.Optimizer
    first = [own] if isinstance(own, known) else []
    return list({id(each): each for each in (*first, *contents.optimizers)}.values())


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
