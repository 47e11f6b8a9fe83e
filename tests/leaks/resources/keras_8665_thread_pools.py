"""A generator in threads makes a pool for each epoch and shuts none down.

Taken over: threads that wait for work that never comes. Changed: 12 an epoch.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import keras

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#8665",
    also=("tensorflow/tensorflow#40656",),
    kind="resources",
    unit="epoch",
    grows=("threads",),
    expected="leak",
    named=("threads",),
    cause="threads of each epoch's pool wait for ever",
    remedy="shut the pool down with the epoch",
    units=20,
    metric="threads",
)


class Loads(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.pools: list[ThreadPoolExecutor] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        pool = ThreadPoolExecutor(12, thread_name_prefix="loader")
        self.pools.append(pool)
        list(pool.map(lambda n: sum(range(1000 * n)), range(24)))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if corpus.FIXED:
            self.end()

    def on_train_end(self, logs: Any = None) -> None:
        self.end()

    def end(self) -> None:
        while self.pools:
            self.pools.pop().shutdown()


corpus.epochs_of(LEAK, Loads())
