"""With jit_compile each new length of a sequence is compiled by XLA."""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="keras-team/keras-cv#2406",
    expected="share",
    part="compiling",
    units=12,
    remedy="pad batches to one shape",
)

length = 4


def batches() -> Iterator[Any]:
    global length  # noqa: PLW0603 - as the report's script has it
    while True:
        length = 64 if slowdowns.FIXED else length + 1
        yield np.ones((4, length, 8), "float32"), np.ones((4, 1), "float32")


model = keras.Sequential([keras.Input((None, 8)), keras.layers.LSTM(8), keras.layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=True)
model.fit(
    batches(),
    steps_per_epoch=4,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=slowdowns.watch(),
)
