"""Callbacks that plot close over tensors of their time, and are never taken off the list.

Taken over: a list of callbacks that is extended, each holding stale data. Changed: LambdaCallback
of Keras, one more at each fit.
"""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="cdtools-developers/cdtools#87",
    kind="callbacks",
    unit="fit",
    grows=("anonymous", "malloc"),
    expected="leak",
    named=("kept", "tensors", "malloc"),
    cause="each closure holds a tensor of 4 MB",
    remedy="take the callbacks of earlier fits off the list",
)

model = corpus.dense(20, 1)
x = np.random.rand(200, 20).astype("float32")
plots: list[Any] = []
for index in range(corpus.units(LEAK)):
    shown = tf.random.uniform((1000, 1000))
    if corpus.FIXED:
        plots.clear()

    def plot(_epoch: int, _logs: Any, shown: Any = shown) -> None:
        shown[0, 0].numpy()

    plots.append(keras.callbacks.LambdaCallback(on_epoch_end=plot))
    model.fit(x, x[:, :1], verbose=0, callbacks=[*plots, *corpus.watch()])
    corpus.unit(index)
