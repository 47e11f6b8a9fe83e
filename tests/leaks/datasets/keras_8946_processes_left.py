"""After hours of training with a generator in worker processes there are 109 of them.

Taken over: processes that are started for each epoch and never ended. Changed: three small ones an
epoch, each with data of 4 MB.
"""

import subprocess
import sys
from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#8946",
    also=("keras-team/keras#4101", "tensorflow/tensorflow#30801"),
    kind="workers",
    unit="epoch",
    grows=("children",),
    expected="leak",
    named=("workers",),
    cause="worker processes of earlier epochs still wait",
    remedy="end them with the epoch",
    units=20,
)

WORKER = "import sys; data = bytearray(4 << 20); print(flush=True); sys.stdin.read()"


class Workers(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.started: list[Any] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        options: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        command = [sys.executable, "-S", "-c", WORKER]
        new = [subprocess.Popen(command, **options) for _ in range(3)]
        for worker in new:
            worker.stdout.readline()
        self.started += new

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if corpus.FIXED:
            self.end()

    def on_train_end(self, logs: Any = None) -> None:
        self.end()

    def end(self) -> None:
        for worker in self.started:
            worker.communicate()
        self.started.clear()


x = np.random.rand(10_000, 20).astype("float32")
model = corpus.dense(20, 1)
kept = [*corpus.watch(each_epoch=True), Workers()]
model.fit(x, x[:, :1], 10, epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
