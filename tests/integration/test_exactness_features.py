# pyright: reportImplicitOverride=false, reportArgumentType=false, reportCallIssue=false
"""Reload is exact with the features of Keras that a training may use; slow ones run in full."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.support.reloading import (
    BATCH,
    KERAS,
    Reclaim,
    Training,
    arrays,
    dense_layers,
    dense_model,
)

pytestmark = [*KERAS, pytest.mark.slow]
full = pytest.mark.full


class OwnStep(keras.Model):
    """A subclassed model with a `train_step` of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = keras.layers.Dense(8, activation="relu")
        self.drop = keras.layers.Dropout(0.3)
        self.out = keras.layers.Dense(1)

    def call(self, inputs: Any, *, training: bool = False) -> Any:
        return self.out(self.drop(self.hidden(inputs), training=training))

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


class UnseededNoise(keras.layers.Layer):
    """Draws from Keras' global seed generator, which no model owns."""

    def call(self, inputs: Any) -> Any:
        return inputs + 0.1 * keras.random.normal(keras.ops.shape(inputs))


class OwnGenerator(keras.layers.Layer):
    """Draws from a `tf.random.Generator`, whose state is a variable that Keras does not know."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = tf.random.Generator.from_seed(11)

    def call(self, inputs: Any) -> Any:
        return inputs + 0.1 * self.generator.normal(tf.shape(inputs))


class Batches(keras.utils.PyDataset):
    """A dataset in Python."""

    def __init__(self) -> None:
        super().__init__()
        self._data = arrays()

    def __len__(self) -> int:
        return len(self._data["x"]) // BATCH

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        rows = slice(index * BATCH, (index + 1) * BATCH)
        return self._data["x"][rows], self._data["y"][rows]


def own_step() -> Any:
    model = OwnStep()
    model.compile(optimizer="adam", loss="mse")
    return model


def with_layer(layer: type[keras.layers.Layer]) -> Any:
    model = keras.Sequential([keras.Input((8,)), layer(), *dense_layers()])
    model.compile(optimizer="adam", loss="mse")
    return model


def decayed() -> Any:
    schedule = keras.optimizers.schedules.ExponentialDecay(0.05, 3, 0.8)
    return dense_model(optimizer=keras.optimizers.AdamW(schedule, weight_decay=0.01))


def mixed_precision() -> Any:
    previous = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    try:
        return dense_model()
    finally:
        keras.config.set_dtype_policy(previous)


def lstm() -> Any:
    model = keras.Sequential(
        [
            keras.Input((8,), batch_size=BATCH),
            keras.layers.Reshape((4, 2)),
            keras.layers.LSTM(4, stateful=True, dropout=0.2),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer="rmsprop", loss="mse")
    return model


def two_outputs() -> Any:
    inputs = keras.Input((8,))
    shared = keras.layers.Dense(8, activation="gelu")(inputs)
    first = keras.layers.Dense(1, name="first")(keras.layers.Dropout(0.2)(shared))
    second = keras.layers.Dense(1, name="second")(shared)
    model = keras.Model(inputs, {"first": first, "second": second})
    model.compile(optimizer="adam", loss={"first": "mse", "second": "mae"})
    return model


def two_targets() -> dict[str, Any]:
    data = arrays(validation=False)
    return data | {"y": {"first": data["y"], "second": data["y"] * 2}}


def generated() -> dict[str, Any]:
    def forever() -> Iterator[tuple[Any, Any]]:
        data = arrays()
        random = np.random.default_rng(3)
        while True:
            rows = random.integers(0, len(data["x"]), BATCH)
            yield data["x"][rows], data["y"][rows]

    return {"x": forever(), "steps_per_epoch": 5, "shuffle": False}


def augmented() -> dict[str, Any]:
    data = arrays()
    noisy = tf.data.Dataset.from_tensor_slices((data["x"], data["y"])).map(
        lambda x, y: (x + tf.random.normal((8,), stddev=0.1), y)
    )
    pipeline = noisy.cache().shuffle(48).repeat().batch(BATCH)
    return {"x": pipeline, "steps_per_epoch": 5, "shuffle": False}


def whole_executions() -> dict[str, Any]:
    # Keras 3.6 warns when the batches are no multiple of the steps in one execution.
    data = arrays()
    return data | {"validation_data": (data["x"][: 3 * BATCH], data["y"][: 3 * BATCH])}


def no_validation() -> dict[str, Any]:
    return arrays(validation=False)


TRAININGS = [
    pytest.param(Training(decayed), id="AdamW with a schedule", marks=full),
    pytest.param(Training(own_step, data=no_validation), id="train_step of its own"),
    pytest.param(Training(mixed_precision), id="mixed precision with loss scale", marks=full),
    pytest.param(Training(lambda: with_layer(UnseededNoise)), id="keras.random without a seed"),
    pytest.param(
        Training(lambda: dense_model(metrics=["AUC", keras.metrics.F1Score(threshold=0.5)])),
        id="AUC and F1",
        marks=full,
    ),
    pytest.param(Training(dense_model, data=generated), id="generator", marks=full),
    pytest.param(
        Training(lambda: dense_model(steps_per_execution=3), data=whole_executions),
        id="steps_per_execution",
        marks=full,
    ),
    pytest.param(Training(lambda: dense_model(run_eagerly=True)), id="run_eagerly", marks=full),
    pytest.param(
        Training(lambda: dense_model(optimizer=keras.optimizers.Adam(use_ema=True))),
        id="EMA",
        marks=full,
    ),
    pytest.param(Training(dense_model, data=lambda: {"x": Batches()}), id="PyDataset", marks=full),
    pytest.param(Training(lambda: dense_model(jit_compile=True)), id="jit_compile", marks=full),
    pytest.param(Training(lambda: with_layer(OwnGenerator)), id="tf.random.Generator", marks=full),
    pytest.param(Training(lstm, fit={"shuffle": False}), id="stateful LSTM", marks=full),
    pytest.param(Training(two_outputs, data=two_targets), id="two outputs", marks=full),
    pytest.param(Training(dense_model, data=augmented), id="tf.data with noise", marks=full),
    pytest.param(
        Training(
            lambda: dense_model(optimizer=keras.optimizers.Adam(gradient_accumulation_steps=2))
        ),
        id="gradient accumulation",
        marks=full,
    ),
    pytest.param(
        Training(
            dense_model,
            callbacks=lambda: [keras.callbacks.EarlyStopping("loss", patience=1, min_delta=1.0)],
            epochs=6,
        ),
        id="EarlyStopping",
        marks=full,
    ),
]


@pytest.mark.parametrize("training", TRAININGS)
def test_reload_is_exact(training: Training, tmp_path: Path):
    uninterrupted = training.run()
    callback = Reclaim(tmp_path, epochs=[0], batches=[(1, 2)])

    reloaded = training.run(callback)

    assert callback.outcomes
    assert [outcome.why for outcome in callback.outcomes] == [""] * len(callback.outcomes)
    reloaded.assert_same(uninterrupted)


class StatefulNoise(keras.layers.Layer):
    """Draws from an operation that counts for itself."""

    def call(self, inputs: Any) -> Any:
        return inputs + tf.random.normal(tf.shape(inputs))


def test_stateful_random_operations_are_announced_as_not_exact(tmp_path: Path):
    callback = Reclaim(tmp_path, epochs=[0])

    Training(lambda: with_layer(StatefulNoise), epochs=1).run(callback)

    (outcome,) = callback.outcomes
    assert outcome.ok
    assert "not exact" in outcome.why
    assert "RandomStandardNormal" in outcome.why


@full
def test_reload_inside_a_strategy_scope_is_exact_and_leaves_the_session(tmp_path: Path):
    training = Training(dense_model, epochs=2)
    callback = Reclaim(tmp_path, epochs=[0])

    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        expected = training.run()
        reloaded = training.run(callback)

    (outcome,) = callback.outcomes
    assert outcome.ok
    assert "strategy.scope()" in outcome.why
    reloaded.assert_same(expected)
