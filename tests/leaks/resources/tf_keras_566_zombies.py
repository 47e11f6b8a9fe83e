"""Processes of each epoch's generator end, and no one waits for them: 1 500 zombies.

Taken over: children that are never waited for. Changed: 10 an epoch.
"""

import subprocess
from typing import Any

import keras

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/tf-keras#566",
    kind="resources",
    unit="epoch",
    grows=("zombies",),
    expected="leak",
    named=("zombies",),
    cause="ended children that were never waited for",
    remedy="wait for them",
    units=40,
    metric="processes",
)


class Works(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.started: list[Any] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.started += [subprocess.Popen(["/bin/true"]) for _ in range(10)]

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if corpus.FIXED:
            self.end()

    def on_train_end(self, logs: Any = None) -> None:
        self.end()

    def end(self) -> None:
        while self.started:
            self.started.pop().wait()


corpus.epochs_of(LEAK, Works())
