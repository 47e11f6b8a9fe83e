"""A callback keeps the outputs of all validation batches for a metric, and frees them after it.

Taken over: a metric of the whole validation set, from a callback.
"""

from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#8607",
    kind="validation",
    unit="epoch",
    grows=(),
    expected="none",
    cause="20 MB are kept during validation and freed at its end",
    remedy="none needed",
    fixed="",
)


class Metric(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Any] = []

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        self.kept.append(self.model.predict_on_batch(x[:5000]))

    def on_test_end(self, logs: Any = None) -> None:
        np.concatenate(self.kept).std(axis=0)
        self.kept.clear()


x = np.random.rand(10_000, 30).astype("float32")
y = np.zeros((10_000, 100), "float32")
model = corpus.dense(30, 100)
kept = [Metric(), *corpus.watch(each_epoch=True)]
options: dict[str, Any] = {"validation_data": (x, y), "validation_batch_size": 1000, "verbose": 0}
model.fit(x, y, 1000, epochs=corpus.units(LEAK), callbacks=kept, **options)
