"""Models fitted with validation_split in a loop leave more than with arrays split once.

Taken over: one dense net, validation_split, a new model each time.
"""

import gc

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#38945",
    kind="validation",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "rebuilt"),
    cause="the traces stay, those of the validation step too",
    remedy="build the model once",
)

x = np.random.rand(500, 50).astype("float32")
model = corpus.dense(50, 128, 1, optimizer="adam")
for index in range(corpus.units(LEAK)):
    if not corpus.FIXED:
        keras.backend.clear_session()
        model = corpus.dense(50, 128, 1, optimizer="adam")
    kept = corpus.watch()
    model.fit(x, x[:, :1], validation_split=0.2, epochs=2, verbose=0, callbacks=kept)
    gc.collect()
    corpus.unit(index)
