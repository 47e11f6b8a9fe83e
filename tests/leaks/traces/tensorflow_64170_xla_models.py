"""With jit_compile=True each new model of a loop leaves more behind than without.

Taken over: one dense layer, one epoch, clear_session and a collection after each model.
"""

import gc

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#64170",
    kind="xla",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "rebuilt"),
    cause="retained traces, and XLA's cache of compiled programs, which forgets none",
    remedy="repeat the fit on one model",
)

x = np.random.rand(64, 32).astype("float32")
model = corpus.dense(32, 64, 1, optimizer="adam", jit_compile=True)
for index in range(corpus.units(LEAK)):
    if not corpus.FIXED:
        model = corpus.dense(32, 64, 1, optimizer="adam", jit_compile=True)
    model.fit(x, x[:, :1], verbose=0, callbacks=corpus.watch())
    if not corpus.FIXED:
        del model
        keras.backend.clear_session()
    gc.collect()
    corpus.unit(index)
