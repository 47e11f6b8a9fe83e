# pyright: basic
"""Optimizers are found in whatever a model keeps them in.

TensorFlow wraps containers in attributes of models and optimizers in its own classes; two of
them are neither a tuple nor a dict.
"""

from collections import OrderedDict, deque, namedtuple
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

from kmonitor_agent.frameworks.keras3.resuming import Keras3FitResumer
from kmonitor_agent.frameworks.keras3.state import optimizers_of, unsaved_optimizers

pytestmark = pytest.mark.keras

Pair = namedtuple("Pair", "judge maker")  # noqa: PYI024 - as scripts have it


class Holder:
    def __init__(self, judge: Any, maker: Any) -> None:
        self.both = (judge, maker)


CONTAINERS: dict[str, Callable[[Any, Any], Any]] = {
    "list": lambda *both: list(both),
    "tuple": lambda *both: both,
    "named tuple": Pair,
    "dict": lambda judge, maker: {"judge": judge, "maker": maker},
    "ordered dict": lambda judge, maker: OrderedDict(judge=judge, maker=maker),
    "deque": lambda *both: deque(both),
    "tuple in a dict": lambda *both: {"both": both},
    "dicts in a tuple": lambda judge, maker: ({"judge": judge}, {"maker": maker}),
    "object of the script": Holder,
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_optimizers_are_found_in_a_container_of_the_model(container: str):
    judge, maker = keras.optimizers.Adam(), keras.optimizers.SGD()
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.kept = CONTAINERS[container](judge, maker)

    assert sorted(map(id, optimizers_of(model))) == sorted((id(judge), id(maker)))


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_what_a_compiled_optimizer_trains_is_known(policy: str):
    inputs = keras.Input((4,))
    model: Any = keras.Model(inputs, keras.layers.Dense(1, dtype=policy)(inputs))
    optimizer: Any = keras.optimizers.Adam()
    if policy != "float32":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    model.compile(optimizer, "mse")
    model.fit(np.ones((8, 4), "float32"), np.ones((8, 1), "float32"), verbose=0)

    assert Keras3FitResumer().read_trained(model) == ((0, 1),)
    assert unsaved_optimizers(model) == ()
