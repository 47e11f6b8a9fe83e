"""Images become larger as training continues; the author took it for a leak, and found it was not.

Taken over: the resolution is doubled in stages. Changed: 16 to 128 in four stages.
"""

import keras
import numpy as np
from keras import layers

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="nashory/pggan-pytorch#16",
    also=("mosaicml/composer#728",),
    kind="curriculum",
    unit="fit",
    grows=(),
    expected="none",
    cause="larger activations in stages",
    remedy="none needed",
    fixed="",
    units=28,
)

model = keras.Sequential(
    [
        layers.Input((None, None, 3)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(1),
    ]
)
model.compile("sgd", "mse")
for index in range(corpus.units(LEAK)):
    size = 16 * 2 ** min(index // 7, 3)
    images = np.random.rand(64, size, size, 3).astype("float32")
    model.fit(images, np.zeros((64, 1)), batch_size=16, verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
