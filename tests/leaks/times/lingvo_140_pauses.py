"""The input pauses every few steps."""

import time
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="tensorflow/lingvo#140",
    expected="steps",
    units=12,
)

index = 0


def batches() -> Iterator[Any]:
    global index  # noqa: PLW0603 - as the report's script has it
    while True:
        index += 1
        with slowdowns.spent("input"):
            time.sleep(0.2 if index % 50 == 0 else 0.001)
        yield np.ones((16, 8), "float32"), np.ones((16, 1), "float32")


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(
    batches(),
    steps_per_epoch=100,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=slowdowns.watch(),
)
