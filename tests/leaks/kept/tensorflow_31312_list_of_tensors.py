"""RAM grows during fit; losses are appended to a list as tensors, the commonest answer to such.

Changed: an eager train_step keeps the whole tensor of errors of each batch.
"""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#31312",
    also=("tensorflow/tensorflow#20062",),
    kind="eager training",
    unit="epoch",
    grows=("anonymous", "malloc"),
    expected="leak",
    named=("kept", "tensors", "malloc"),
    cause="a list of eager tensors",
    remedy="float(loss)",
)


class Net(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(200)
        self.errors: list[Any] = []

    def call(self, x: Any) -> Any:
        return self.dense(x)

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            error = self(x, training=True) - y
            loss = tf.reduce_mean(error**2)
        weights = self.trainable_variables
        self.optimizer.apply(tape.gradient(loss, weights), weights)
        self.errors.append(float(loss) if corpus.FIXED else error)
        return {"loss": loss}


model = Net()
model.compile("sgd", "mse", run_eagerly=True)
x, y = np.random.rand(2000, 20).astype("float32"), np.zeros((2000, 200), "float32")
kept = corpus.watch(each_epoch=True)
model.fit(x, y, batch_size=100, epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
