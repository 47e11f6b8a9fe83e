"""Figures of each epoch are saved and closed, with the Agg backend: the merged cure of a leak."""

import io
from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="AIS-Bonn/OCVP-object-centric-video-prediction#3",
    also=("Gradiant/pyodi#84", "matplotlib/matplotlib#8519"),
    kind="callbacks",
    unit="epoch",
    grows=(),
    expected="none",
    cause="each figure is closed; its cycles wait for the collector",
    remedy="none needed",
    fixed="",
    needs=("matplotlib",),
)

corpus.require("matplotlib").use("Agg")
plt = corpus.require("matplotlib.pyplot")


class Plot(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        figure, axes = plt.subplots(figsize=(12, 8))
        axes.imshow(np.random.rand(300, 300))
        figure.savefig(io.BytesIO(), format="png")
        plt.close(figure)


x = np.random.rand(500, 20).astype("float32")
model = corpus.dense(20, 10)
kept = [Plot(), *corpus.watch(each_epoch=True)]
model.fit(x, x[:, :10], epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
