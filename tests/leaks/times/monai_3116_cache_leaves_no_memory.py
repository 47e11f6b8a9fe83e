"""What is kept of each epoch leaves less and less memory to the pages of the file that is read."""

import tempfile
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.memory_bound import bound_memory
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="Project-MONAI/MONAI#3116",
    expected="slower",
    part="input",
    cause="pressure",
    units=40,
    within=35,
    remedy="keep nothing of an epoch",
)

MIB = 2**20
N_BATCHES = 80
bound_memory(330 * MIB)
file = tempfile.NamedTemporaryFile(dir="/var/tmp")  # noqa: SIM115 - read to the end
for _ in range(N_BATCHES):
    file.write(np.random.default_rng(0).bytes(2 * MIB))
file.flush()
volumes = np.memmap(file.name, dtype="uint8", mode="r").reshape(N_BATCHES, -1)
order = np.random.default_rng(1)
cached: list[Any] = []


def batches() -> Iterator[Any]:
    while True:
        for index in order.permutation(N_BATCHES):
            with slowdowns.spent("input"):
                x = volumes[index, :: 2 * MIB // 2048].astype("float32").reshape(16, -1)
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
