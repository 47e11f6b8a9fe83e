"""A callback writes all logs so far into a file at each epoch's end."""

# pyright: reportImplicitOverride=false
import json
import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="keras-team/keras#608",
    expected="slower",
    part="callbacks",
    name="Logger",
    remedy="write each tenth epoch",
)


class Logger(keras.callbacks.Callback):
    """Keeps each step's logs."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.logs: list[dict[str, float]] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        with slowdowns.spent("callbacks"):
            self.logs += [{"loss": float(logs["loss"])}] * 12_000
            if not slowdowns.FIXED or epoch % 10 == 0:
                self.file.write_text(json.dumps(self.logs), encoding="ascii")


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.ones((16 * 100, 8), "float32"), np.ones((16 * 100, 1), "float32")
with tempfile.TemporaryDirectory() as folder:
    logger = Logger(Path(folder, "logs.json"))
    model.fit(
        x,
        y,
        batch_size=16,
        epochs=slowdowns.units(SLOW),
        verbose=0,
        callbacks=[logger, *slowdowns.watch()],
    )
