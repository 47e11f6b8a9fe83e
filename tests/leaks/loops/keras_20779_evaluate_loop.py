"""evaluate in a loop kept a history and a thread each time; cured in Keras 3.9.

Taken over: evaluate of one model, again and again. Changed: sizes; a unit is about a second.
"""

import time

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#20779",
    kind="predict and evaluate loops",
    unit="call",
    grows=(),
    expected="none",
    cause="each call's executor was never shut down",
    remedy="Keras 3.9",
    units=30,
    fixed="",
)

model = corpus.dense(40, 64, 1)
x, y = np.random.rand(256, 40).astype("float32"), np.zeros((256, 1), "float32")
watching = corpus.watch()
for index in range(corpus.units(LEAK)):
    until_s = time.monotonic() + 1.0
    while time.monotonic() < until_s:
        model.evaluate(x, y, verbose=0, callbacks=watching)
    corpus.unit(index)
