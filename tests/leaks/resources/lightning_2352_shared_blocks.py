"""Blocks of shared memory stay in /dev/shm: the host's memory fills, the process's does not.

Taken over: blocks that are closed and never unlinked. Changed: two of 4 MB an epoch.
"""

from multiprocessing.shared_memory import SharedMemory
from typing import Any

import keras

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="Lightning-AI/pytorch-lightning#2352",
    also=("apache/mxnet#9259",),
    kind="resources",
    unit="epoch",
    grows=("shared",),
    expected="leak",
    named=("blocks",),
    cause="blocks of shared memory are closed and not unlinked",
    remedy="unlink each block",
    units=25,
    metric="shared_memory",
)


class Shares(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.made: list[SharedMemory] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        for _ in range(2):
            block = SharedMemory(create=True, size=4 << 20)
            block.buf[:] = bytes(4 << 20)
            block.close()
            self.made.append(block)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if corpus.FIXED:
            self.end()

    def on_train_end(self, logs: Any = None) -> None:
        self.end()

    def end(self) -> None:
        while self.made:
            self.made.pop().unlink()


corpus.epochs_of(LEAK, Shares())
