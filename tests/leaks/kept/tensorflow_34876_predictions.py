"""RAM grows at each epoch, only with a callback: it keeps the predictions of every epoch.

Taken over: a callback that predicts at each epoch's end, as those for ROC curves do.
"""

from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#34876",
    also=("tensorflow/tensorflow#33030", "keras-team/keras#13195"),
    kind="callbacks",
    unit="epoch",
    grows=("anonymous", "malloc"),
    expected="leak",
    named=("kept", "malloc"),
    cause="a list of arrays, 4 MB an epoch",
    remedy="keep a number",
)


class Curve(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Any] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        found = self.model.predict(x, verbose=0)
        self.kept.append(float(found.mean()) if corpus.FIXED else found)


x = np.random.rand(20_000, 20).astype("float32")
y = np.random.rand(20_000, 50).astype("float32")
callbacks = [Curve(), *corpus.watch(each_epoch=True)]
model = corpus.dense(20, 50)
model.fit(x, y, 1000, epochs=corpus.units(LEAK), verbose=0, callbacks=callbacks)
