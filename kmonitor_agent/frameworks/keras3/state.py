# pyright: basic
"""Everything with a state that a Keras 3 model holds, found by following its attributes.

Keras lists what it tracks: layers, their weights and seeds, one optimizer, and whatever `metrics`
returns, which a script may override. A GAN has more: an optimizer for each of its parts, parts
that were compiled by themselves, averages of weights in an object of the script's own, variables
of TensorFlow. None of it is in Keras' lists, and a training goes on otherwise without it.
"""

import sys
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from kmonitor_agent.frameworks.base import KerasModel

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
"""Packages whose objects are taken for what they are, or for nothing; a script's are followed."""


@dataclass(slots=True)
class ModelContents:
    """What was found, each once, in the order of the attributes that led to it.

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


def contents_of(model: KerasModel) -> ModelContents:
    """What a model holds; reads attributes only, so that nothing of the script's runs."""
    return _Search().run(model)


class _Search:
    def __init__(self) -> None:
        keras = sys.modules["keras"]
        backend = keras.backend.backend()
        self._contents = found = ModelContents()
        self._leaves: list[tuple[Any, list[Any]]] = [
            (keras.Variable, found.variables),
            (keras.Metric, found.metrics),
            (keras.optimizers.Optimizer, found.optimizers),
        ]
        self._followed: tuple[Any, ...] = (keras.Layer, keras.random.SeedGenerator)
        self._model = keras.Model
        self._generator: Any = ()
        if backend == "torch":
            torch = sys.modules["torch"]
            self._leaves.append((torch.optim.Optimizer, found.torch_optimizers))
        if backend == "tensorflow":
            tf = sys.modules["tensorflow"]
            variables = (tf.Variable, tf.distribute.DistributedValues)
            self._leaves.append((variables, found.foreign))
            self._followed += (tf.Module, tf.train.ExponentialMovingAverage)
            self._generator = tf.random.Generator

    def run(self, model: KerasModel) -> ModelContents:
        todo, seen = deque([model]), {id(model): model}
        while todo and len(seen) < _MOST_FOLLOWED:
            for child in self._look_at(todo.popleft()):
                if id(child) not in seen and not issubclass(type(child), _PLAIN):
                    seen[id(child)] = child
                    todo.append(child)
        return self._contents

    def _look_at(self, each: Any) -> Iterable[Any]:
        """Note what this is; what it holds."""
        # By its type: a stranger's proxy is not asked for its class.
        kind = type(each)
        for known, found in self._leaves:
            if issubclass(kind, known):
                found.append(each)
                return ()
        return self._held_by(each, kind)

    def _held_by(self, each: Any, kind: type) -> Iterable[Any]:
        if issubclass(kind, self._model):
            self._contents.models.append(each)
        if issubclass(kind, self._generator):
            return (each.state,)
        if issubclass(kind, _CONTAINERS):
            return _items(each, kind) if len(each) <= _LONGEST_LIST else ()
        is_script_s = kind.__module__.partition(".")[0] not in _FRAMEWORKS
        if is_script_s or issubclass(kind, self._followed):
            return list(getattr(each, "__dict__", {}).values())
        return ()


def _items(container: Any, kind: type) -> list[Any]:
    if issubclass(kind, dict):
        return list(container.values())
    if issubclass(kind, (set, frozenset)):
        # The order of a set is another one in each process.
        return sorted(container, key=_name_of)
    return list(container)


def _name_of(value: Any) -> str:
    return f"{type(value).__name__} {getattr(value, 'name', '')}"
