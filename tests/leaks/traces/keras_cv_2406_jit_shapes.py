"""jit_compile=True and images of ever new sizes: each batch is recompiled, half a second each.

Changed: sequences of ever new lengths, 12 an epoch, in place of images.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras-cv#2406",
    kind="xla",
    unit="epoch",
    grows=("anonymous", "malloc"),
    expected="leak",
    named=("compiled",),
    cause="one compiled program for each length; one trace is enough for all of them",
    remedy="lengths padded to one",
    units=12,
)

keras = corpus.keras_on("tensorflow")
model = keras.Sequential(
    [
        keras.layers.Conv1D(16, 3, padding="same"),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1),
    ]
)
model.compile("sgd", "mse", jit_compile=True)
STEPS = 12


def batches() -> Iterator[Any]:
    for length in range(20, 20 + STEPS * corpus.units(LEAK)):
        yield np.ones((4, 60 if corpus.FIXED else length, 3), "float32"), np.ones((4, 1))


data = tf.data.Dataset.from_generator(
    batches,
    output_signature=(
        tf.TensorSpec((4, None, 3), "float32"),
        tf.TensorSpec((4, 1), "float32"),
    ),
)
model.fit(
    data,
    steps_per_epoch=STEPS,
    epochs=corpus.units(LEAK),
    verbose=0,
    callbacks=corpus.watch(each_epoch=True),
)
