"""Images of random sizes through a fully convolutional net: 557 MB to GBs over 1000 of them.

Taken over: predict of one image of random size. Changed: 64 to 256 in steps of 2, a small net,
four images a unit and a fit of a fixed one.
"""

from typing import Any

import keras
import numpy as np
from keras import layers

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="faustomorales/keras-ocr#65",
    kind="native",
    unit="call",
    grows=("anonymous", "malloc"),
    expected="growing",
    named=("malloc", "native"),
    cause="oneDNN keeps compiled primitives for each shape, up to 1024",
    remedy="images padded to one size",
)

inputs = layers.Input((None, None, 3))
x: Any = layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
x = layers.MaxPooling2D()(x)
x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
x = layers.UpSampling2D()(x)
model = keras.Model(inputs, layers.Conv2D(1, 3, padding="same")(x))
model.compile("sgd", "mse")
rng = np.random.default_rng(2)
same, target = np.zeros((1, 64, 64, 3), "float32"), np.zeros((1, 64, 64, 1), "float32")
for index in range(corpus.units(LEAK)):
    for _ in range(4):
        size = (256, 256) if corpus.FIXED else tuple(rng.integers(32, 128, 2) * 2)
        model.predict(rng.random((1, *size, 3), dtype="float32"), verbose=0)
    model.fit(same, target, verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
