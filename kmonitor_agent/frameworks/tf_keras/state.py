# pyright: basic
"""State of a tf_keras training: each variable that its result depends on, and the session.

tf_keras lists weights only. What else is drawn from or counted (generators of random layers,
hyperparameters of old optimizers, loss scales) is found by following what TensorFlow tracks for
checkpoints. A Keras 2 is tf_keras or keras up to 2.15; its session is cleared without forgetting
the settings that a script made.
"""

import importlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final

from kmonitor_agent.frameworks.base import (
    KerasModel,
    StateUnreadable,
    StateVariable,
    missing_name_text,
)
from kmonitor_agent.frameworks.global_state import keras2_name_counters
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
    states: dict[int, StateVariable] = {}
    for group, variables in _groups(model):
        for variable in variables:
            for part in _replica_values(variable):
                if id(part) not in left_out:
                    path = f"{group}/{getattr(variable, 'name', '')}"
                    state = StateVariable(path, variable_bytes(part), part)
                    states.setdefault(id(part), state)
    if not states:
        raise StateUnreadable("the model has no variables: there is nothing to save")
    return list(states.values())


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
    optimizers = list(optimizers_of(model))
    for optimizer in optimizers:
        yield "optimizer", variables_of(optimizer)
    for optimizer in optimizers:
        yield "optimizer", _tracked(optimizer)
        yield "optimizer", _hyperparameters(optimizer)
    yield "model", _tracked(model)


def optimizers_of(model: KerasModel) -> Iterator[Any]:
    """The model's optimizers, those that its own `train_step` uses included; each once."""
    seen: set[int] = set()
    for value in (getattr(model, "optimizer", None), *list(vars(model).values())):
        for item in value if isinstance(value, list | tuple) else (value,):
            # Also a v1 optimizer in tf_keras' wrapper, which has no common base with the others.
            # Classes are asked: what a variable of a strategy lacks is looked for in its value,
            # which all workers would have to sum up together.
            kind = type(item)
            is_optimizer = hasattr(kind, "apply_gradients") or hasattr(kind, "get_updates")
            if is_optimizer and id(item) not in seen:
                seen.add(id(item))
                yield item


def _hyperparameters(optimizer: Any) -> Iterator[Any]:
    # An optimizer of before TensorFlow 2.11 keeps its learning rate apart from its weights.
    for value in getattr(optimizer, "_hyper", {}).values():
        if _is_variable(value):
            yield value


def _tracked(root: Any) -> list[Any]:
    """Variables below an object, as a checkpoint would find them."""
    variables: list[Any] = []
    todo, seen = [root], {id(root)}
    while todo:
        tracked = todo.pop(0)
        if _is_variable(tracked):
            variables.append(tracked)
            continue
        for child in _children(tracked):
            if id(child) not in seen:
                seen.add(id(child))
                todo.append(child)
    return variables


def _children(tracked: Any) -> list[Any]:
    read_children: Any = getattr(tracked, "_trackable_children", None)
    try:
        children = list(read_children().values()) if read_children is not None else []
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        children = []
    # A random layer hides its generator from checkpoints that would not know it.
    generator = getattr(tracked, "_random_generator", None)
    state = getattr(getattr(generator, "_generator", None), "state", None)
    # A stateful recurrent layer hides what it carries from batch to batch.
    carried = getattr(tracked, "states", ()) if getattr(tracked, "stateful", False) else ()
    flat = sys.modules["tensorflow"].nest.flatten(carried or ())
    return [*children, *flat] if state is None else [*children, *flat, state]


def _replica_values(variable: Any) -> Iterable[Any]:
    # Under a strategy each replica has its own; metrics' differ between replicas.
    distributed: Any = sys.modules["tensorflow"].distribute.DistributedValues
    is_distributed = isinstance(variable, distributed)
    return variable.values if is_distributed else (variable,)


def _is_variable(value: Any) -> bool:
    tf = sys.modules["tensorflow"]
    return isinstance(value, tf.Variable | tf.distribute.DistributedValues) and hasattr(
        value, "dtype"
    )


_PRESERVED_GLOBALS: Final = ("_GRAPH_LEARNING_PHASES", "_GRAPH_TF_OPTIMIZERS", "_GRAPH_VARIABLES")


def keras2_title(package: str) -> str:
    """Name of a Keras 2 in messages."""
    return "Keras" if package == "keras" else package


def keras2_backend(package: str) -> Any:
    """The module that holds a Keras 2's global state.

    Raises:
        ImportError: This version keeps it elsewhere.
    """
    return importlib.import_module(f"{package}.src.backend")


def clear_keras2_session(package: str) -> str:
    """Reset the default graph and kernel caches in eager mode; why it was left out, else empty.

    Names already given, a learning phase set by the script and a session set by it stay, so a
    script and its other models go on as before.
    """
    try:
        backend = keras2_backend(package)
        settings = {name: getattr(backend, name) for name in _PRESERVED_GLOBALS}
        phase, session = backend._DUMMY_EAGER_GRAPH, backend._SESSION  # noqa: SLF001 - looked for
        names = [dict(each) for each in keras2_name_counters(backend)]
        observed = set(backend.OBSERVED_NAMES)
        is_set, own_session = phase.learning_phase_is_set, session.session
    except (ImportError, AttributeError) as exc:
        return f"session not cleared: {missing_name_text(keras2_title(package), exc)}"
    try:
        session.session = None  # clearing would close it
        backend.clear_session()
    finally:
        for name, value in settings.items():
            setattr(backend, name, value)
        phase.learning_phase_is_set = is_set
        session.session = own_session
        backend.OBSERVED_NAMES.update(observed)
        continue_name_counters(backend, names)
    return ""


def continue_name_counters(backend: Any, names: list[dict[Any, int]]) -> None:
    """Go on counting names where the graphs before stopped, so that none comes twice."""
    for counters, known in zip(keras2_name_counters(backend), names, strict=False):
        counters.clear()
        counters.update(known)
