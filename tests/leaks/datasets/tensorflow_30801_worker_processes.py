"""fit with use_multiprocessing=True: each worker holds a copy of the data while an epoch runs.

Taken over: a Sequence that holds a list of Python objects, several epochs. Changed: two workers,
300 000 small tuples.
"""

from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#30801",
    also=("tensorflow/tensorflow#38414", "keras-team/keras#8677"),
    kind="workers",
    unit="epoch",
    grows=(),
    expected="none",
    cause="forked workers copy pages as reference counts change, and are gone with the epoch",
    remedy="threads",
    units=12,
)


class Rows(keras.utils.PyDataset):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.rows = [(float(i), str(i)) for i in range(300_000)]

    def __len__(self) -> int:
        return 20

    def __getitem__(self, index: int) -> Any:
        part = self.rows[index * 15_000 : (index + 1) * 15_000]
        numbers = np.array([[number] for number, _ in part], "float32")
        return numbers, np.array([[len(text)] for _, text in part], "float32")


if __name__ == "__main__":
    model = corpus.dense(1, 8, 1)
    rows = Rows(workers=2, use_multiprocessing=not corpus.FIXED, max_queue_size=8)
    kept = corpus.watch(each_epoch=True)
    model.fit(rows, epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
