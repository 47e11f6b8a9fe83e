# pyright: reportImplicitOverride=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportOptionalMemberAccess=false
"""A training script of several fits on TensorFlow, of which each may be restarted.

`python -m tests.support.restart_script SCENARIO RESULT.json [FIT:EPOCH ...]`, see `run_script`.
"""

import random
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from tests.support.restarted_script import (
    BATCH,
    FITS,
    SAMPLES,
    Script,
    arrays,
    batches,
    run_script,
)


def dense(**compiled: Any) -> Any:
    """A small model with Dropout and BatchNorm."""
    model = keras.Sequential(
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
    """Three folds over arrays that numpy has shuffled, each model evaluated afterwards."""
    x, y = arrays()
    order = np.random.permutation(len(x))
    for held_out in np.array_split(order, FITS):
        rest = np.setdiff1d(order, held_out)
        np.random.shuffle(rest)
        model = dense()
        script.fit(
            model,
            x=x[rest],
            y=y[rest],
            batch_size=BATCH,
            validation_data=(x[held_out], y[held_out]),
        )
        script.tell(score=model.evaluate(x[held_out], y[held_out], verbose=0))


def tf_data(script: Script) -> None:
    """One dataset for all fits: it reshuffles for every iterator; validation likewise."""
    x, y = arrays()

    def noisy(x: Any, y: Any) -> Any:
        return x + tf.random.uniform(tf.shape(x), -0.1, 0.1), y

    whole = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(SAMPLES)
    data = whole.batch(BATCH).map(noisy).prefetch(2)
    validation = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(SAMPLES).batch(16)
    for _ in range(FITS):
        script.fit(dense(), x=data, validation_data=validation)


def stopping(script: Script) -> None:
    """EarlyStopping with best weights and ReduceLROnPlateau, which end fits early."""
    x, y = arrays()
    for patience in range(1, FITS + 1):
        script.fit(
            dense(optimizer=keras.optimizers.Adam(0.05)),
            keras.callbacks.ReduceLROnPlateau("val_loss", patience=1, factor=0.5, min_delta=0.05),
            keras.callbacks.EarlyStopping(
                "val_loss", patience=patience, min_delta=0.05, restore_best_weights=True
            ),
            x=x,
            y=y,
            batch_size=BATCH,
            validation_split=0.25,
            epochs=8,
        )


class Blocks(keras.Model):
    """Unbuilt until its first fit, with its own step."""

    def __init__(self) -> None:
        super().__init__()
        self.first = layers.Dense(8, activation="relu")
        self.drop = layers.Dropout(0.4)
        self.last = layers.Dense(1)

    def call(self, inputs: Any, training: bool = False) -> Any:  # noqa: FBT001, FBT002
        return self.last(self.drop(self.first(inputs), training=training))

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x + keras.random.normal(x.shape), training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


def unbuilt(script: Script) -> None:
    """Subclassed models that no one builds, whose step draws without its own seed."""
    x, y = arrays()
    for _ in range(FITS):
        model = Blocks()
        model.compile(optimizer=keras.optimizers.AdamW(0.01), loss="mse")
        script.fit(model, x=x, y=y, batch_size=BATCH)


def generator(script: Script) -> None:
    """A generator for each fit, eaten by steps that do not meet its end."""
    x, y = arrays()
    for _ in range(FITS):
        script.fit(
            dense(),
            x=batches(x, y),
            steps_per_epoch=4,
            validation_data=batches(x[::-1], y[::-1]),
            validation_steps=2,
        )


def repeated(script: Script) -> None:
    """A repeated dataset by steps, averaged weights, a schedule, several steps an execution."""
    x, y = arrays()
    for _ in range(FITS):
        data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(20).repeat().batch(BATCH)
        optimizer = keras.optimizers.AdamW(
            keras.optimizers.schedules.ExponentialDecay(0.01, 5, 0.9), use_ema=True
        )
        script.fit(dense(optimizer=optimizer, steps_per_execution=2), x=data, steps_per_epoch=4)


class Pair(keras.Model):
    """Two optimizers, one of them only known to the step."""

    def __init__(self) -> None:
        super().__init__()
        self.left = layers.Dense(1)
        self.right = layers.Dense(1)
        self.other = keras.optimizers.RMSprop(0.01)

    def call(self, inputs: Any) -> Any:
        return self.left(inputs) + self.right(inputs)

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape(persistent=True) as tape:
            loss = self.compute_loss(x, y, self(x))
        for part, optimizer in ((self.left, self.optimizer), (self.right, self.other)):
            weights = part.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": loss}


def two_optimizers(script: Script) -> None:
    """A step that applies two optimizers, neither built before it."""
    x, y = arrays()
    for _ in range(FITS):
        model = Pair()
        model.compile(optimizer="adam", loss="mse")
        script.fit(model, x=x, y=y, batch_size=BATCH)


class Adversaries(keras.Model):
    """Never built itself: two parts, one of them built by its first step, two optimizers."""

    def __init__(self) -> None:
        super().__init__()
        self.judge = keras.Sequential(
            [layers.Dense(4, "tanh"), layers.Dropout(0.2), layers.Dense(1)]
        )
        self.maker = keras.Sequential([layers.Input((3,)), layers.Dense(6)])
        self.seeds = keras.random.SeedGenerator(5)

    def compile(self, **optimizers: Any) -> None:
        super().compile()
        self.optimizers = (optimizers["judge"], optimizers["maker"])
        self.tracker = keras.metrics.Mean(name="judged")

    @property
    def metrics(self) -> list[Any]:
        return [self.tracker]

    def train_step(self, data: Any) -> Any:
        real, _ = data
        with tf.GradientTape(persistent=True) as tape:
            fake = self.maker(keras.random.normal((tf.shape(real)[0], 3), seed=self.seeds))
            apart = self.judge(fake, training=True) - self.judge(real, training=True)
            judged = tf.reduce_mean(tf.nn.softplus(apart))
            made = tf.reduce_mean(tf.nn.softplus(-apart))
        for loss, part, optimizer in (
            (judged, self.judge, self.optimizers[0]),
            (made, self.maker, self.optimizers[1]),
        ):
            weights = part.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        self.tracker.update_state(judged)
        return {"judged": self.tracker.result()}


def adversaries(script: Script) -> None:
    """A model as a GAN is written, which Keras never builds."""
    x, y = arrays()
    for _ in range(FITS):
        model = Adversaries()
        model.compile(judge=keras.optimizers.Adam(0.01), maker=keras.optimizers.RMSprop(0.01))
        script.fit(model, x=x, y=y, batch_size=BATCH)


class Jitter(keras.callbacks.Callback):
    """A user's callback: plain attributes, and draws at every epoch's begin."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[float] = []
        self.largest = np.zeros(2)
        self.by_epoch: dict[int, tuple[float, ...]] = {}

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.drawn.append(random.random() + np.random.rand())  # noqa: S311
        self.model.optimizer.learning_rate = 0.01 * (1 + self.drawn[-1])

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.by_epoch[epoch] = (float(logs["loss"]),)
        self.largest = np.maximum(self.largest, logs["loss"])


class Pieces(keras.utils.PyDataset):
    """Batches by index."""

    def __len__(self) -> int:
        return SAMPLES // BATCH

    def __getitem__(self, index: int) -> Any:
        x, y = arrays()
        return x[index * BATCH : (index + 1) * BATCH], y[index * BATCH : (index + 1) * BATCH]


def users_own(script: Script) -> None:
    """A user's callback, a PyDataset, a dataset of unknown length, mixed precision."""
    x, y = arrays()
    script.fit(dense(), Jitter(), x=Pieces(), validation_data=(x, y))
    unknown = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(SAMPLES).filter(lambda *_: True)
    script.fit(dense(), Jitter(), x=unknown.batch(BATCH))
    keras.mixed_precision.set_dtype_policy("mixed_float16")
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.01))
    script.fit(dense(optimizer=optimizer), Jitter(), x=x, y=y, batch_size=BATCH, epochs=6)


SCENARIOS: dict[str, Callable[[Script], None]] = {
    each.__name__: each
    for each in (
        cross_validation,
        tf_data,
        stopping,
        unbuilt,
        generator,
        repeated,
        two_optimizers,
        adversaries,
        users_own,
    )
}


if __name__ == "__main__":
    run_script(SCENARIOS, keras.utils.set_random_seed)
