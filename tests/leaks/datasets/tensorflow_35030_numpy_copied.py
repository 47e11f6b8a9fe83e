"""model.fit takes twice the memory of the data: arrays are copied at its begin.

Taken over: whole numbers divided in a layer, one convolution, validation data. Changed: 400 images
of 128 x 128.
"""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from keras import layers

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#35030",
    also=("tensorflow/tensorflow#40942", "keras-team/keras#15887", "tensorflow/tensorflow#50524"),
    kind="buffers",
    unit="epoch",
    grows=(),
    expected="none",
    cause="one copy of the arrays, once",
    remedy="a generator of batches",
    units=15,
)

x = np.random.randint(0, 5001, (400, 128, 128, 1)).astype("float64")
y = np.random.randint(0, 2, (400, 128, 128, 1)).astype("float64")
model = keras.Sequential(
    [
        layers.Input((128, 128, 1)),
        layers.Rescaling(1 / 5000),
        layers.Conv2D(1, 3, activation="sigmoid", padding="same"),
    ]
)
model.compile("adam", "binary_crossentropy")


def batches() -> Iterator[Any]:
    while True:
        for start in range(0, 400, 40):
            yield x[start : start + 40], y[start : start + 40]


callbacks = corpus.watch(each_epoch=True)
options: dict[str, Any] = {"epochs": corpus.units(LEAK), "verbose": 0, "callbacks": callbacks}
if corpus.FIXED:
    model.fit(batches(), steps_per_epoch=10, **options)
else:
    model.fit(x, y, validation_data=(x[:100], y[:100]), batch_size=40, **options)
