"""One model is trained in a loop on ever new Sequences, whose data stay although they are dropped.

Taken over: a new Sequence of synthetic data for each fit, the model stays. Changed: 4 MB each.
"""

from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/tf-keras#464",
    also=("keras-team/keras#16947",),
    kind="datasets",
    unit="fit",
    grows=("anonymous", "malloc"),
    expected="leak",
    named=("malloc", "python"),
    cause="Keras reads a PyDataset through from_generator, which the root graph holds for ever",
    remedy="one PyDataset that changes its data",
)


class Rows(keras.utils.PyDataset):
    def __init__(self) -> None:
        super().__init__()
        self.renew()

    def renew(self) -> None:
        self.x = np.random.rand(5000, 200).astype("float32")

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> Any:
        rows = self.x[index * 500 : (index + 1) * 500]
        return rows, rows[:, :1]


model = corpus.dense(200, 1)
once = Rows()
for index in range(corpus.units(LEAK)):
    once.renew()
    data = once if corpus.FIXED else Rows()
    model.fit(data, verbose=0, callbacks=corpus.watch())
    del data
    corpus.unit(index)
