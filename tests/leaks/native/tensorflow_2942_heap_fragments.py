"""The heap fragments by many NumPy arrays of changing sizes, with small survivors in between.

Taken over: the suspected cause, creation of a large number of arrays. Changed: made plain: each
epoch frees arrays that are larger than the last epoch's and keeps a small one behind each.
"""

from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#2942",
    also=("tensorflow/tensorflow#44176",),
    kind="native",
    unit="epoch",
    grows=("anonymous",),
    expected="growing",
    named=("cache",),
    cause="holes of the heap are too small for the next arrays, and cannot be given back",
    remedy="arrays of one size",
    units=30,
)

N_ARRAYS = 80


class Fragments(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.survivors: list[Any] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        size = 60_000 if corpus.FIXED else 40_000 + 2000 * epoch
        large: list[Any] = []
        for _ in range(N_ARRAYS):
            large.append(np.ones(size, "uint8"))
            self.survivors.append(np.ones(600, "uint8"))


x = np.random.rand(1000, 20).astype("float32")
model = corpus.dense(20, 10)
kept = [Fragments(), *corpus.watch(each_epoch=True)]
model.fit(x, x[:, :10], epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
