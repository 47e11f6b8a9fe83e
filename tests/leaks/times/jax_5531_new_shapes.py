"""Each batch has its own shape, so each step is compiled again."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.leaks import corpus, slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="jax-ml/jax#5531",
    expected="share",
    part="compiling",
    units=12,
    remedy="pad batches to one shape",
)

keras = corpus.keras_on("jax")
length = 1


def batches() -> Iterator[Any]:
    global length  # noqa: PLW0603 - as the report's script has it
    while True:
        length = 128 if slowdowns.FIXED else length + 1
        yield np.ones((length, 8), "float32"), np.ones((length, 1), "float32")


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(
    batches(),
    steps_per_epoch=8,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=slowdowns.watch(),
)
