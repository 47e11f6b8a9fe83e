"""A callback collects garbage after each epoch, with a million objects to look through."""

# pyright: reportImplicitOverride=false
import gc
from typing import Any

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="dpeerlab/segger#46",
    expected="share",
    part="callbacks",
    name="Collect",
    units=16,
    remedy="freeze the objects that stay before the fit",
)

STEPS = 20
annotations = [{"box": [index]} for index in range(1_000_000)]


class Collect(keras.callbacks.Callback):
    """Frees what an epoch left."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        with slowdowns.spent("callbacks"):
            gc.collect()


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.ones((16 * STEPS, 8), "float32"), np.ones((16 * STEPS, 1), "float32")
if slowdowns.FIXED:
    gc.freeze()
model.fit(
    x,
    y,
    batch_size=16,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=[Collect(), *slowdowns.watch()],
)
