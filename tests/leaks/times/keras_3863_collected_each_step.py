"""A callback collects garbage after each step, beside records that become ever more."""

# pyright: reportImplicitOverride=false
import gc
from typing import Any

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="keras-team/keras#3863",
    expected="slower",
    part="callbacks",
    name="Collect",
    remedy="collect at an epoch's end",
)

STEPS = 10


class Collect(keras.callbacks.Callback):
    """Looks through all objects, each of which has a record."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[list[dict[str, float]]] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        with slowdowns.spent("callbacks"):
            self.records.append([{"loss": each} for each in range(5000)])
            if not slowdowns.FIXED or batch == STEPS - 1:
                gc.collect()


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
gc.freeze()  # what the framework has is not looked through
x, y = np.ones((16 * STEPS, 8), "float32"), np.ones((16 * STEPS, 1), "float32")
model.fit(
    x,
    y,
    batch_size=16,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=[Collect(), *slowdowns.watch()],
)
