"""A model is saved and loaded again and again, as to go on from the best; memory ends quickly.

Taken over: a dense layer of 1024. Changed: 512; each loaded model is fitted once before it is
saved again.
"""

import tempfile
from pathlib import Path

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#32234",
    kind="load_model loops",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "rebuilt"),
    cause="traces and weights of each loaded model stay",
    remedy="go on with the model that was saved",
    units=20,
)

path = Path(tempfile.mkdtemp(), "model.keras")
model = corpus.dense(512, 512, 1, optimizer="adam")
x = np.random.rand(16, 512).astype("float32")
for index in range(corpus.units(LEAK)):
    model.fit(x, x[:, :1], verbose=0, callbacks=corpus.watch())
    model.save(path)
    if not corpus.FIXED:
        model = keras.models.load_model(path)
    corpus.unit(index)
