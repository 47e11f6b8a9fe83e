# pyright: reportImplicitOverride=false, reportArgumentType=false, reportCallIssue=false
"""Real Keras trainings that leak in one way each, as a process: its argument is the way.

What leaks is far above what a small training scatters, so that 30 units are enough. It is written
to at each epoch: a system that pages out what rests would take it from the resident set again.
"""

import ctypes
import sys
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kmonitor_agent import MonitorCallback

UNITS = 30
LEAK_BYTES = 8 * 2**20
_STEPS = 60
_PAGE_BYTES = 4096
_LOST_BYTES = 2**16

_kept: list[Any] = []


class KeepsArrays(keras.callbacks.Callback):
    """A callback that keeps what it saw, as callbacks for plots do."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        _kept.append(np.full(LEAK_BYTES // 8, float(epoch)))
        for array in _kept:
            array[:: _PAGE_BYTES // 8] += 1.0


class KeepsMalloc(keras.callbacks.Callback):
    """What a native extension forgets to free."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        _kept.extend(
            libc.malloc(ctypes.c_size_t(_LOST_BYTES)) for _ in range(LEAK_BYTES // _LOST_BYTES)
        )
        for address in _kept:
            ctypes.memset(address, epoch, _LOST_BYTES)


class Retraces(keras.callbacks.Callback):
    """Calls a function with a Python number that is another one each time."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        for part in range(6):
            scaled_gradients(self.model, epoch + part / 8)


@tf.function
def scaled_gradients(model: Any, scale: float) -> Any:
    """Retraced for each `scale` that is a Python number."""
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(model(tf.ones((8, 64)))) * scale
    return tape.gradient(total, model.trainable_variables)


def main(cause: str) -> None:
    """Train, leaking in this way; "none" leaks nothing."""
    monitor = MonitorCallback(cause, sample_interval_s=0.1)
    if cause == "rebuilt":
        for _ in range(UNITS):
            _kept.append(_fit([monitor], epochs=2))  # noqa: PERF401 - the next one meets it
        return
    leak = {
        "none": [],
        "python": [KeepsArrays()],
        "native": [KeepsMalloc()],
        "retracing": [Retraces()],
    }[cause]
    _fit([*leak, monitor], epochs=UNITS)


def _fit(callbacks: list[Any], *, epochs: int) -> Any:
    model = keras.Sequential(
        [keras.Input((64,)), *(keras.layers.Dense(64, "relu") for _ in range(3))]
    )
    model.compile("adam", "mse")
    x = np.random.default_rng(0).normal(size=(_STEPS * 8, 64)).astype("float32")
    model.fit(x, x, batch_size=8, epochs=epochs, verbose=0, callbacks=callbacks)
    return model


if __name__ == "__main__":
    main(sys.argv[1])
