"""A callback takes the mean of all losses so far, at each step."""

# pyright: reportImplicitOverride=false
from typing import Any

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="bstriner/keras-tqdm#29",
    expected="slower",
    part="callbacks",
    name="Progress",
    remedy="run the callback's work each 20th step",
)


class Progress(keras.callbacks.Callback):
    """Shows a running mean."""

    def __init__(self) -> None:
        super().__init__()
        self.losses: list[float] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        with slowdowns.spent("callbacks"):
            self.losses += [logs["loss"]] * 20
            if not slowdowns.FIXED or batch % 20 == 0:
                float(np.mean(self.losses))


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.ones((16 * 100, 8), "float32"), np.ones((16 * 100, 1), "float32")
model.fit(
    x,
    y,
    batch_size=16,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=[Progress(), *slowdowns.watch()],
)
