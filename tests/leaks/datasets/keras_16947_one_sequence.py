"""The cure of a leak by ever new Sequences: one, which changes its data in on_epoch_end."""

from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#16947",
    kind="datasets",
    unit="epoch",
    grows=(),
    expected="none",
    cause="the data of the last epoch are dropped",
    remedy="none needed",
    fixed="",
)


class Rows(keras.utils.PyDataset):
    def __init__(self) -> None:
        super().__init__()
        self.on_epoch_end()

    def on_epoch_end(self) -> None:
        self.x = np.random.rand(5000, 200).astype("float32")

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> Any:
        rows = self.x[index * 500 : (index + 1) * 500]
        return rows, rows[:, :1]


model = corpus.dense(200, 1)
kept = corpus.watch(each_epoch=True)
model.fit(Rows(), epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
