"""Tensors of worker processes are kept: each holds a descriptor of its block of shared memory.

Taken over: blocks that have no name any more, open until the tensor goes. Changed: 10 small ones
an epoch, made without PyTorch.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import keras

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="pytorch/pytorch#17499",
    kind="resources",
    unit="epoch",
    grows=("open_files",),
    expected="leak",
    named=("files",),
    cause="each tensor that is kept holds a descriptor",
    remedy="copy what workers hand over",
    units=20,
    metric="open_files",
)


class Keeps(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.kept: list[int] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        for _ in range(10):
            number, path = tempfile.mkstemp(dir="/dev/shm", prefix=f"torch_{os.getpid()}_")
            Path(path).unlink()
            os.write(number, bytes(100_000))
            self.kept.append(number)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if corpus.FIXED:
            while self.kept:
                os.close(self.kept.pop())


corpus.epochs_of(LEAK, Keeps())
