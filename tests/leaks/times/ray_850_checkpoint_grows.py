"""A layer's replay memory is saved with each checkpoint, which takes ever longer."""

# pyright: reportImplicitOverride=false
import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="ray-project/ray#850",
    expected="slower",
    part="checkpoints",
    name="Saving",
    remedy="save each tenth epoch",
)

STEPS = 100


class Replay(keras.layers.Dense):
    """Has seen more after each epoch."""

    def __init__(self, units: int) -> None:
        super().__init__(units)
        self.seen: list[np.ndarray] = []

    def save_own_variables(self, store: Any) -> None:
        super().save_own_variables(store)
        store["seen"] = np.concatenate([np.zeros(1, "float32"), *self.seen])


class Saving(keras.callbacks.ModelCheckpoint):
    """Measured."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        replay.seen.append(np.random.default_rng(epoch).random(2_000_000).astype("float32"))
        with slowdowns.spent("checkpoints"):
            if not slowdowns.FIXED or epoch % 10 == 0:
                super().on_epoch_end(epoch, logs)


replay = Replay(64)
model = keras.Sequential([keras.Input((8,)), replay, keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.ones((16 * STEPS, 8), "float32"), np.ones((16 * STEPS, 1), "float32")
with tempfile.TemporaryDirectory() as folder:
    model.fit(
        x,
        y,
        batch_size=16,
        epochs=slowdowns.units(SLOW),
        verbose=0,
        callbacks=[Saving(Path(folder, "model.keras")), *slowdowns.watch()],
    )
