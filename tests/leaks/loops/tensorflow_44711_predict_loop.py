"""predict() in an endless loop fills memory; model(x) does not. Cured step by step until TF 2.15.

Taken over: two dense layers, one row of ten numbers. Changed: 30 calls a unit, then one fit.
"""

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#44711",
    also=("tensorflow/tensorflow#33009", "tensorflow/tensorflow#33030"),
    kind="predict and evaluate loops",
    unit="call",
    grows=("blocks",),
    expected="tiny",
    cause="each call leaves 1 KiB for ever, and 17 KiB until a full collection",
    remedy="call the model: model(x, training=False)",
    fixed="tiny",
)

model = corpus.dense(10, 32, 2, optimizer="adam")
row = np.random.uniform(size=(1, 10)).astype("float32")
for index in range(corpus.units(LEAK)):
    for _ in range(30):
        if corpus.FIXED:
            model(row, training=False)
        else:
            model.predict(row, verbose=0)
    model.fit(row, np.zeros((1, 2)), verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
