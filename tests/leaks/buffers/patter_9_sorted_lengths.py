"""Samples sorted by length: memory rises within each epoch, to the same height every time.

Taken over: the shortest first, batches padded to their longest. Changed: lengths of 20 to 400.
"""

from typing import Any

import keras
import numpy as np
from keras import layers

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="ryanleary/patter#9",
    also=("mozilla/DeepSpeech#602",),
    kind="curriculum",
    unit="epoch",
    grows=(),
    expected="none",
    cause="longer batches at the end of each epoch",
    remedy="none needed",
    fixed="",
    units=20,
)


class Sorted(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 20

    def __getitem__(self, index: int) -> Any:
        return np.ones((32, 20 * (index + 1), 40), "float32"), np.zeros((32, 1), "float32")


model = keras.Sequential(
    [
        layers.Input((None, 40)),
        layers.Conv1D(64, 3, activation="relu"),
        layers.GlobalAveragePooling1D(),
        layers.Dense(1),
    ]
)
model.compile("sgd", "mse")
kept = corpus.watch(each_epoch=True)
model.fit(Sorted(), epochs=corpus.units(LEAK), shuffle=False, verbose=0, callbacks=kept)
