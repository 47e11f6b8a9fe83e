# pyright: basic
"""Layers, weights and settings of a Keras model, from what its objects hold; no code is run.

Methods and properties of layers and optimizers may be the script's own, and Keras' own ask those
of the layers within. So each object's attributes are read where Keras 3 and tf_keras keep them.
"""

import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any, Final

from kmonitor_agent.frameworks.script_values import (
    class_attribute,
    class_bases,
    class_name,
    contents_of,
    instance_dict,
    is_exactly,
    is_instance,
    is_known_class,
    is_known_function,
    items_of,
    own_attributes,
    safe_getattr,
    safe_text,
)
from kmonitor_agent.wire.messages.model_layout import ConfigValue

_KERAS: Final = ("keras", "tf_keras")
_TRAINED: Final = ("_trainable_variables", "_trainable_weights")
_FIXED: Final = ("_non_trainable_variables", "_non_trainable_weights")
_LAYERS: Final = ("_layers", "_self_tracked_trackables")
_TRACKERS: Final = ("_loss_tracker", "_compile_metrics", "_compile_loss")
_COMPILED: Final = (*_TRACKERS, "compiled_metrics", "compiled_loss")
_GIVEN: Final = ("_user_metrics", "_user_weighted_metrics", "_user_loss", "_user_losses")
_METRICS: Final = ("_metrics", "_flat_metrics", "_flat_weighted_metrics")
_WRAPPED: Final = ("forward_layer", "layer", "cell")
_REGULARIZES: Final = "_regularizer"


def keras_class(name: str) -> tuple[type, ...]:
    """The class of that name of each Keras that was imported."""
    found = (getattr(sys.modules.get(package), name, None) for package in _KERAS)
    return tuple(each for each in found if isinstance(each, type))


def is_layer(value: object) -> bool:
    """True for a layer or model of any Keras that was imported."""
    layers = [getattr(sys.modules.get(each), "layers", None) for each in _KERAS]
    kinds = [getattr(each, "Layer", None) for each in layers]
    return is_instance(value, *(each for each in kinds if isinstance(each, type)))


def name_of(part: object) -> str:
    """Name of a model, layer or optimizer."""
    kept = safe_getattr(part, "_name", class_name(type(part)))
    return safe_text(safe_getattr(part, "name", kept))


def has_layers(fields: dict[str, Any]) -> bool:
    """True for the attributes of a model or layer of Keras 3 or tf_keras."""
    return any(name in fields for name in _LAYERS)


def layers_of(model: object) -> list[Any]:
    """Direct layers of a model or layer, in Keras' order, without nested ones."""
    values = instance_dict(model)
    if "_operations" in values:  # a functional model of Keras 3
        return [each for each in items_of(values["_operations"]) if is_layer(each)]
    inner = [each for name in _LAYERS for each in items_of(values.get(name))]
    layers = list({id(each): each for part in inner for each in _within(part)}.values())
    is_list = is_instance(model, *keras_class("Sequential"))
    return layers[1:] if is_list and layers and _is_input(layers[0]) else layers


def all_layers_of(model: object) -> list[Any]:
    """Layers of a model and of its layers, in any depth, each once."""
    found: dict[int, Any] = {}
    todo = [model]
    while todo:
        values = instance_dict(todo.pop())
        parts = (each for name in _LAYERS for each in items_of(values.get(name)))
        inner = [layer for each in parts for layer in _within(each)]
        todo += [each for each in inner if id(each) not in found]
        found.update((id(each), each) for each in inner)
    return list(found.values())


def compiled_with(model: object) -> list[Any]:
    """Metrics and losses as they were given to `compile`, each by itself."""
    values = instance_dict(model)
    made = [instance_dict(values.get(name)) for name in _COMPILED]
    todo = [each.get(name) for each in made for name in _GIVEN]
    given: list[Any] = []
    while todo:
        value = todo.pop()
        inner = contents_of(value)
        todo += inner
        if not inner:
            given.append(value)
    return given


def leaves_of(model: object) -> Iterator[tuple[str, Any]]:
    """Layers without nested layers, with their paths; a shared layer comes once per path."""
    return _leaves(model, "", {id(model)})


def _leaves(model: object, prefix: str, above: set[int]) -> Iterator[tuple[str, Any]]:
    for layer in _inner_layers(model):
        path = f"{prefix}{name_of(layer)}"
        if id(layer) not in above and _inner_layers(layer):
            yield from _leaves(layer, f"{path}/", above | {id(layer)})
        else:
            yield path, layer


def _inner_layers(layer: object) -> list[Any]:
    if is_instance(layer, *keras_class("Model")):
        return layers_of(layer)
    # A layer of the script's own may keep its parts under this name.
    return [each for each in items_of(instance_dict(layer).get("layers")) if is_layer(each)]


def _within(part: object) -> Iterator[Any]:
    """A layer itself, or the layers that a list or dict tracked by tf_keras holds."""
    if is_layer(part):
        yield part
    elif is_known_class(type(part)):
        # TensorFlow's `layers` of it would ask each layer for what it is.
        held = instance_dict(part).get("_storage", safe_getattr(part, "__wrapped__", part))
        for each in contents_of(held):
            yield from _within(each)


def _is_input(layer: object) -> bool:
    return class_name(type(layer)) == "InputLayer"


def strategy_of(model: object) -> Any:
    """TensorFlow strategy under which a model was created, else the current one."""
    values = instance_dict(model)
    own = values.get("_distribute_strategy", values.get("_distribution_strategy"))
    return own or sys.modules["tensorflow"].distribute.get_strategy()


def weights_of(part: object) -> list[tuple[Any, bool]]:
    """Weights of a model or layer and all nested ones, each once, with True if it is trained."""
    found: dict[int, tuple[Any, bool]] = {}
    _collect(part, found, set())
    return list(found.values())


def variable_lists_of(layer: object) -> list[tuple[str, Any]]:
    """Names and lists of the variables that Keras tracks for a layer, without nested layers."""
    values = instance_dict(layer)
    return [(name, values[name]) for name in (*_TRAINED, *_FIXED) if name in values]


def variables_within(part: object) -> list[Any]:
    """Weights and seed states of a model or layer and all nested ones, as Keras lists them."""
    found: dict[int, tuple[Any, bool]] = {}
    _collect(part, found, set(), with_seeds=True)
    return [each for each, _ in found.values()]


def _collect(
    part: object,
    found: dict[int, tuple[Any, bool]],
    seen: set[int],
    *,
    with_seeds: bool = False,
) -> None:
    if id(part) in seen:
        return
    seen.add(id(part))
    values = instance_dict(part)
    is_trainable = values.get("_trainable", True) is not False
    for names, is_trained in ((_TRAINED, is_trainable), (_FIXED, False)):
        for each in (each for name in names for each in items_of(values.get(name))):
            found.setdefault(id(each), (each, is_trained and _is_trainable(each)))
    for each in items_of(values.get("_seed_generators")) if with_seeds else ():
        state = instance_dict(each).get("state")
        found.setdefault(id(state), (state, False))
    for name in _LAYERS:
        for each in items_of(values.get(name)):
            for layer in _within(each):
                _collect(layer, found, seen, with_seeds=with_seeds)


def metric_variables(model: object) -> list[Any]:
    """Variables of a Keras 3 model's metrics, and of those in its layers, in Keras' order."""
    values = instance_dict(model)
    found: dict[int, Any] = {}
    seen: set[int] = set()
    for each in (*(values.get(name) for name in _TRACKERS), model):
        _collect_metrics(each, found, seen)
    return list(found.values())


def _collect_metrics(part: object, found: dict[int, Any], seen: set[int]) -> None:
    if id(part) in seen:
        return
    seen.add(id(part))
    values = instance_dict(part)
    if is_instance(part, *keras_class("Metric")):
        found.update((id(each), each) for each in items_of(values.get("_variables")))
    for name in (*_METRICS, "_layers"):
        for each in items_of(values.get(name)):
            _collect_metrics(each, found, seen)


def variable_shape(variable: object) -> tuple[int, ...] | None:
    """Shape of a variable or tensor.

    None if it is unknown, or if only the script's code knows it.
    """
    shape = safe_getattr(variable, "shape")
    if shape is None:
        shape = _held_by_variable(variable, "_shape")
    try:
        return tuple(int(length) for length in shape) if is_known_class(type(shape)) else None
    except (TypeError, ValueError):  # of unknown rank, with an open length
        return None


def variable_name(variable: object) -> str:
    """Name of a variable; empty if it has none."""
    name = safe_getattr(variable, "name")
    return safe_text(_held_by_variable(variable, "_name") if name is None else name)


def variable_path(variable: object) -> str:
    """Path of a variable in its model; its name if it has no path."""
    # Asked of its class: an attribute that a variable of a strategy lacks is looked for in its
    # value, which all workers sum up together (batch normalization's means), or none. Up to
    # Keras 3.6 it is a plain attribute.
    values = instance_dict(variable)
    has_path = class_attribute(type(variable), "path") is not None or "path" in values
    path = safe_getattr(variable, "path", values.get("_path")) if has_path else None
    return safe_text(path) if path else variable_name(variable)


def variable_dtype(variable: object) -> str:
    """Name of a variable's dtype, the same on each backend."""
    dtype = safe_getattr(variable, "dtype")
    if dtype is None:
        dtype = _held_by_variable(variable, "_dtype") or "float32"
    return safe_text(safe_getattr(dtype, "name", dtype)).removeprefix("torch.")


def variable_value(variable: object) -> Any:
    """Tensor or array in which a Keras variable keeps its value.

    None on JAX while a fit holds it.
    """
    is_known = is_known_class(type(variable))
    return safe_getattr(variable, "value") if is_known else instance_dict(variable).get("_value")


def _held_by_variable(variable: object, name: str) -> Any:
    """Keras' own attribute, even if the script's class hides it.

    Else the attribute of the value.
    """
    values = instance_dict(variable)
    held = values.get(name)
    return safe_getattr(values.get("_value"), name.removeprefix("_")) if held is None else held


def _is_trainable(variable: object) -> bool:
    return safe_getattr(variable, "trainable", otherwise=True) is not False


def optimizer_variables(optimizer: object) -> list[Any]:
    """Variables of an optimizer: its step, its slots, and those of an optimizer that it wraps."""
    values = instance_dict(optimizer)
    own = items_of(values.get("_variables")) or items_of(values.get("_weights"))
    inner = wrapped_optimizer(optimizer)
    return own if inner is None else [*own, *optimizer_variables(inner)]


def wrapped_optimizer(optimizer: object) -> Any:
    """Optimizer whose loss this one scales; None if it scales none."""
    values = instance_dict(optimizer)
    inner = values.get("inner_optimizer")
    return values.get("_optimizer") if inner is None else inner


def settings_of(part: object) -> dict[str, ConfigValue]:
    """Plain settings of a layer or optimizer, and whether it has regularizers.

    Keys are the parameters of Keras' own classes among its bases. Settings of a wrapped layer go
    in between, under their own names.
    """
    values = instance_dict(part)
    settings: dict[str, ConfigValue] = {}
    for name in _parameters(type(part)):
        held = next((each for each in (name, f"_{name}") if each in values), None)
        value = None if held is None else values[held]
        if held is not None and _is_plain(value):
            settings[name] = value
        elif value is not None and name.endswith(_REGULARIZES):
            settings[name] = True
    activation = values.get("activation")
    if activation is not None:
        settings["activation"] = _function_name(activation)
    for name in _WRAPPED:
        inner = values.get(name)
        if is_layer(inner):
            return {**settings, **settings_of(inner), "wraps": class_name(type(inner))}
    return settings


def _parameters(kind: type) -> Iterator[str]:
    """Names of the constructor parameters of Keras' own classes among the bases."""
    for base in reversed(class_bases(kind)):
        make = own_attributes(base).get("__init__") if is_known_class(base) else None
        make = instance_dict(make).get("__wrapped__", make)
        if type(make) is FunctionType:
            code = make.__code__
            yield from code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]


def _is_plain(value: Any) -> bool:
    return value is None or is_exactly(value, bool, int, float, str)


def _function_name(function: Any) -> str:
    is_function = type(function) is FunctionType
    return function.__name__ if is_function else class_name(type(function))


def runs_only_known_code(part: object) -> bool:
    """True if calling a layer can run Keras' own code only, its functions included."""
    return _is_known(part, set())


def _is_known(part: object, seen: set[int]) -> bool:
    if id(part) in seen:
        return True
    seen.add(id(part))
    if not is_known_class(type(part)):
        return False
    for value in instance_dict(part).values():
        for each in (value, *items_of(value)):
            if class_attribute(type(each), "__call__") is None:
                continue
            if not (_is_known(each, seen) if is_layer(each) else is_known_function(each)):
                return False
    return True
