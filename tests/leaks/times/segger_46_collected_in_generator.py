"""A generator collects garbage before each batch, with a million objects to look through."""

import gc
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="dpeerlab/segger#46",
    expected="share",
    part="input",
    units=16,
    remedy="do not collect in the loop",
)

STEPS = 10
annotations = [{"box": [index]} for index in range(500_000)]


def batches() -> Iterator[Any]:
    while True:
        with slowdowns.spent("input"):
            if not slowdowns.FIXED:
                gc.collect()
        yield np.ones((16, 8), "float32"), np.ones((16, 1), "float32")


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(
    batches(),
    steps_per_epoch=STEPS,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=slowdowns.watch(),
)
