"""A jitted function is called with arrays of ever new lengths: 153 to 198 MiB over 1000 shapes.

Changed: it is Keras' train_on_batch on JAX; a fit follows.
"""

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="jax-ml/jax#19429",
    also=("jax-ml/jax#10828",),
    kind="xla",
    unit="call",
    grows=("anonymous", "malloc", "blocks"),
    expected="growing",
    named=("retracing", "malloc", "python", "unknown"),
    cause="one compiled program for each length",
    remedy="lengths padded to one",
    needs=("jax",),
)

keras = corpus.keras_on("jax")
model = keras.Sequential(
    [
        keras.layers.Input((None, 8)),
        keras.layers.Conv1D(16, 3, padding="same"),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1),
    ]
)
model.compile("sgd", "mse")
zeros = np.zeros((4, 1), "float32")
for index in range(corpus.units(LEAK)):
    for step in range(3):
        length = 100 if corpus.FIXED else 10 + index * 3 + step
        model.train_on_batch(np.random.rand(4, length, 8).astype("float32"), zeros)
    model.fit(np.zeros((4, 5, 8), "float32"), zeros, verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
