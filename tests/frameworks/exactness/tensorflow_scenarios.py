# pyright: reportImplicitOverride=false, reportArgumentType=false, reportCallIssue=false
"""Trainings that use TensorFlow itself."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from tests.frameworks.exactness import data, models
from tests.frameworks.exactness.data import BATCH, FEATURES, SAMPLES, Data
from tests.support.exactness import Scenario

RATE = 0.01


class OwnStep(models.Subclassed):
    """Its own `train_step`."""

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"own": loss}


class TwoOptimizers(models.Subclassed):
    """Body and head trained by their own optimizers."""

    def __init__(self) -> None:
        super().__init__()
        self.head_optimizer = keras.optimizers.SGD(RATE, momentum=0.9)

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        parts = (self.hidden.trainable_variables, self.out.trainable_variables)
        gradients = tape.gradient(loss, parts)
        optimizers = (self.optimizer, self.head_optimizer)
        for optimizer, part, found in zip(optimizers, parts, gradients, strict=True):
            optimizer.apply_gradients(zip(found, part, strict=True))
        return {"own": loss}


class TracedByScript(models.Subclassed):
    """Its forward pass is a tf.function of the script, which keeps what it captured."""

    @tf.function
    def forward(self, x: Any) -> Any:
        return self.out(self.drop(self.hidden(x), training=True))

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=y, y_pred=self.forward(x))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"own": loss}


class OwnGenerator(keras.layers.Layer):
    """Draws from a `tf.random.Generator`, whose state is a variable that Keras does not know."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = tf.random.Generator.from_seed(11)

    def call(self, inputs: Any) -> Any:
        return inputs + 0.1 * self.generator.normal(tf.shape(inputs))


class OwnCounter(keras.layers.Layer):
    """Counts in a `tf.Variable` that Keras does not know, and uses what it counted."""

    def __init__(self) -> None:
        super().__init__()
        self.counted = tf.Variable(0.0, trainable=False)

    def call(self, inputs: Any) -> Any:
        self.counted.assign_add(1.0)
        return inputs * (1.0 + 0.01 * self.counted)


class StatefulNoise(keras.layers.Layer):
    """Draws from an operation that counts for itself."""

    def call(self, inputs: Any) -> Any:
        return inputs + tf.random.normal(tf.shape(inputs))


class ShuffledInStep(models.Subclassed):
    """Shuffles each batch by an operation that counts for itself, inside a condition."""

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        order = tf.cond(
            tf.shape(x)[0] > 1,
            lambda: tf.random.shuffle(tf.range(tf.shape(x)[0])),
            lambda: tf.range(tf.shape(x)[0]),
        )
        return super().train_step((tf.gather(x, order), y))


def pipeline() -> tf.data.Dataset:
    """Single samples."""
    found = data.arrays()
    return tf.data.Dataset.from_tensor_slices((found["x"], found["y"]))


def noisy(x: Any, y: Any) -> tuple[Any, Any]:
    """A sample with noise of tf.data's own."""
    return x + tf.random.normal((FEATURES,), stddev=0.1), y


def shuffled() -> Data:
    """Reshuffled each epoch, and validated by another pipeline."""
    batched = pipeline().shuffle(SAMPLES, reshuffle_each_iteration=True).batch(BATCH)
    return {"x": batched, "validation_data": pipeline().take(16).batch(BATCH), "shuffle": False}


def repeated() -> Data:
    """Endless, with epochs cut from it."""
    endless = pipeline().shuffle(SAMPLES).repeat().batch(BATCH)
    return {"x": endless, "steps_per_epoch": 5, "shuffle": False}


def cached_noise() -> Data:
    """Noise drawn once and kept."""
    return {"x": pipeline().map(noisy).cache().shuffle(SAMPLES).batch(BATCH), "shuffle": False}


def fresh_noise() -> Data:
    """Noise redrawn for each sample, and read ahead."""
    # One after the other: in parallel, which sample gets which noise depends on who is faster,
    # also where `deterministic` keeps the samples in order.
    return {"x": pipeline().map(noisy).batch(BATCH).prefetch(2), "shuffle": False}


def mapped_by_layer() -> Data:
    """Noise drawn from the seed of a Keras layer that the pipeline holds."""
    layer = keras.layers.GaussianNoise(0.1, seed=3)
    mapped = pipeline().batch(BATCH).map(lambda x, y: (layer(x, training=True), y))
    return {"x": mapped, "shuffle": False}


def own_step(kind: Callable[[], Any] = OwnStep) -> Any:
    """A subclassed model, compiled."""
    return models.compiled(kind(), loss="mse")


def under_one_device() -> Any:
    """Made and compiled under a strategy of one device, fitted outside of its scope."""
    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        return models.dense()


CORE = [
    Scenario("tf.data that shuffles", models.dense, shuffled),
    Scenario("train_step of its own", own_step, data.arrays),
    Scenario("variables of more than a MiB", models.wide, data.arrays),
]

SCENARIOS = [
    Scenario("tf.data that repeats", models.dense, repeated),
    Scenario("tf.data with noise, cached", models.dense, cached_noise),
    Scenario("tf.data with fresh noise", models.dense, fresh_noise),
    Scenario("tf.data that maps a Keras layer", models.dense, mapped_by_layer),
    Scenario(
        "tf.random.Generator",
        lambda: models.with_layer(OwnGenerator()),
        data.arrays,
        beside=lambda model: [model.layers[0].generator.state],
    ),
    Scenario(
        "tf.Variable of a layer",
        lambda: models.with_layer(OwnCounter()),
        data.arrays,
        beside=lambda model: [model.layers[0].counted],
    ),
    Scenario(
        "strategy of one device", under_one_device, data.arrays, why_assign="distribution strategy"
    ),
]

KEPT = [
    Scenario(
        "two optimizers",
        lambda: own_step(TwoOptimizers),
        data.arrays,
        why_assign="2 optimizers use these variables",
    ),
    Scenario(
        "tf.function of the script",
        lambda: own_step(TracedByScript),
        data.arrays,
        why_assign="the tf.function `forward`",
    ),
]
"""Scenarios where variables must stay the objects that they are."""

INEXACT = [
    Scenario(
        "stateful noise in a layer",
        lambda: models.with_layer(StatefulNoise()),
        data.arrays,
        inexact="RandomStandardNormal",
    ),
    Scenario(
        "stateful shuffle in a condition of train_step",
        lambda: own_step(ShuffledInStep),
        data.unshuffled,
        inexact="RandomShuffle",
    ),
]
"""Scenarios where a reload changes the result, and says so before."""
