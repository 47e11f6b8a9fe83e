"""Keras on torch: predict_on_batch over the patches of a volume, until memory is out.

Changed: on a CPU, patches of 2 MB. The cycle that held tensors is cured in Keras 3.15.1.
"""

import gc

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#23110",
    kind="collector",
    unit="call",
    grows=(),
    expected="none",
    cause="a lambda captured its own structure, so that tensors waited for the collector",
    remedy="gc.collect() after each unit",
    units=20,
    needs=("torch",),
)

keras = corpus.keras_on("torch")
layers = keras.layers
model = keras.Sequential(
    [
        layers.Input((32, 32, 32, 16)),
        layers.Conv3D(16, 1),
        layers.GlobalAveragePooling3D(),
        layers.Dense(1),
    ]
)
model.compile("sgd", "mse")
patch = np.random.rand(1, 32, 32, 32, 16).astype("float32")
for index in range(corpus.units(LEAK)):
    for _ in range(20):
        model.predict_on_batch(patch)
    model.fit(patch, np.zeros((1, 1), "float32"), verbose=0, callbacks=corpus.watch())
    if corpus.FIXED:
        gc.collect()
    corpus.unit(index)
