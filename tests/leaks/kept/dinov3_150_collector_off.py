"""Memory grows because the script switches Python's garbage collector off, for speed.

Taken over: `gc.disable()` before the training, and objects in reference cycles that each step
leaves. Changed: a callback makes the cycles, 2 MB an epoch, in place of torchvision's transforms.
"""

import gc
from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="facebookresearch/dinov3#150",
    kind="collector",
    unit="epoch",
    grows=("malloc",),
    expected="leak",
    cause="the garbage collector is off: objects in reference cycles are never freed",
    remedy="call gc.collect() after each epoch",
    named=("collector_off",),
    also=("facebookresearch/dinov3#242", "facebookresearch/dinov3#340"),
)


class Node:
    """Result that refers to itself."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.owner = self


class Cycles(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        for _ in range(4):
            Node(np.ones(2**16))
        if corpus.FIXED:
            gc.collect()


gc.disable()
x = np.random.rand(2000, 20).astype("float32")
model = corpus.dense(20, 10)
added = [Cycles(), *corpus.watch(each_epoch=True)]
model.fit(x, x[:, :10], epochs=corpus.units(LEAK), verbose=0, callbacks=added)
