# pyright: basic
"""State of a Keras 3 model: its variables, its optimizers, and the optimizers that are not saved.

Keras lists what it tracks: layers, their weights and seeds, one optimizer, and whatever `metrics`
returns, which a script may override. A GAN has more: an optimizer for each of its parts, parts
that were compiled by themselves, averages of weights in an object of the script's own, variables
of TensorFlow. None of this is in Keras' lists, and a training continues differently without it, so
it is found by following the model's attributes (`find_contents`).
"""

import gc
import inspect
import sys
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from kmonitor_agent.call_stacks import frame_locals, is_keras_frame
from kmonitor_agent.frameworks.base import KerasModel, StateUnreadable, StateVariable
from kmonitor_agent.frameworks.live_objects import instances_of
from kmonitor_agent.frameworks.model_facts import variable_bytes
from kmonitor_agent.frameworks.model_parts import (
    metric_variables,
    optimizer_variables,
    variable_path,
    variable_value,
    variables_within,
    weights_of,
)
from kmonitor_agent.frameworks.script_values import (
    class_name,
    class_package,
    contents_of,
    each_of,
    instance_dict,
    is_instance,
    is_subclass,
    items_of,
    safe_getattr,
    safe_text,
    unwrapped,
)

_MOST_FOLLOWED: Final = 50_000
_LONGEST_LIST: Final = 10_000
"""Data that a model refers to is not followed on."""

_PLAIN: Final = (
    *(str, bytes, int, float, complex, type),
    *(FunctionType, MethodType, BuiltinFunctionType, ModuleType),
)

_CONTAINERS: Final = (list, tuple, deque, dict, set, frozenset)

_FRAMEWORKS: Final = frozenset(
    {"builtins", "h5py", "jax", "jaxlib", "keras", "ml_dtypes", "numpy", "tensorflow", "torch"}
)
"""Packages whose objects are not followed, unless they are of a known kind; a script's are."""


@dataclass(slots=True)
class ModelContents:
    """Contents of a model, each once, in the order of the attributes that led to it.

    Attributes:
        models: The model itself and the models in it, each of which may have step functions.
        variables: Keras' variables of layers, and those that are attributes.
        metrics: Metrics, also those that the model's own `metrics` leaves out.
        optimizers: Keras' optimizers, but for those inside of others.
        foreign: TensorFlow's own variables, where Keras runs on it.
        torch_optimizers: Optimizers of PyTorch, whose state no variable of Keras holds.
    """

    models: list[Any] = field(default_factory=list)
    variables: list[Any] = field(default_factory=list)
    metrics: list[Any] = field(default_factory=list)
    optimizers: list[Any] = field(default_factory=list)
    foreign: list[Any] = field(default_factory=list)
    torch_optimizers: list[Any] = field(default_factory=list)


def find_contents(model: KerasModel) -> ModelContents:
    """Contents of a model; reads attributes only, so that nothing of the script's runs."""
    return _Search().run(model)


class _Search:
    def __init__(self) -> None:
        keras = sys.modules["keras"]
        backend = keras.backend.backend()
        self._contents = contents = ModelContents()
        self._leaves: list[tuple[tuple[Any, ...], list[Any]]] = [
            ((keras.Variable,), contents.variables),
            ((keras.Metric,), contents.metrics),
            ((keras.optimizers.Optimizer,), contents.optimizers),
        ]
        self._followed: tuple[Any, ...] = (keras.Layer, keras.random.SeedGenerator)
        self._model = keras.Model
        self._generators: tuple[Any, ...] = ()
        if backend == "torch":
            torch = sys.modules["torch"]
            self._leaves.append(((torch.optim.Optimizer,), contents.torch_optimizers))
        if backend == "tensorflow":
            tf = sys.modules["tensorflow"]
            variables = (tf.Variable, tf.distribute.DistributedValues)
            self._leaves.append((variables, contents.foreign))
            self._followed += (tf.Module, tf.train.ExponentialMovingAverage)
            self._generators = (tf.random.Generator,)

    def run(self, model: KerasModel) -> ModelContents:
        todo = deque([model])
        seen = {id(model): model}
        while todo and len(seen) < _MOST_FOLLOWED:
            for child in self._visit(todo.popleft()):
                if id(child) not in seen and not is_instance(child, *_PLAIN):
                    seen[id(child)] = child
                    todo.append(child)
        return self._contents

    def _visit(self, value: Any) -> Iterable[Any]:
        """Add a value to the contents, or return the values in it."""
        # By its type: a stranger's proxy is not asked for its class.
        value = unwrapped(value)
        kind = type(value)
        for known, collected in self._leaves:
            if is_subclass(kind, known):
                collected.append(value)
                return ()
        return self._held_by(value, kind)

    def _held_by(self, value: Any, kind: type) -> Iterable[Any]:
        if is_subclass(kind, (self._model,)):
            self._contents.models.append(value)
        if is_subclass(kind, self._generators):
            return (safe_getattr(value, "state", instance_dict(value).get("_state_var")),)
        if is_subclass(kind, _CONTAINERS):
            items = contents_of(value, most=_LONGEST_LIST)
            # The order of a set is another one in each process.
            is_set = is_subclass(kind, (set, frozenset))
            return sorted(items, key=_name_of) if is_set else items
        is_scripts = class_package(kind) not in _FRAMEWORKS
        if is_scripts or is_subclass(kind, self._followed):
            return list(instance_dict(value).values())
        return ()


def _name_of(value: Any) -> str:
    name = safe_getattr(value, "name", instance_dict(value).get("_name", ""))
    return f"{class_name(type(value))} {safe_text(name)}"


def exact_state(model: KerasModel) -> list[StateVariable]:
    """Weights, seed states, metrics, optimizers, loss scale and Keras' global seed.

    A model need not be built itself: one whose `train_step` calls its parts, and never the model,
        always stays unbuilt.

    Raises:
        StateUnreadable: The model has no weights yet, so there is nothing to save.
    """
    if not (instance_dict(model).get("built") or weights_of(model)):
        raise StateUnreadable("the model is not built yet: it has no weights to save")
    states: dict[int, StateVariable] = {}
    for group, variables in _groups(model):
        for variable in variables:
            path = f"{group}/{variable_path(variable)}"
            for part in _replica_values(variable):
                state = StateVariable(path, variable_bytes(part), part)
                states.setdefault(id(part), state)
    if not states:
        raise StateUnreadable("the model has no variables: there is nothing to save")
    return list(states.values())


def _replica_values(variable: Any) -> Iterable[Any]:
    # Under a strategy of TensorFlow each replica has its own; metrics' differ between replicas.
    if sys.modules["keras"].backend.backend() != "tensorflow":
        return (variable,)
    distributed = sys.modules["tensorflow"].distribute.DistributedValues
    is_keras = is_instance(variable, sys.modules["keras"].Variable)
    value: Any = variable_value(variable) if is_keras else variable
    return value.values if is_instance(value, distributed) else (variable,)


def _groups(model: KerasModel) -> Iterator[tuple[str, Iterable[Any]]]:
    # Variables that Keras lists come first, in its order: checkpoints of earlier versions fit.
    contents = find_contents(model)
    yield "model", variables_within(model)
    yield "metrics", metric_variables(model)
    for optimizer in with_wrapped_optimizers(_distinct_optimizers(model, contents)):
        yield "optimizer", optimizer_variables(optimizer)
    yield "model", filter(_has_value, contents.variables)
    for metric in contents.metrics:
        yield "metrics", metric_variables(metric)
    yield "tensorflow", contents.foreign
    seed = _global_seed()
    if seed is not None:
        yield "seed", [seed.state]


def _has_value(variable: Any) -> bool:
    # On JAX the values of a fit around this one are in its own frame.
    return instance_dict(variable).get("_value", variable) is not None


def optimizers_of(model: KerasModel) -> list[Any]:
    """The optimizers of the model and of models in it, each once, but for those inside of others.

    A model that trains by its own `train_step` may have several, as attributes or in its parts.
    """
    return _distinct_optimizers(model, find_contents(model))


def with_wrapped_optimizers(optimizers: Iterable[Any]) -> list[Any]:
    """Optimizers, and behind each one those that it wraps."""
    return [one for each in optimizers for one in (each, *wrapped_optimizers(each))]


def wrapped_optimizers(optimizer: Any) -> Iterator[Any]:
    """Optimizers among the attributes of this one, and those inside of them."""
    kind = sys.modules["keras"].optimizers.Optimizer
    for value in list(instance_dict(optimizer).values()):
        for item in each_of(value):
            if is_instance(item, kind) and item is not optimizer:
                yield item
                yield from wrapped_optimizers(item)


def _distinct_optimizers(model: KerasModel, contents: ModelContents) -> list[Any]:
    own = instance_dict(model).get("optimizer")
    known = sys.modules["keras"].optimizers.Optimizer
    first = [own] if is_instance(own, known) else []
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


_MOST_NAMED: Final = 8
_NOT_A_PART: Final = "is not part of the model: not saved"

_OF_JAX: Final = (
    "values that the loop keeps in its own arrays instead of in the model's variables are not"
    " saved"
)


def unsaved_optimizers(model: KerasModel) -> tuple[str, ...]:
    """Optimizers that train this model and are not saved, one text for each; at most 8.

    If a model's own optimizers train all of it in Keras' `fit`, there is no search for others: the
    search walks all objects, which takes tenths of a second in a large process.
    """
    contents = find_contents(model)
    backend = sys.modules["keras"].backend.backend()
    lines: list[str] = []
    if not (_is_in_fit(model) and _is_trained_whole(model)):
        lines += map(_keras_text, _other_optimizers(model))
        if backend == "torch":
            lines += map(_torch_text, _other_torch_optimizers(model))
        if backend == "jax" and not any(map(_has_step, contents.models)):
            lines.append(_OF_JAX)
    lines += map(_torch_text, contents.torch_optimizers)
    return tuple(dict.fromkeys(lines[:_MOST_NAMED]))


def _is_in_fit(model: KerasModel) -> bool:
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "fit" and is_keras_frame(frame):
            with frame_locals(frame) as fit_locals:
                if fit_locals.get("self") is model:
                    return True
        frame = frame.f_back
    return False


def _is_trained_whole(model: KerasModel) -> bool:
    trained = set[int]().union(*map(_trained_by, with_wrapped_optimizers(optimizers_of(model))))
    return _trainable_ids(model) <= trained


def _trainable_ids(model: KerasModel) -> set[int]:
    return {id(each) for each, is_trained in weights_of(model) if is_trained}


def _has_step(model: KerasModel) -> bool:
    # Keras' own loops put the values back before they are read.
    return instance_dict(model).get("train_function") is not None


def _other_optimizers(model: KerasModel) -> list[Any]:
    """Living optimizers of Keras that train variables of the model and are no part of it."""
    if not _other_living(model):
        return []
    # One that `compile` replaced may be garbage that was not collected yet.
    references = [weakref.ref(each) for each in _other_living(model)]
    gc.collect()
    return [optimizer for each in references if (optimizer := each()) is not None]


def _other_living(model: KerasModel) -> list[Any]:
    keras = sys.modules["keras"]
    known = {id(each) for each in with_wrapped_optimizers(optimizers_of(model))}
    variables = _trainable_ids(model)
    living = instances_of([keras.optimizers.Optimizer])
    inside = {id(one) for each in living for one in wrapped_optimizers(each)}
    return [
        each
        for each in living
        if id(each) not in known | inside and not variables.isdisjoint(_trained_by(each))
    ]


def _trained_by(optimizer: Any) -> set[int]:
    return {id(each) for each in items_of(instance_dict(optimizer).get("_trainable_variables"))}


def _keras_text(optimizer: Any) -> str:
    count = len(optimizer_variables(optimizer))
    return f"the optimizer {class_name(type(optimizer))} ({count} variables) {_NOT_A_PART}"


def _other_torch_optimizers(model: KerasModel) -> Iterator[Any]:
    trained_ids = {id(variable_value(each)) for each, trained in weights_of(model) if trained}
    for each in instances_of([sys.modules["torch"].optim.Optimizer]):
        if not trained_ids.isdisjoint(
            id(one) for group in each.param_groups for one in group["params"]
        ):
            yield each


def _torch_text(optimizer: Any) -> str:
    return f"the state of PyTorch's optimizer {class_name(type(optimizer))} is not saved"
