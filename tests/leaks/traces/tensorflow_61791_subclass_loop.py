"""A subclassed model is built and fitted in a loop; flat with TF 2.9, grows since 2.11.

Taken over: four dense layers, random data, clear_session between fits. Changed: 1500 wide in place
of 10000.
"""

import gc
from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#61791",
    also=("keras-team/keras#17458", "keras-team/tf-keras#286"),
    kind="retained traces",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "rebuilt"),
    cause="traces of dead models stay in the gradient registry, and hold weights and slots",
    remedy="drop the entries of dead models from the gradient registry, as collect() does",
    units=20,
)


class Net(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.inner = [keras.layers.Dense(width, activation="relu") for width in (1000, 1500, 1500)]
        self.last = keras.layers.Dense(1000, activation="softmax")

    def call(self, inputs: Any) -> Any:
        for layer in self.inner:
            inputs = layer(inputs)
        return self.last(inputs)


x = np.random.rand(256, 100).astype("float32")
y = np.random.randint(0, 1000, 256)
for index in range(corpus.units(LEAK)):
    model = Net()
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    model.fit(x, y, batch_size=64, verbose=0, callbacks=corpus.watch())
    del model
    keras.backend.clear_session()
    gc.collect()
    if corpus.FIXED:
        corpus.forget_gradients()
    corpus.unit(index)
