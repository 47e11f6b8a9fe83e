# pyright: basic
"""A model's objects are those that Keras lists; nothing of the script's is called."""

from typing import Any

import keras
import pytest
from keras import layers, optimizers

from kmonitor_agent.frameworks.model_parts import (
    layers_of,
    name_of,
    optimizer_variables,
    runs_only_known_code,
    settings_of,
    weights_of,
)

pytestmark = pytest.mark.keras

LAYERS: tuple[Any, ...] = (
    layers.Dense(3, "relu", kernel_regularizer="l2"),
    layers.Conv2D(4, 3, activation="swish"),
    layers.DepthwiseConv2D(3, depth_multiplier=2),
    layers.Dropout(0.3),
    layers.LSTM(5, return_sequences=True),
    layers.Bidirectional(layers.GRU(4)),
    layers.TimeDistributed(layers.Dense(2)),
    layers.MultiHeadAttention(2, 8, dropout=0.1),
    layers.GroupQueryAttention(8, 4, 2),
    layers.BatchNormalization(axis=1),
    layers.Embedding(10, 4),
    layers.Softmax(axis=2),
)

OPTIMIZERS = [
    kind
    for name in sorted(dir(optimizers))
    if isinstance(kind := getattr(optimizers, name), type)
    and issubclass(kind, optimizers.Optimizer)
    and name not in ("Optimizer", "LossScaleOptimizer", "MultiOptimizer")
]


class Counts(layers.Dense):
    """Fails where anything of it is called."""

    @property
    def variables(self) -> Any:  # pyright: ignore[reportImplicitOverride]
        pytest.fail("variables")

    weights: Any = variables
    trainable_variables: Any = variables
    trainable_weights: Any = variables

    def get_config(self) -> Any:  # pyright: ignore[reportImplicitOverride]
        pytest.fail("get_config")


def models() -> list[keras.Model]:
    inputs = keras.Input((8,))
    shared = layers.Dense(8)
    inner = keras.Sequential([keras.Input((8,)), shared, layers.BatchNormalization()])
    functional = keras.Model(inputs, layers.Dense(1)(inner(layers.Dropout(0.1)(shared(inputs)))))

    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first = layers.Dense(4)
            self.rest = [layers.Dense(4), {"last": layers.Dense(1)}]

        def call(self, x: Any) -> Any:  # pyright: ignore[reportImplicitOverride]
            return self.rest[1]["last"](self.rest[0](self.first(x)))

    own = Own()
    own(keras.ops.ones((1, 3)))
    frozen = keras.Sequential([keras.Input((8,)), layers.Dense(2), layers.Dense(2)])
    frozen.layers[0].trainable = False
    return [functional, inner, own, frozen]


def test_layers_and_weights_are_those_of_keras_in_its_order():
    for model in models():
        weights = weights_of(model)

        assert [id(each) for each in layers_of(model)] == [id(each) for each in model.layers]
        assert [id(each) for each, _ in weights] == [id(each) for each in model.weights]
        assert [id(each) for each, is_trained in weights if is_trained] == [
            id(each) for each in model.trainable_weights
        ]
        assert name_of(model) == model.name


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_settings_are_those_of_the_layers_own_config(layer: Any):
    found = settings_of(layer)
    inner = getattr(layer, "forward_layer", getattr(layer, "layer", None))
    config = {**layer.get_config(), **({} if inner is None else inner.get_config())}
    plain = {
        name: value
        for name, value in config.items()
        if isinstance(value, bool | int | float | str) and name in found
    }
    del plain["name"], plain["trainable"]  # of an inner cell, where there is one

    assert plain
    assert {name: found[name] for name in plain} == plain
    for name in ("units", "rate", "num_heads", "num_query_heads", "dropout", "return_sequences"):
        assert (name in config) <= (name in found), name


def test_a_regularizer_is_seen_and_a_wrapped_layer_named():
    assert settings_of(LAYERS[0])["kernel_regularizer"] is True
    assert settings_of(LAYERS[5])["wraps"] == "GRU"


@pytest.mark.parametrize("kind", OPTIMIZERS, ids=lambda kind: kind.__name__)
def test_an_optimizers_settings_and_variables_are_its_own(kind: Any):
    optimizer = kind()
    optimizer.build([keras.Variable([1.0, 2.0])])
    found, config = settings_of(optimizer), optimizer.get_config()

    assert [id(each) for each in optimizer_variables(optimizer)] == [
        id(each) for each in optimizer.variables
    ]
    assert all(found[name] == config[name] for name in found.keys() & config.keys())
    for name in ("amsgrad", "momentum", "centered", "use_ema", "gradient_accumulation_steps"):
        assert (name in config) <= (name in found), name


def test_nothing_of_a_layer_of_the_scripts_is_called():
    layer = Counts(3)
    model = keras.Sequential([keras.Input((2,)), layer])

    assert [tuple(each.shape) for each, _ in weights_of(model)] == [(2, 3), (3,)]
    assert settings_of(layer)["units"] == 3
    assert layers_of(model) == [layer]


def test_only_a_layer_that_holds_no_code_of_the_scripts_may_be_called():
    assert runs_only_known_code(layers.Dense(1, "relu"))
    assert not runs_only_known_code(layers.Dense(1, lambda x: x))
    assert not runs_only_known_code(layers.Lambda(lambda x: x))
    assert not runs_only_known_code(layers.TimeDistributed(Counts(2)))
