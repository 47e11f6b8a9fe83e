"""A tool predicts with several stored models in turn, loads each again, and grows.

Taken over: predict on freshly loaded models, clear_session between. Changed: three small models a
round; a fit of another model ends it.
"""

import gc
import tempfile
from pathlib import Path

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="CompOmics/DeepLC#60",
    also=("keras-team/keras#13118",),
    kind="predict and evaluate loops",
    unit="call",
    grows=("blocks",),
    expected="tiny",
    cause="graphs of dead models stayed then; today predict has no custom gradients that hold it",
    remedy="load each model once",
    fixed="tiny",
    units=20,
)

folder = Path(tempfile.mkdtemp())
stored = [folder / f"model_{n}.keras" for n in range(3)]
for path in stored:
    corpus.dense(60, 128, 128, 1).save(path)
loaded = [keras.models.load_model(path) for path in stored]
watched = corpus.dense(60, 1)
x = np.random.rand(64, 60).astype("float32")
for index in range(corpus.units(LEAK)):
    for n, path in enumerate(stored):
        model = loaded[n] if corpus.FIXED else keras.models.load_model(path)
        model.predict(x, verbose=0)
        if not corpus.FIXED:
            del model
            gc.collect()
    watched.fit(x, x[:, :1], verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
