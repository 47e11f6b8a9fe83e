"""From epoch 3 on each step waits for its input, which comes from a slower place."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.leaks import corpus, slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="tensorflow/tensorflow#45114",
    expected="slower",
    part="input",
    within=12,
    remedy="load batches in eight workers of a PyDataset",
)

keras = corpus.keras_on("jax")

index = 0


def batches() -> Iterator[Any]:
    global index  # noqa: PLW0603 - as the report's script has it
    while True:
        index += 1
        with slowdowns.spent("input"):
            time.sleep(0.0005 if index <= 2 * 60 else 0.008)
        yield np.ones((16, 8), "float32"), np.ones((16, 1), "float32")


def load() -> Any:
    time.sleep(0.008)
    return np.ones((16, 8), "float32"), np.ones((16, 1), "float32")


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(
    slowdowns.loaded_by_workers(60, load) if slowdowns.FIXED else batches(),
    steps_per_epoch=60,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=slowdowns.watch(),
)
