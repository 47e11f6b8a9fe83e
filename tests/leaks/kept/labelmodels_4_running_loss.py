"""PyTorch: a running sum of tensors keeps the graph of each batch, until memory is out.

Changed: on a CPU, with Keras, and the mean error of each batch in place of its loss.
"""

from typing import Any

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="BatsResearch/labelmodels#4",
    also=("horovod/horovod#641", "google/brax#152"),
    kind="custom loops",
    unit="epoch",
    grows=("anonymous", "malloc"),
    expected="leak",
    named=("kept",),
    cause="a sum of tensors with their graphs",
    remedy="float(loss)",
    needs=("torch",),
)

keras = corpus.keras_on("torch")


class Net(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(200)
        self.running_error: Any = 0.0

    def call(self, x: Any) -> Any:
        return self.dense(x)

    def train_step(self, data: Any) -> Any:
        x, y = data
        self.zero_grad()
        error = self(x, training=True) - y
        loss = (error**2).mean()
        loss.backward()
        mean = error.abs().mean()
        self.running_error = self.running_error + (float(mean) if corpus.FIXED else mean)
        weights = self.trainable_weights
        with corpus.require("torch").no_grad():
            self.optimizer.apply([each.value.grad for each in weights], weights)
        return {"loss": loss}


model = Net()
model.compile("sgd", "mse")
x, y = np.random.rand(5000, 20).astype("float32"), np.zeros((5000, 200), "float32")
kept = corpus.watch(each_epoch=True)
model.fit(x, y, batch_size=500, epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
