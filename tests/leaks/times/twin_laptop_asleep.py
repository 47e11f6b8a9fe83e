"""The machine is asleep once, amid an epoch."""

# pyright: reportImplicitOverride=false
import os
import signal
import subprocess
from typing import Any

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="twin: a laptop that was asleep",
    expected="none",
    units=40,
)


class Asleep(keras.callbacks.Callback):
    """Stops the process, as sleep does, and has it woken up."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if epoch == 20:
            wake = f"sleep 5; kill -CONT {os.getpid()}"
            subprocess.Popen(["/bin/sh", "-c", wake])
            os.kill(os.getpid(), signal.SIGSTOP)


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.ones((16 * 60, 8), "float32"), np.ones((16 * 60, 1), "float32")
model.fit(
    x,
    y,
    batch_size=16,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=[Asleep(), *slowdowns.watch()],
)
