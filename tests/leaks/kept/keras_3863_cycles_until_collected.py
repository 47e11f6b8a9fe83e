"""Memory rises over epochs and falls at once: arrays in cycles wait for Python's collector.

Taken over: the wish that each epoch waits for the collector. Changed: a callback makes cycles that
hold 2 MB each; a full collection comes about every tenth epoch.
"""

import gc
from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#3863",
    also=("tensorflow/tensorflow#14181", "Project-MONAI/MONAI#1940"),
    kind="collector",
    unit="epoch",
    grows=(),
    expected="none",
    cause="a saw-tooth: cycles are freed by the next full collection",
    remedy="gc.collect() at each epoch's end",
    units=40,
)


class Cycles(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        cycle: list[Any] = [np.ones(2**18)]
        cycle.append(cycle)
        if corpus.FIXED or epoch % 10 == 9:
            del cycle
            gc.collect()


x = np.random.rand(2000, 20).astype("float32")
model = corpus.dense(20, 10)
kept = [Cycles(), *corpus.watch(each_epoch=True)]
model.fit(x, x[:, :10], epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
