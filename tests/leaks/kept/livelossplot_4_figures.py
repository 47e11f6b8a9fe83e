"""A callback opens a new figure at each epoch; pyplot keeps all of them.

Taken over: more than 20 figures opened, as the warning says.
"""

from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="stared/livelossplot#4",
    also=("Tomiinek/Multilingual_Text_to_Speech#19", "jfkirk/tensorrec#89"),
    kind="callbacks",
    unit="epoch",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("kept",),
    cause="pyplot's manager holds every figure that is not closed",
    remedy="plt.close(figure)",
    needs=("matplotlib",),
)

corpus.require("matplotlib").use("Agg")
plt = corpus.require("matplotlib.pyplot")


class Plot(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        figure = plt.figure(figsize=(12, 8))
        figure.subplots().imshow(np.random.rand(300, 300))
        figure.canvas.draw()
        if corpus.FIXED:
            plt.close(figure)


x = np.random.rand(500, 20).astype("float32")
model = corpus.dense(20, 10)
kept = [Plot(), *corpus.watch(each_epoch=True)]
model.fit(x, x[:, :10], epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
