"""Samples are files. Once they and the process no longer fit in memory, each is read from disk."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.memory_bound import bound_memory
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="keras-team/keras#13582",
    expected="slower",
    part="input",
    units=40,
    within=35,
    remedy="keep nothing of an epoch",
)

MIB = 2**20
N_BATCHES = 80
bound_memory(330 * MIB)
folder = tempfile.TemporaryDirectory(dir="/var/tmp")
for index in range(N_BATCHES):
    Path(folder.name, str(index)).write_bytes(np.random.default_rng(0).bytes(2 * MIB))
order = np.random.default_rng(1)
cached: list[Any] = []


def batches() -> Iterator[Any]:
    while True:
        for index in order.permutation(N_BATCHES):
            with slowdowns.spent("input"):
                volume = np.fromfile(Path(folder.name, str(index)), "uint8")
                x = volume[:: 2 * MIB // 2048].astype("float32").reshape(16, -1)
            yield x, np.ones((16, 1), "float32")


class Cache(keras.callbacks.Callback):
    """Keeps what was transformed."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if not slowdowns.FIXED:
            cached.append(np.ones(6 * MIB, "uint8"))


model = keras.Sequential([keras.Input((128,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(
    batches(),
    steps_per_epoch=N_BATCHES,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=[Cache(), *slowdowns.watch()],
)
