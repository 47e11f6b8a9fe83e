"""Other processes take the processor for a while."""

# pyright: reportImplicitOverride=false
import os
import subprocess
import sys
from typing import Any

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="twin: another process on the machine",
    expected="none",
    units=40,
)


class Others(keras.callbacks.Callback):
    """Starts and ends them."""

    def __init__(self) -> None:
        super().__init__()
        self.running: list[subprocess.Popen[bytes]] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if epoch == 15:
            busy = [sys.executable, "-c", "while True: pass"]
            self.running = [subprocess.Popen(busy) for _ in range(os.cpu_count() or 1)]
        if epoch == 30:
            for each in self.running:
                each.kill()
                each.wait()


others = Others()

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.ones((16 * 100, 8), "float32"), np.ones((16 * 100, 1), "float32")
model.fit(
    x,
    y,
    batch_size=16,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=[others, *slowdowns.watch()],
)
