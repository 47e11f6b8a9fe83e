"""A model described from its file alone is the model that Keras makes of it."""

# pyright: reportArgumentType=false
import contextlib
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

keras: Any = pytest.importorskip("keras")

from kmonitor.base.errors import UserError  # noqa: E402 - after the skip
from kmonitor.memory.calibration import measurement_key  # noqa: E402 - after the skip
from kmonitor.memory.estimate import Plan, estimate  # noqa: E402
from kmonitor.memory.model_files.file_layout import layout_of_file  # noqa: E402
from kmonitor.memory.model_files.output_shapes import CannotTell  # noqa: E402
from kmonitor_agent.frameworks.layout_reader import read_layout  # noqa: E402
from kmonitor_agent.wire.messages.model_layout import ModelLayout, VariableLayout  # noqa: E402
from tests.support.model_files import CONFIG, write_archive  # noqa: E402

pytestmark = pytest.mark.slow

L = keras.layers
PICTURE, SERIES, FILM = (8, 8, 4), (6, 4), (3, 8, 8, 2)

WITH_WEIGHTS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "Dense": (lambda: L.Dense(3, activation="gelu"), SERIES),
    "EinsumDense": (lambda: L.EinsumDense("abc,cd->abd", (6, 5), bias_axes="d"), SERIES),
    "Embedding": (lambda: L.Embedding(20, 4), (6,)),
    **{
        f"Conv{n}D": (lambda n=n: getattr(L, f"Conv{n}D")(3, 2, strides=2), (9, 8, 8, 4)[-n - 1 :])
        for n in (1, 2, 3)
    },
    **{
        f"Conv{n}DTranspose": (
            lambda n=n: getattr(L, f"Conv{n}DTranspose")(3, 3, strides=2, padding="same"),
            (5, 4, 4, 4)[-n - 1 :],
        )
        for n in (1, 2, 3)
    },
    "DepthwiseConv1D": (lambda: L.DepthwiseConv1D(3, depth_multiplier=2), SERIES),
    "DepthwiseConv2D": (lambda: L.DepthwiseConv2D(3, padding="same"), PICTURE),
    "SeparableConv1D": (lambda: L.SeparableConv1D(5, 3), SERIES),
    "SeparableConv2D": (lambda: L.SeparableConv2D(5, 3, dilation_rate=2), PICTURE),
    "LSTM": (lambda: L.LSTM(5, return_sequences=True), SERIES),
    "GRU": (lambda: L.GRU(5, dropout=0.1), SERIES),
    "SimpleRNN": (lambda: L.SimpleRNN(5), SERIES),
    "RNN": (lambda: L.RNN([L.LSTMCell(3), L.GRUCell(4)]), SERIES),
    "Bidirectional": (lambda: L.Bidirectional(L.LSTM(3, return_sequences=True)), SERIES),
    "TimeDistributed": (lambda: L.TimeDistributed(L.BatchNormalization()), FILM),
    "ConvLSTM1D": (lambda: L.ConvLSTM1D(3, 2), (3, 8, 2)),
    "ConvLSTM2D": (lambda: L.ConvLSTM2D(3, 2), FILM),
    "BatchNormalization": (lambda: L.BatchNormalization(scale=False), PICTURE),
    "LayerNormalization": (L.LayerNormalization, SERIES),
    "GroupNormalization": (lambda: L.GroupNormalization(2), PICTURE),
    "UnitNormalization": (L.UnitNormalization, SERIES),
    "SpectralNormalization": (lambda: L.SpectralNormalization(L.Conv2D(3, 2)), PICTURE),
    "Normalization": (L.Normalization, SERIES),
    "PReLU": (lambda: L.PReLU(shared_axes=[1, 2]), PICTURE),
    "punished": (lambda: L.Dense(3, kernel_regularizer="l2"), SERIES),
    "frozen": (lambda: L.Dense(3, trainable=False), SERIES),
    "of a precision of its own": (lambda: L.Dense(3, dtype="mixed_float16"), SERIES),
    "Dropout": (lambda: L.Dropout(0.5), SERIES),
}
"""Every kind of layer of one input that has weights, and some that have seeds."""

if hasattr(L, "RMSNormalization"):  # Keras 3.6, the oldest that is promised, has none
    WITH_WEIGHTS["RMSNormalization"] = (L.RMSNormalization, SERIES)


def saved(model: Any, path: Path, optimizer: Any = "adam") -> ModelLayout:
    """The model's own description; its file lies at `path`."""
    model.compile(optimizer, "mse", jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy 2 about Keras' variables
        model.save(path)
    return read_layout(model)


def variables(found: tuple[VariableLayout, ...] | None) -> list[tuple[Any, ...]]:
    return sorted((each.shape, each.dtype, each.is_trainable) for each in found or ())


def see_same(real: ModelLayout, told: ModelLayout) -> None:
    assert variables(told.variables) == variables(real.variables)
    assert real.optimizer is not None
    assert told.optimizer is not None
    if told.optimizer.slots is not None:
        assert variables(told.optimizer.slots) == variables(real.optimizer.slots)
    assert estimate(told, Plan(1)).slot_bytes == estimate(real, Plan(1)).slot_bytes
    assert _calls(told) == _calls(real)
    assert estimate(told, Plan(16)).peak_bytes == estimate(real, Plan(16)).peak_bytes
    assert measurement_key(told, Plan(1), "") == measurement_key(real, Plan(1), "")


def _calls(layout: ModelLayout) -> list[tuple[Any, ...]]:
    tensors, layers = layout.tensors, layout.layers
    return [
        (layers[each.layer].path, layers[each.layer].kind, layers[each.layer].is_own,
         [tensors[place] for place in each.inputs], [tensors[place] for place in each.outputs],
         sorted(layout.variables[place].shape for place in layers[each.layer].variables))
        for each in layout.calls
    ]  # fmt: skip


@pytest.mark.parametrize("name", WITH_WEIGHTS)
def test_every_kind_of_layer_has_its_variables_slots_and_shapes(name: str, tmp_path: Path):
    make, shape = WITH_WEIGHTS[name]
    inputs = keras.Input(shape, dtype="int32" if name == "Embedding" else "float32")
    model = keras.Model(inputs, L.Dense(2)(L.Flatten()(make()(inputs))))

    real = saved(model, tmp_path / "model.keras")

    see_same(real, layout_of_file(tmp_path / "model.keras"))


@pytest.mark.parametrize("kind", ["MultiHeadAttention", "GroupQueryAttention", "Attention"])
def test_layers_of_several_inputs_too(kind: str, tmp_path: Path):
    one, other = keras.Input(SERIES), keras.Input((5, 4))
    layer = {
        "MultiHeadAttention": lambda: L.MultiHeadAttention(2, 3, dropout=0.1)(one, other),
        "GroupQueryAttention": lambda: L.GroupQueryAttention(3, 4, 2)(one, other),
        "Attention": lambda: L.Attention(use_scale=True)([one, other]),
    }[kind]
    model = keras.Model([one, other], L.GlobalAveragePooling1D()(layer() + one))

    real = saved(model, tmp_path / "model.keras")

    see_same(real, layout_of_file(tmp_path / "model.keras"))


@pytest.mark.parametrize(
    "optimizer",
    ["sgd", "rmsprop", "adamw", "nadam", "adafactor", "lion", "ftrl",
     lambda: keras.optimizers.SGD(momentum=0.9, use_ema=True),
     lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(amsgrad=True))],
)  # fmt: skip
def test_slots_are_those_of_the_optimizer(optimizer: Any, tmp_path: Path):
    model = keras.Sequential([keras.Input((5,)), L.Dense(4), L.Dense(3)])

    real = saved(model, tmp_path / "m.keras", optimizer() if callable(optimizer) else optimizer)

    see_same(real, layout_of_file(tmp_path / "m.keras"))


@pytest.mark.parametrize("seed", range(12))
def test_random_models_with_branches_shared_layers_and_models_inside(seed: int, tmp_path: Path):
    model = random_model(random.Random(seed))  # noqa: S311 - no secret

    real = saved(model, tmp_path / "model.keras")

    see_same(real, layout_of_file(tmp_path / "model.keras"))


def random_model(rng: random.Random) -> Any:
    """Layers on tensors of one shape, so that any two can meet."""
    n = rng.choice((3, 4))
    inputs = [keras.Input((6, 6, n)) for _ in range(rng.choice((1, 2)))]
    shared = [L.Conv2D(n, 3, padding="same"), block(n, rng), tower(n, rng)]
    tensors = list(inputs)
    for _ in range(rng.randint(4, 10)):
        x, y = rng.choice(tensors), rng.choice(tensors)
        made = rng.choice(
            [
                lambda x=x: rng.choice(shared)(x),
                lambda x=x: L.DepthwiseConv2D(3, padding="same", activation="silu")(x),
                lambda x=x: L.BatchNormalization(trainable=rng.random() < 0.5)(x),
                lambda x=x, y=y: L.Add()([x, y]),
                lambda x=x, y=y: x * y,
                lambda x=x, y=y: L.Conv2D(n, 1)(L.Concatenate()([x, y])),
                lambda x=x: keras.ops.relu(L.Dropout(0.2)(x)),
                lambda x=x: L.UpSampling2D()(L.MaxPooling2D()(x)),
            ]
        )()
        tensors.append(made)
    end = L.GlobalAveragePooling2D()(tensors[-1])
    heads = [L.Dense(2)(end), L.Softmax()(end)]
    outputs = heads if rng.random() < 0.5 else heads[0]
    used = [each for each in inputs if each is tensors[0] or len(inputs) > 1]
    return keras.Model(used, outputs)


def block(n: int, rng: random.Random) -> Any:
    """A chain, frozen or not."""
    parts = [L.SeparableConv2D(n, 3, padding="same"), L.BatchNormalization(), L.ReLU()]
    found = keras.Sequential([keras.Input((6, 6, n)), *parts])
    found.trainable = rng.random() < 0.5
    return found


def tower(n: int, rng: random.Random) -> Any:
    """A functional model with a model in it."""
    inputs = keras.Input((6, 6, n))
    return keras.Model(inputs, L.Add()([block(n, rng)(inputs), inputs]))


def test_open_lengths_stay_open(tmp_path: Path):
    inputs = keras.Input((None, 8))
    model = keras.Model(inputs, L.GlobalAveragePooling1D()(L.Conv1D(4, 3)(inputs)))

    saved(model, tmp_path / "model.keras")

    assert layout_of_file(tmp_path / "model.keras").tensors[1].shape == (None, None, 4)


def test_what_only_a_framework_knows_is_not_guessed(tmp_path: Path):
    inputs = keras.Input((4,))
    model = keras.Model(inputs, keras.ops.einsum("bi,bj->bij", inputs, inputs))
    model.compile("adam", "mse")
    model.save(tmp_path / "model.keras")

    with pytest.raises(CannotTell, match="Einsum"):
        layout_of_file(tmp_path / "model.keras")


def test_lengths_that_the_file_forgets_are_not_taken_for_open_ones(tmp_path: Path):
    inputs = keras.Input(SERIES)
    x = L.EinsumDense("abc,cd->abd", (None, 5))(inputs)
    saved(keras.Model(inputs, L.LSTM(3)(x)), tmp_path / "model.keras")

    with pytest.raises(CannotTell, match="EinsumDense"):
        layout_of_file(tmp_path / "model.keras")


def test_what_was_quantized_is_left_to_a_framework(tmp_path: Path):
    dtype = {"class_name": "QuantizedDTypePolicy",
             "config": {"mode": "int8", "source_name": "float32"}}  # fmt: skip
    wide = {"module": "keras.layers", "class_name": "Dense",
            "config": {"name": "wide", "units": 5, "dtype": dtype}}  # fmt: skip
    config = {**CONFIG, "config": {"layers": [wide], "build_input_shape": [None, 4]}}

    with pytest.raises(CannotTell, match="int8_from_float32"):
        layout_of_file(write_archive(tmp_path / "model.keras", config=config))


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in (1, 2, 3, 4))]
)
def test_damage_anywhere_is_an_error_or_changes_only_what_is_told(seed: int, tmp_path: Path):
    path = tmp_path / "model.keras"
    saved(random_model(random.Random(7)), path)  # noqa: S311 - no secret
    whole = path.read_bytes()
    rng = random.Random(seed)  # noqa: S311 - likewise

    for _ in range(12):
        damage = bytearray(whole)
        for _ in range(rng.choice((1, 8, 64))):
            damage[rng.randrange(len(damage))] = rng.randrange(256)
        path.write_bytes(damage[: rng.randrange(len(damage))] if rng.random() < 0.3 else damage)
        with contextlib.suppress(CannotTell, UserError):
            layout_of_file(path)
