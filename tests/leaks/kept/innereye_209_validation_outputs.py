"""The outputs of validation are kept over all epochs, for plots; training itself keeps nothing.

Taken over: outputs of the model kept across epochs. Changed: a callback predicts for the
validation data in on_test_end.
"""

from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="microsoft/InnerEye-DeepLearning#209",
    kind="validation",
    unit="epoch",
    grows=("anonymous", "malloc"),
    expected="leak",
    named=("kept",),
    cause="a dictionary of outputs by epoch, 6 MB each",
    remedy="keep those of the newest epoch",
)


class Outputs(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.by_epoch: dict[int, Any] = {}

    def on_test_end(self, logs: Any = None) -> None:
        epoch = 0 if corpus.FIXED else len(self.by_epoch)
        self.by_epoch[epoch] = self.model.predict_on_batch(validation)


x = np.random.rand(1000, 30).astype("float32")
validation = np.random.rand(16_000, 30).astype("float32")
model = corpus.dense(30, 100)
model.fit(
    *(x, np.zeros((1000, 100), "float32"), 100, corpus.units(LEAK)),
    validation_data=(validation, np.zeros((16_000, 100), "float32")),
    validation_batch_size=4000,
    verbose=0,
    callbacks=[Outputs(), *corpus.watch(each_epoch=True)],
)
