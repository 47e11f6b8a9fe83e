# pyright: basic, reportMissingImports=false, reportImplicitOverride=false
"""A training script of several fits on tf_keras 2, of which each may be restarted.

`python -m tests.frameworks.tf_keras.restart_script SCENARIO RESULT.json [FIT:EPOCH ...]`, see
`run_script`.
"""

import importlib
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.restarted_script import (
    BATCH,
    FITS,
    SAMPLES,
    Script,
    arrays,
    batches,
    run_script,
)

tf_keras: Any = importlib.import_module("tf_keras")
layers = tf_keras.layers


def dense(**compiled: Any) -> Any:
    """A small model with Dropout, by its own generator, and BatchNorm."""
    tf_keras.backend.experimental.enable_tf_random_generator()
    model = tf_keras.Sequential(
        [
            layers.Input((6,)),
            layers.Dense(8, activation="relu"),
            layers.BatchNormalization(),
            layers.Dropout(0.3),
            layers.Dense(1),
        ]
    )
    model.compile(**{"optimizer": "adam", "loss": "mse", "metrics": ["mae"], **compiled})
    return model


def cross_validation(script: Script) -> None:
    """Three folds over arrays, one shuffled iterator a fit, and callbacks that watch them."""
    x, y = arrays()
    order = np.random.permutation(len(x))
    for held_out in np.array_split(order, FITS):
        rest = np.setdiff1d(order, held_out)
        np.random.shuffle(rest)
        model = dense()
        script.fit(
            model,
            tf_keras.callbacks.ReduceLROnPlateau(
                "val_loss", patience=1, factor=0.5, min_delta=0.05
            ),
            tf_keras.callbacks.EarlyStopping(
                "val_loss", patience=2, min_delta=0.05, restore_best_weights=True
            ),
            x=x[rest],
            y=y[rest],
            batch_size=BATCH,
            validation_data=(x[held_out], y[held_out]),
        )
        script.tell(score=model.evaluate(x[held_out], y[held_out], verbose=0))


def tf_data(script: Script) -> None:
    """Datasets that reshuffle for every iterator: by length, by steps, of unknown length."""
    x, y = arrays()
    whole = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(SAMPLES)
    data = whole.batch(BATCH)
    validation = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(SAMPLES).batch(16)
    optimizer = tf_keras.optimizers.legacy.Adam(0.01)
    script.fit(dense(optimizer=optimizer), x=data, validation_data=validation)
    optimizer = tf_keras.optimizers.AdamW(
        tf_keras.optimizers.schedules.ExponentialDecay(0.01, 5, 0.9), use_ema=True
    )
    model = dense(optimizer=optimizer, steps_per_execution=2)
    repeated = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(20).repeat().batch(BATCH)
    script.fit(model, x=repeated, steps_per_epoch=4)
    unknown = whole.filter(lambda *_: True).batch(BATCH)
    script.fit(dense(), x=unknown, validation_data=unknown)


class Pieces(tf_keras.utils.Sequence):
    """Batches by index, in an order that is redrawn when an epoch ends."""

    def __init__(self) -> None:
        self.data = arrays()
        self.order = np.arange(SAMPLES)

    def __len__(self) -> int:
        return SAMPLES // BATCH

    def __getitem__(self, index: int) -> Any:
        picked = self.order[index * BATCH : (index + 1) * BATCH]
        return self.data[0][picked], self.data[1][picked]

    def on_epoch_end(self) -> None:
        np.random.shuffle(self.order)


class Unbuilt(tf_keras.Model):
    """No one builds it before its first step, which draws from its own generator."""

    def __init__(self) -> None:
        super().__init__()
        self.first = layers.Dense(8, activation="relu")
        self.last = layers.Dense(1)
        self.generator = tf.random.Generator.from_seed(4)
        self.tracker = tf_keras.metrics.Mean(name="own")

    def call(self, inputs: Any) -> Any:
        return self.last(self.first(inputs))

    def train_step(self, data: Any) -> Any:
        x, y = data
        x = x + self.generator.normal(tf.shape(x))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
        found = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(found, self.trainable_variables, strict=True))
        self.tracker.update_state(loss)
        return {"own": self.tracker.result()}

    @property
    def metrics(self) -> list[Any]:
        return [self.tracker]


class Drawing(tf_keras.callbacks.Callback):
    """A user's callback: plain attributes, and draws at every epoch's begin."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[float] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.drawn.append(random.random())  # noqa: S311


def others(script: Script) -> None:
    """A Sequence for an unbuilt model, a generator, eager steps with a loss scale."""
    x, y = arrays()
    model = Unbuilt()
    model.compile(optimizer=tf_keras.optimizers.legacy.SGD(0.01, momentum=0.9))
    script.fit(model, Drawing(), x=Pieces())
    script.fit(dense(), Drawing(), x=batches(x, y), steps_per_epoch=4)
    optimizer = tf_keras.mixed_precision.LossScaleOptimizer(tf_keras.optimizers.Adam(0.01))
    model = dense(optimizer=optimizer, run_eagerly=True)
    script.fit(model, Drawing(), x=x, y=y, batch_size=BATCH, shuffle="batch")


SCENARIOS: dict[str, Callable[[Script], None]] = {
    each.__name__: each for each in (cross_validation, tf_data, others)
}

if __name__ == "__main__":
    run_script(SCENARIOS, tf_keras.utils.set_random_seed)
