"""compile() is called before each fit of one model, as to change a loss or what is trainable.

Taken over: a small classifier that is compiled over and over. Changed: each compile is followed by
a fit.
"""

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#16320",
    also=("tensorflow/tensorflow#26108", "keras-team/keras#9151", "keras-team/keras#6457"),
    kind="retained traces",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "disused_traces", "rebuilt", "retracing"),
    cause="each compile makes a new optimizer and a new step, whose traces stay",
    remedy="compile once",
)

model = corpus.dense(64, 256, 256, 10, optimizer="adam")
x = np.random.rand(64, 64).astype("float32")
for index in range(corpus.units(LEAK)):
    if not corpus.FIXED:
        model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    model.fit(x, x[:, :10], verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
