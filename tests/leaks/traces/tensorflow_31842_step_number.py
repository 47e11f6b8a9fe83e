"""A tf.function takes the number of the training step, a Python number: traced at every step.

Taken over: gradients clipped by value in a traced step that is given its number. Changed: a
callback calls it beside fit at each fifth step; one epoch has all steps.
"""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#31842",
    kind="inside an epoch",
    unit="step",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retracing",),
    cause="each Python number is a key of its own in the function's cache",
    remedy="pass the number as a tensor",
    units=50,
)

STEPS = 50


@tf.function
def clipped(model: Any, x: Any, step: Any) -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2) / (1.0 + tf.cast(step, tf.float32))
    return [tf.clip_by_value(g, -1.0, 1.0) for g in tape.gradient(loss, model.trainable_weights)]


class Clips(keras.callbacks.Callback):
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch % 5 == 0:
            clipped(self.model, few, tf.constant(batch) if corpus.FIXED else batch)


few = tf.ones((8, 32))
model = corpus.dense(32, 64, 64, 1, optimizer="adam")
x = np.random.rand(corpus.units(LEAK) * STEPS * 8, 32).astype("float32")
kept = [Clips(), *corpus.watch(each_steps=STEPS)]
model.fit(x, x[:, :1], batch_size=8, epochs=1, verbose=0, callbacks=kept)
