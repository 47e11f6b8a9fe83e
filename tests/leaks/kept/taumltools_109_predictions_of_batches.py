"""A callback appends the predictions of each batch to a tensor; it grows within the epoch.

Taken over: tf.concat of what was kept and the batch, in on_train_batch_end. Changed: one epoch has
all steps; the batch's predictions are made again.
"""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="cms-tau-pog/TauMLTools#109",
    kind="inside an epoch",
    unit="step",
    grows=("anonymous", "malloc"),
    expected="leak",
    named=("kept", "tensors", "malloc"),
    cause="a list of tensors, 25 KiB a step",
    remedy="keep a sum",
    units=100,
)

STEPS = 400
kept: list[Any] = []


class Keeps(keras.callbacks.Callback):
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        predicted = tf.random.uniform((64, 100))
        kept.append(float(tf.reduce_sum(predicted)) if corpus.FIXED else predicted)


x = np.random.rand(corpus.units(LEAK) * STEPS * 8, 16).astype("float32")
model = corpus.dense(16, 1)
callbacks = [Keeps(), *corpus.watch(each_steps=STEPS)]
model.fit(x, x[:, :1], batch_size=8, epochs=1, verbose=0, callbacks=callbacks)
