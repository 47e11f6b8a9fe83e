"""load_model in an endless loop kills a machine of 4 GB in 40 minutes.

Taken over: a large file loaded by a function that keeps nothing. Changed: a .keras file of 12 MB;
one fit of a batch after each load.
"""

import tempfile
from pathlib import Path

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#47122",
    also=("tensorflow/tensorflow#35524", "tensorflow/tensorflow#34677"),
    kind="load_model loops",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "rebuilt"),
    cause="traces and weights of the loaded models stay",
    remedy="load once, then load_weights",
    units=20,
)

folder = Path(tempfile.mkdtemp())
path, weights = folder / "large.keras", folder / "large.weights.h5"
model = corpus.dense(500, 1000, 1000, 1, optimizer="adam")
x, y = np.random.rand(32, 500).astype("float32"), np.zeros((32, 1), "float32")
model.fit(x, y, verbose=0)
model.save(path)
model.save_weights(weights)


def load_and_fit() -> None:
    loaded = keras.models.load_model(path)
    loaded.fit(x, y, verbose=0, callbacks=corpus.watch())


for index in range(corpus.units(LEAK)):
    if corpus.FIXED:
        model.load_weights(weights)
        model.fit(x, y, verbose=0, callbacks=corpus.watch())
    else:
        load_and_fit()
    corpus.unit(index)
