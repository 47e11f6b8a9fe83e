"""The heap fragments by many NumPy arrays of changing sizes, with small survivors in between.

Taken over: the suspected cause, creation of a large number of arrays. Changed: made plain: each
array is shrunk in place to 1200 bytes, and those of the next epoch are larger than what that left.
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
    remedy="copy the part that is kept",
    units=30,
)

N_ARRAYS, KEPT_BYTES = 80, 1200


class Fragments(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.survivors: list[Any] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        arrays = [np.ones(40_000 + 2000 * epoch, "uint8") for _ in range(N_ARRAYS)]
        if corpus.FIXED:
            arrays = [array[:KEPT_BYTES].copy() for array in arrays]
        for array in arrays:
            array.resize(KEPT_BYTES, refcheck=False)
        self.survivors += arrays


x = np.random.rand(1000, 20).astype("float32")
model = corpus.dense(20, 10)
kept = [Fragments(), *corpus.watch(each_epoch=True)]
model.fit(x, x[:, :10], epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
