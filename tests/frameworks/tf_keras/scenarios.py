"""Trainings of tf_keras 2 in eager mode; each is to end the same with and without reloads."""

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tf_keras: Any = pytest.importorskip(
        "tf_keras", reason="tf_keras is not installed (pip install --no-deps tf-keras)"
    )

import tensorflow as tf

from tests.support.exactness import Scenario

TF_KERAS: Final = [
    pytest.mark.keras,
    pytest.mark.slow,
    # tf_keras 2 is no longer kept free of what numpy and Python deprecate.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
"""Marks of every test that runs tf_keras."""

_GENERATORS: Final = tf_keras.backend.experimental


def arrays() -> dict[str, Any]:
    """Inputs of 8 features and a target; an eighth of them for validation."""
    random = np.random.default_rng(5)
    x = random.normal(size=(48, 8)).astype("float32")
    return {"x": x, "y": x.sum(axis=1, keepdims=True), "batch_size": 8, "validation_split": 0.25}


def pipeline() -> dict[str, Any]:
    """The same as a tf.data pipeline that reshuffles each epoch."""
    found = arrays()
    data = tf.data.Dataset.from_tensor_slices((found["x"], found["y"]))
    return {"x": data.shuffle(48, reshuffle_each_iteration=True).batch(8)}


def sequences() -> dict[str, Any]:
    """Eight sequences in a batch, always the same ones."""
    random = np.random.default_rng(5)
    x = random.normal(size=(32, 4, 3)).astype("float32")
    return {"x": x, "y": x[:, -1, :1], "batch_size": 8, "shuffle": False}


def with_generators(make: Callable[[], Any]) -> Callable[[], Any]:
    """Make a model whose random layers have their own generators."""

    def made() -> Any:
        _GENERATORS.enable_tf_random_generator()
        try:
            return make()
        finally:
            _GENERATORS.disable_tf_random_generator()

    return made


def dense(*, dropout: bool = False, metrics: Any = ("mae",), **compiled: Any) -> Any:
    """A small model with statistics, and a trace in the gradient registry (silu)."""
    layers = tf_keras.layers
    between = [layers.Dropout(0.4)] if dropout else []
    model = tf_keras.Sequential(
        [
            tf_keras.Input((8,)),
            layers.Dense(8, activation="silu"),
            layers.BatchNormalization(),
            *between,
            layers.Dense(1),
        ]
    )
    settings = {"optimizer": tf_keras.optimizers.Adam(0.01), "loss": "mse"}
    model.compile(**{**settings, "metrics": list(metrics), **compiled})
    return model


class OwnStep(tf_keras.Model):
    """A subclass with its own `train_step` and loss tracker."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = tf_keras.layers.Dense(8, activation="tanh")
        self.last = tf_keras.layers.Dense(1)
        self.tracker = tf_keras.metrics.Mean(name="own")

    def call(self, inputs: Any) -> Any:
        return self.last(self.hidden(inputs))

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data[:2]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
        found = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(found, self.trainable_variables, strict=True))
        self.tracker.update_state(loss)
        return {"own": self.tracker.result()}

    @property
    def metrics(self) -> list[Any]:
        return [self.tracker]


class Gan(tf_keras.Model):
    """Two parts and an optimizer for each; never called, so never built."""

    def __init__(self) -> None:
        super().__init__()
        self.judge = tf_keras.Sequential(
            [tf_keras.layers.Dense(6, activation="tanh"), tf_keras.layers.Dense(1)]
        )
        self.maker = tf_keras.Sequential(
            [tf_keras.layers.InputLayer((8,)), tf_keras.layers.Dense(8)]
        )
        self.optimizers = [tf_keras.optimizers.Adam(0.02), tf_keras.optimizers.RMSprop(0.01)]
        self.tracker = tf_keras.metrics.Mean(name="judged")

    def train_step(self, data: Any) -> dict[str, Any]:
        real = data[0]
        with tf.GradientTape(persistent=True) as tape:
            apart = self.judge(self.maker(tf.reverse(real, [1]))) - self.judge(real)
            losses = [tf.reduce_mean(tf.nn.softplus(each)) for each in (apart, -apart)]
        parts = zip(losses, (self.judge, self.maker), self.optimizers, strict=True)
        for loss, part, optimizer in parts:
            weights = part.trainable_variables
            found = tape.gradient(loss, weights)
            optimizer.apply_gradients(zip(found, weights, strict=True))
        self.tracker.update_state(losses[0])
        return {"judged": self.tracker.result()}

    @property
    def metrics(self) -> list[Any]:
        return [self.tracker]


def gan() -> Any:
    """Compiled with the optimizer that `compile` takes if it is given none."""
    model = Gan()
    model.compile()
    return model


def unvalidated() -> dict[str, Any]:
    """Without a part for validation, which would call the model."""
    found = arrays()
    del found["validation_split"]
    return found


def own_step() -> Any:
    """The subclass, compiled and not yet built."""
    model = OwnStep()
    model.compile(optimizer=tf_keras.optimizers.legacy.SGD(0.01, momentum=0.9))
    return model


def stateful() -> Any:
    """An LSTM that carries its state from batch to batch."""
    model = tf_keras.Sequential(
        [
            tf_keras.Input(batch_shape=(8, 4, 3)),
            tf_keras.layers.LSTM(4, stateful=True),
            tf_keras.layers.Dense(1),
        ]
    )
    model.compile("rmsprop", "mse")
    return model


def mixed_precision() -> Any:
    """Half precision, with a loss scale that moves."""
    optimizer = tf_keras.mixed_precision.LossScaleOptimizer(
        tf_keras.optimizers.Adam(0.01), initial_scale=2.0**14, dynamic_growth_steps=3
    )
    before = tf_keras.mixed_precision.global_policy()
    tf_keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        return dense(optimizer=optimizer)
    finally:
        tf_keras.mixed_precision.set_global_policy(before)


def averaged() -> Any:
    """Averages of weights, and a schedule."""
    rate = tf_keras.optimizers.schedules.ExponentialDecay(0.05, 4, 0.7)
    return dense(
        optimizer=tf_keras.optimizers.AdamW(rate, use_ema=True, ema_overwrite_frequency=5),
        steps_per_execution=2,
    )


def regularized() -> Any:
    """Losses of layers beside the model's."""
    model = tf_keras.Sequential(
        [
            tf_keras.Input((8,)),
            tf_keras.layers.Dense(8, kernel_regularizer="l2", activation="relu"),
            tf_keras.layers.LayerNormalization(),
            tf_keras.layers.Dense(1),
        ]
    )
    model.compile("adamax", "mae", loss_weights=[0.5])
    return model


def plateau() -> list[Any]:
    """Callbacks with their own state, one of which writes the learning rate."""
    callbacks = tf_keras.callbacks
    return [
        callbacks.ReduceLROnPlateau(monitor="loss", patience=0, min_delta=10),
        callbacks.EarlyStopping(monitor="loss", patience=9, restore_best_weights=True),
    ]


def _scenario(name: str, model: Callable[[], Any], **more: Any) -> Scenario:
    more.setdefault("data", arrays)
    return Scenario(name, model, seed_all=tf_keras.utils.set_random_seed, **more)


SCENARIOS: Final = [
    _scenario(
        "Adam, BatchNorm, AUC", lambda: dense(metrics=["mae", tf_keras.metrics.AUC(name="auc")])
    ),
    _scenario("Dropout with a generator", with_generators(lambda: dense(dropout=True))),
    _scenario(
        "legacy Adam, ReduceLROnPlateau, EarlyStopping",
        lambda: dense(optimizer=tf_keras.optimizers.legacy.Adam(0.01)),
        callbacks=plateau,
        reload_last=True,
    ),
    _scenario("tf.data that shuffles", dense, data=pipeline),
    _scenario("loss scale", mixed_precision),
    _scenario("train_step of its own", own_step),
    _scenario("GAN", gan, data=unvalidated),
    _scenario("stateful LSTM", stateful, data=sequences),
    _scenario("EMA, schedule, two steps in one", averaged),
    _scenario("run eagerly", lambda: dense(dropout=True, run_eagerly=True)),
    _scenario("regularizers", regularized),
]

INEXACT: Final = [
    _scenario(
        "Dropout without a generator",
        lambda: dense(dropout=True),
        inexact="enable_tf_random_generator()",
    ),
    _scenario("Nadam", lambda: dense(optimizer="nadam"), inexact="Nadam in tf_keras"),
]
