"""A checkpoint of a larger model is saved every ten steps, and takes longer than computing."""

# pyright: reportImplicitOverride=false
import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="deepchem/deepchem#458",
    expected="share",
    part="checkpoints",
    name="Saving",
    units=16,
    remedy="save at the end of each fourth epoch",
)

STEPS = 40


class Saving(keras.callbacks.ModelCheckpoint):
    """Measured."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        with slowdowns.spent("checkpoints"):
            super().on_train_batch_end(batch, logs)


model = keras.Sequential(
    [
        keras.Input((8,), dtype="int32"),
        keras.layers.Embedding(400_000, 8),
        keras.layers.Flatten(),
        keras.layers.Dense(1),
    ]
)
model.compile("sgd", "mse")
x, y = np.ones((16 * STEPS, 8), "int32"), np.ones((16 * STEPS, 1), "float32")
with tempfile.TemporaryDirectory() as folder:
    each = 4 * STEPS if slowdowns.FIXED else 10
    model.fit(
        x,
        y,
        batch_size=16,
        epochs=slowdowns.units(SLOW),
        verbose=0,
        callbacks=[Saving(Path(folder, "model.keras"), save_freq=each), *slowdowns.watch()],
    )
