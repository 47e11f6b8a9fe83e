"""Threads of one pool are started as they are needed, until there are as many as it may have.

The harmless twin: 8 more in each of four epochs.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import keras

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#40656",
    kind="resources",
    unit="epoch",
    grows=(),
    expected="none",
    cause="a pool that warms up",
    remedy="nothing is to be done",
    units=16,
    fixed="",
    metric="threads",
)


class Loads(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.pool = ThreadPoolExecutor(32, thread_name_prefix="loader")

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        for _ in range(8):
            self.pool.submit(sum, range(300_000))

    def on_train_end(self, logs: Any = None) -> None:
        self.pool.shutdown()


corpus.epochs_of(LEAK, Loads())
