"""A model's description equals its real variables, slots and shapes."""

import math
from typing import Any

import keras
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import layers

from kmonitor.memory.estimate import Plan, estimate
from kmonitor.memory.layer_rules import rule_of
from kmonitor.memory.tensor_sizes import variable_bytes
from kmonitor_agent.frameworks.layout_reader import WrongShape, read_layout
from tests.support.reloading import KERAS

pytestmark = KERAS

PICTURE, SEQUENCE, VALUES, FILM = (8, 8, 4), (6, 4), (4,), (3, 4, 4, 2)

WITH_WEIGHTS: list[tuple[Any, tuple[int, ...]]] = [
    (lambda: layers.Dense(3), VALUES),
    (lambda: layers.EinsumDense("abc,cd->abd", (6, 5), bias_axes="d"), SEQUENCE),
    (lambda: layers.Conv1D(3, 2), SEQUENCE),
    (lambda: layers.Conv2D(4, 2, groups=2), PICTURE),
    (lambda: layers.Conv3D(3, 2), FILM),
    (lambda: layers.Conv1DTranspose(3, 2), SEQUENCE),
    (lambda: layers.Conv2DTranspose(3, 2), PICTURE),
    (lambda: layers.Conv3DTranspose(3, 2), FILM),
    (lambda: layers.DepthwiseConv1D(2), SEQUENCE),
    (lambda: layers.DepthwiseConv2D(2), PICTURE),
    (lambda: layers.SeparableConv1D(3, 2), SEQUENCE),
    (lambda: layers.SeparableConv2D(3, 2), PICTURE),
    (layers.BatchNormalization, PICTURE),
    (layers.LayerNormalization, SEQUENCE),
    (lambda: layers.GroupNormalization(2), PICTURE),
    (layers.PReLU, PICTURE),
    (lambda: layers.LSTM(3), SEQUENCE),
    (lambda: layers.GRU(3), SEQUENCE),
    (lambda: layers.SimpleRNN(3), SEQUENCE),
    (lambda: layers.RNN(layers.LSTMCell(3)), SEQUENCE),
    (lambda: layers.ConvLSTM1D(3, 2), (3, 4, 2)),
    (lambda: layers.ConvLSTM2D(3, 2), FILM),
    (lambda: layers.ConvLSTM3D(2, 2), (3, 3, 3, 3, 2)),
    (lambda: layers.Bidirectional(layers.LSTM(3)), SEQUENCE),
    (lambda: layers.TimeDistributed(layers.Dense(3)), SEQUENCE),
    (lambda: layers.SpectralNormalization(layers.Dense(3)), VALUES),
]


def compiled(model: Any, optimizer: Any = "adam") -> Any:
    model.compile(optimizer, "mse", jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    return model


def real_bytes(variables: Any) -> int:
    return sum(
        math.prod(each.shape) * (8 if "64" in str(each.dtype) else 4)
        for each in variables
        if "seed_generator" not in each.name
    )


def check_against_the_real_ones(model: Any) -> None:
    found = estimate(read_layout(model), Plan(batch=2))

    assert found.parameter_bytes == real_bytes(model.variables)
    assert found.gradient_bytes == real_bytes(model.trainable_variables)
    assert found.slot_bytes == real_bytes(model.optimizer.variables)
    assert sum(each.parameters for each in found.layers) == sum(
        math.prod(each.shape) for each in model.variables if "seed_generator" not in each.name
    )


@pytest.mark.slow
@pytest.mark.parametrize(("make", "shape"), WITH_WEIGHTS)
def test_every_layer_with_weights_is_exact_and_covered(make: Any, shape: tuple[int, ...]):
    inputs = layers.Input(shape)
    model = compiled(keras.Model(inputs, layers.Flatten()(make()(inputs))))

    check_against_the_real_ones(model)
    assert estimate(read_layout(model), Plan(batch=2)).uncovered == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda x: layers.MultiHeadAttention(2, 3, value_dim=5)(x, x),
        lambda x: layers.GroupQueryAttention(4, 4, 2)(x, x),
        lambda x: layers.Attention(use_scale=True)([x, x]),
        lambda x: layers.AdditiveAttention()([x, x]),
    ],
)
def test_attention_is_exact_and_covered(make: Any):
    inputs = layers.Input(SEQUENCE)
    model = compiled(keras.Model(inputs, make(inputs)))

    check_against_the_real_ones(model)
    assert estimate(read_layout(model), Plan(batch=2)).uncovered == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "optimizer",
    [
        "sgd", "adam", "adamw", "nadam", "adamax", "rmsprop", "adagrad", "adadelta", "ftrl",
        "lion", "adafactor", keras.optimizers.Lamb(),
        keras.optimizers.SGD(momentum=0.9), keras.optimizers.Adam(amsgrad=True),
        keras.optimizers.RMSprop(momentum=0.1, centered=True),
        keras.optimizers.Adam(use_ema=True),
        keras.optimizers.Adam(gradient_accumulation_steps=2),
    ],
)  # fmt: skip
def test_slots_told_by_rule_equal_the_optimizers_own(optimizer: Any):
    model = compiled(
        keras.Sequential([layers.Input((5,)), layers.Dense(7), layers.Dense(2)]), optimizer
    )
    layout = read_layout(model)

    by_rule = estimate(layout, Plan(batch=2, optimizer=layout.optimizer)).slot_bytes

    assert by_rule == real_bytes(model.optimizer.variables)


SIZES = st.integers(2, 5)
STEPS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(0, 9)), max_size=6)


def random_model(n_inputs: int, width: int, steps: Any, frozen: list[bool]) -> Any:
    """A graph with shared layers, nested models, sums, products and frozen parts."""
    inputs = layers.Input((n_inputs,))
    shared = layers.Dense(width)
    inner = keras.Sequential([layers.Input((width,)), layers.Dense(3), layers.Dense(width)])
    make = [
        lambda x, _: shared(x),
        lambda x, _: inner(x),
        lambda x, y: layers.Add()([x, y]),
        lambda x, y: x * y,
        lambda x, _: layers.BatchNormalization()(x),
        lambda x, _: layers.Dropout(0.5)(layers.Activation("relu")(x)),
    ]
    tensors = [layers.Dense(width)(inputs)]
    for choice, one, other in steps:
        x, y = tensors[one % len(tensors)], tensors[other % len(tensors)]
        tensors.append(make[choice](x, y))
    model = keras.Model(inputs, tensors[-1])
    for layer, is_frozen in zip(model.layers, frozen, strict=False):
        layer.trainable = not is_frozen
    return model


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(SIZES, SIZES, STEPS, st.lists(st.booleans(), max_size=8))
def test_random_models_are_exact(n_inputs: int, width: int, steps: Any, frozen: list[bool]):
    model = compiled(random_model(n_inputs, width, steps, frozen))

    check_against_the_real_ones(model)
    layout = read_layout(model)
    assert layout.why_no_calls == ""
    outputs = [layout.tensors[each].shape for each in layout.outputs]
    assert outputs == [tuple(each.shape) for each in model.outputs]


@pytest.mark.slow
def test_nested_models_are_taken_apart_and_their_calls_counted():
    inner = keras.Sequential([layers.Input((4,)), layers.Dense(4, name="d")], name="inner")
    inputs = layers.Input((4,))
    layout = read_layout(compiled(keras.Model(inputs, inner(inner(inputs)))))

    assert [each.path for each in layout.layers] == ["inner/d"]
    assert len(layout.calls) == 2
    assert layout.calls[1].inputs == layout.calls[0].outputs


@pytest.mark.slow
def test_other_input_shapes_are_followed_to_the_end():
    inputs = layers.Input((None, None, 3))
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(4, 3)(inputs))
    model = keras.Model(inputs, layers.Dense(2)(x))

    layout = read_layout(model, [(None, 10, 12, 3)])

    assert [each.shape for each in layout.tensors] == [
        (None, 10, 12, 3), (None, 8, 10, 4), (None, 4), (None, 2),
    ]  # fmt: skip
    assert model.inputs[0].shape == (None, None, None, 3)


def test_lengths_that_a_layer_of_keras_forgets_are_those_of_the_call():
    inputs = layers.Input((6, 4))
    x = layers.EinsumDense("abc,cd->abd", (None, 5))(inputs)
    model = keras.Model(inputs, layers.LSTM(3)(x))
    assert x.shape == (None, None, 5)

    layout = read_layout(model)

    assert [each.shape for each in layout.tensors] == [(None, 6, 4), (None, 6, 5), (None, 3)]


def test_shapes_that_the_weights_do_not_take_are_refused():
    model = keras.Sequential([layers.Input((4, 4)), layers.Flatten(), layers.Dense(2)])

    with pytest.raises(WrongShape, match="built for 16"):
        read_layout(model, [(None, 5, 4)])


def test_a_model_of_the_users_own_code_is_not_guessed():
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.inside = layers.Dense(3)

        def call(self, inputs: Any) -> Any:  # pyright: ignore[reportImplicitOverride]
            return self.inside(inputs)

    model = Own()
    model(keras.ops.zeros((1, 4)))

    layout = read_layout(model)

    assert layout.calls == ()
    assert "Own" in layout.why_no_calls
    assert sum(map(variable_bytes, layout.variables)) == 4 * (4 * 3 + 3)


def test_describing_changes_nothing_in_the_model():
    model = compiled(keras.Sequential([layers.Input((4,)), layers.Dense(2)]))
    before = [each.copy() for each in model.get_weights()], len(model.layers[0]._inbound_nodes)

    read_layout(model, [(None, 4)])

    after = model.get_weights(), len(model.layers[0]._inbound_nodes)
    assert all((a == b).all() for a, b in zip(before[0], after[0], strict=True))
    assert before[1] == after[1]


NO_RULE = {
    "InputLayer", "Layer", "Lambda", "Wrapper", "Pipeline", "StackedRNNCells", "RNN", "InputSpec",
    "TFSMLayer", "JaxLayer", "FlaxLayer", "TorchModuleWrapper", "LSTMCell", "GRUCell",
    "SimpleRNNCell", "AugMix", "AutoContrast", "ContrastLimitedAdaptiveHistogramEqualization",
    "CutMix", "MixUp", "Equalization", "RandAugment", "Solarization", "MaxNumBoundingBoxes",
}  # fmt: skip
"""Layers that hold others, run foreign code, or change pictures before a model sees them."""


def test_every_other_layer_of_keras_has_a_rule():
    kinds = [name for name in dir(layers) if isinstance(getattr(layers, name), type)]

    assert [name for name in kinds if name not in NO_RULE and rule_of(name) is None] == []
