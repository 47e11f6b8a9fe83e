# pyright: basic
"""State of a tf_keras training: each variable that its result depends on, and the session.

tf_keras lists weights only. Other state (generators of random layers, hyperparameters of old
optimizers, loss scales) is found by following the objects that TensorFlow tracks for checkpoints.
A Keras 2 is tf_keras or keras up to 2.15; its session is cleared without forgetting the script's
settings.
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
from kmonitor_agent.frameworks.model_parts import (
    all_layers_of,
    is_layer,
    optimizer_variables,
    variable_name,
    variables_within,
    weights_of,
    wrapped_optimizer,
)
from kmonitor_agent.frameworks.script_values import (
    class_attribute,
    contents_of,
    each_of,
    has_attribute,
    instance_dict,
    is_instance,
    is_known_class,
    items_of,
    safe_bool,
    safe_getattr,
)

_LOOP_COUNTERS: Final = ("_train_counter", "_test_counter", "_predict_counter")
"""Variables that tf_keras' own loops set to 0 before they read them."""


def tf_keras_state(model: KerasModel) -> list[StateVariable]:
    """Weights, metrics, optimizers, generators of random layers and loss scales.

    Raises:
        StateUnreadable: The model is not built, so there is nothing to save yet.
    """
    values = instance_dict(model)
    if not (values.get("built") or weights_of(model)):
        raise StateUnreadable("the model is not built yet: it has no weights to save")
    left_out = {id(values.get(name)) for name in _LOOP_COUNTERS}
    states: dict[int, StateVariable] = {}
    for group, variables in _groups(model):
        for variable in variables:
            for part in _replica_values(variable):
                if id(part) not in left_out:
                    path = f"{group}/{variable_name(variable)}"
                    state = StateVariable(path, variable_bytes(part), part)
                    states.setdefault(id(part), state)
    if not states:
        raise StateUnreadable("the model has no variables: there is nothing to save")
    return list(states.values())


def _groups(model: KerasModel) -> Iterator[tuple[str, Iterable[Any]]]:
    # A model whose `train_step` calls its parts, and never the model, stays unbuilt for ever.
    yield "model", variables_within(model)
    for metric in _metrics(model):
        yield "metrics", variables_within(metric)
    optimizers = list(optimizers_of(model))
    for optimizer in optimizers:
        yield "optimizer", _variables_of(optimizer)
    for optimizer in optimizers:
        yield "optimizer", _tracked(optimizer)
        yield "optimizer", _hyperparameters(optimizer)
    yield "model", _tracked(model)


def _metrics(model: KerasModel) -> Iterator[Any]:
    """The model's metrics in the order of tf_keras' `metrics`, then those of its layers."""
    values = instance_dict(model)
    losses, compiled = (instance_dict(values.get(f"compiled_{n}")) for n in ("loss", "metrics"))
    if losses.get("_built"):
        per_output = items_of(losses.get("_per_output_metrics"))
        own = (losses.get("_total_loss_mean"), *per_output)
        yield from (each for each in own if each is not None)
    if compiled.get("_built"):
        yield from items_of(compiled.get("_metrics_in_order"))
    for layer in (model, *all_layers_of(model)):
        yield from items_of(instance_dict(layer).get("_metrics"))


def _variables_of(optimizer: Any) -> list[Any]:
    if is_known_class(type(optimizer)) and wrapped_optimizer(optimizer) is None:
        return variables_of(optimizer)
    return optimizer_variables(optimizer)


def optimizers_of(model: KerasModel) -> Iterator[Any]:
    """The model's optimizers, those that its own `train_step` uses included; each once."""
    seen: set[int] = set()
    values = instance_dict(model)
    for value in (values.get("optimizer"), *list(values.values())):
        for item in each_of(value):
            # Also a v1 optimizer in tf_keras' wrapper, which has no common base with the others.
            # Classes are asked: what a variable of a strategy lacks is looked for in its value,
            # which all workers would have to sum up together.
            kind = type(item)
            names = (class_attribute(kind, each) for each in ("apply_gradients", "get_updates"))
            if any(names) and id(item) not in seen:
                seen.add(id(item))
                yield item


def _hyperparameters(optimizer: Any) -> Iterator[Any]:
    # An optimizer of before TensorFlow 2.11 keeps its learning rate apart from its weights.
    for value in contents_of(instance_dict(optimizer).get("_hyper")):
        if _is_variable(value):
            yield value


def _tracked(root: Any) -> list[Any]:
    """Variables below an object, as a checkpoint would find them."""
    variables: list[Any] = []
    todo = [root]
    seen = {id(root)}
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
    values = instance_dict(tracked)
    # A random layer hides its generator from checkpoints that would not know it.
    generator = instance_dict(values.get("_random_generator")).get("_generator")
    state = safe_getattr(generator, "state")
    # A stateful recurrent layer hides what it carries from batch to batch.
    is_stateful = safe_bool(values.get("stateful", values.get("_stateful")))
    carried = values.get("_states", values.get("states")) if is_stateful else ()
    flat = sys.modules["tensorflow"].nest.flatten(carried or ())
    children = [*_dependencies(tracked), *flat]
    return children if state is None else [*children, state]


def _dependencies(tracked: Any) -> list[Any]:
    """Objects that TensorFlow tracks below an object for checkpoints."""
    if is_known_class(type(tracked)) and not is_layer(tracked):
        read_children: Any = getattr(tracked, "_trackable_children", None)
        try:
            return list(read_children().values()) if read_children is not None else []
        except (AttributeError, NotImplementedError, TypeError, ValueError):
            return []
    # The script's class may do so in its own way, and a functional model asks its layers.
    values = instance_dict(tracked)
    references = items_of(values.get("_self_unconditional_checkpoint_dependencies"))
    layers = items_of(values.get("_self_tracked_trackables"))
    return [*(safe_getattr(each, "ref") for each in references), *layers]


def _replica_values(variable: Any) -> Iterable[Any]:
    # Under a strategy each replica has its own; metrics' differ between replicas.
    distributed: Any = sys.modules["tensorflow"].distribute.DistributedValues
    is_distributed = is_instance(variable, distributed)
    return variable.values if is_distributed else (variable,)


def _is_variable(value: Any) -> bool:
    tf = sys.modules["tensorflow"]
    is_variable = is_instance(value, tf.Variable, tf.distribute.DistributedValues)
    return is_variable and has_attribute(value, "dtype")


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
    """Reset the default graph and kernel caches in eager mode; return why not, else "".

    Names already given, a learning phase set by the script and a session set by it stay, so a
    script and its other models go on as before.
    """
    try:
        backend = keras2_backend(package)
        settings = {name: getattr(backend, name) for name in _PRESERVED_GLOBALS}
        phase = backend._DUMMY_EAGER_GRAPH  # noqa: SLF001 - looked for
        session = backend._SESSION  # noqa: SLF001 - looked for
        names = [dict(each) for each in keras2_name_counters(backend)]
        observed = set(backend.OBSERVED_NAMES)
        is_set = phase.learning_phase_is_set
        own_session = session.session
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
    """Continue counting names where the graphs before stopped, so that no name comes twice."""
    for counters, known in zip(keras2_name_counters(backend), names, strict=False):
        counters.clear()
        counters.update(known)
