"""A checkpoint of a larger model is saved each fifth epoch."""

import tempfile
from pathlib import Path

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="twin: a checkpoint each fifth epoch",
    expected="none",
    units=40,
)

model = keras.Sequential(
    [keras.Input((8,)), keras.layers.Dense(3000), keras.layers.Dense(500), keras.layers.Dense(1)]
)
model.compile("sgd", "mse")
x, y = np.ones((16 * 20, 8), "float32"), np.ones((16 * 20, 1), "float32")
with tempfile.TemporaryDirectory() as folder:
    saving = keras.callbacks.ModelCheckpoint(Path(folder, "model.keras"), save_freq=100)
    model.fit(
        x,
        y,
        batch_size=16,
        epochs=slowdowns.units(SLOW),
        verbose=0,
        callbacks=[saving, *slowdowns.watch()],
    )
