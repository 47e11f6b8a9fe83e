"""Each third epoch is validated, which takes longer than an epoch."""

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="twin: validation each third epoch",
    expected="none",
    units=40,
)

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.ones((16 * 60, 8), "float32"), np.ones((16 * 60, 1), "float32")
many = np.ones((16 * 300, 8), "float32"), np.ones((16 * 300, 1), "float32")
model.fit(
    x,
    y,
    batch_size=16,
    validation_data=many,
    validation_freq=3,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=slowdowns.watch(),
)
