"""Predictions of a long series are gathered until memory is full; nothing fits, only predict runs.

Taken over: outputs larger than the inputs, kept until the end. Changed: predict in parts, as the
thread tries, of 64 rows; a unit is the number of calls that take about a second.
"""

import tempfile
import time

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#21642",
    also=("keras-team/keras#5337",),
    kind="predict and evaluate loops",
    unit="call",
    grows=("anonymous", "malloc"),
    expected="leak",
    named=("kept",),
    cause="a list keeps all predictions",
    remedy="write each part to a file",
    units=30,
)

model = corpus.dense(40, 64, 20000)
rows = np.random.rand(64, 40).astype("float32")
out = tempfile.TemporaryFile()  # noqa: SIM115 - open for the whole script
predictions = []
watching = corpus.watch()
for index in range(corpus.units(LEAK)):
    until_s = time.monotonic() + 1.0
    while time.monotonic() < until_s:
        predicted = model.predict(rows, verbose=0, callbacks=watching)
        if corpus.FIXED:
            out.seek(0)
            predicted.tofile(out)
        else:
            predictions.append(predicted[:8].copy())
    corpus.unit(index)
