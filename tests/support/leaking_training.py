# pyright: reportImplicitOverride=false, reportArgumentType=false, reportCallIssue=false
"""Real Keras trainings that leak in one way each, as a process: its argument is the way.

The leak is far above what a small training scatters, so that 30 units are enough. It is written
to at each epoch: a system that pages out what rests would take it from the resident set again.
"""

import ctypes
import subprocess
import sys
import time
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
        _kept.append(np.empty(LEAK_BYTES // 8))
        for array in _kept:
            array[:: _PAGE_BYTES // 8] += 1.0


class KeepsObjects(keras.callbacks.Callback):
    """A callback that keeps a record of each batch as dictionaries and lists."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        _kept.append([{"epoch": epoch, "step": n, "at": [n]} for n in range(LEAK_BYTES // 320)])
        for records in _kept:
            for record in records:
                record["epoch"] = epoch


class KeepsTensors(keras.callbacks.Callback):
    """A callback that keeps predictions as tensors."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        _kept.append(tf.fill((LEAK_BYTES // 4,), float(epoch)))


class KeepsMalloc(keras.callbacks.Callback):
    """Leaks memory as a native extension would that forgets to free it."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        _kept.extend(
            libc.malloc(ctypes.c_size_t(_LOST_BYTES)) for _ in range(LEAK_BYTES // _LOST_BYTES)
        )
        for address in _kept:
            ctypes.memset(address, epoch, _LOST_BYTES)


class Diagnoses(keras.callbacks.Callback):
    """Requests *Diagnose* while it grows, as a user would."""

    def __init__(self, monitor: MonitorCallback) -> None:
        super().__init__()
        self._monitor = monitor

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if epoch in {UNITS - 8, UNITS - 4}:
            self._monitor.request("diagnose")


class SlowsDown(keras.callbacks.Callback):
    """Something is looked through at each step, and it becomes more."""

    _epoch = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        time.sleep(0.001 * self._epoch)


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


class _Workers(keras.utils.PyDataset):
    """Two processes that read the data, for the whole training, and keep what they read."""

    def __init__(self) -> None:
        super().__init__()
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-c", _WORKER.format(n=LEAK_BYTES // _STEPS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for _ in range(2)
        ]

    def __len__(self) -> int:
        return _STEPS

    def __getitem__(self, index: int) -> Any:
        process = self._processes[index % 2]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        return _x(8), _x(8)


_WORKER = """
import sys
read = []
for _ in sys.stdin:
    read.append(b"x" * {n})
    print(flush=True)
"""


def _cached_data() -> Any:
    """A data set that is kept in memory as it is read, 1 MiB an element."""
    data = tf.data.Dataset.range(120).map(lambda n: tf.fill((64, 64 * 64), tf.cast(n, tf.float32)))
    data = data.cache()

    def batch(read: Any) -> Any:
        # Reading takes time, as from a disk.
        tf.numpy_function(lambda: time.sleep(0.04) or np.float32(0), [], tf.float32)
        return read[:8, :64], read[:8, :64]

    return data.map(batch)


def main(cause: str) -> None:
    """Train, leaking in this way; "none" leaks nothing."""
    monitor = MonitorCallback(cause, sample_interval_s=0.1)
    if cause == "workers":
        _fit([monitor], epochs=UNITS, data=_Workers())
        return
    if cause == "data_cache":
        _fit([monitor], epochs=5, data=_cached_data())
        return
    if cause == "rebuilt":
        for _ in range(UNITS):
            _kept.append(_fit([monitor], epochs=2))  # noqa: PERF401 - the next one meets it
        return
    leak = {
        "none": [],
        "arrays": [KeepsArrays()],
        "objects": [KeepsObjects()],
        "tensors": [KeepsTensors()],
        "native": [KeepsMalloc()],
        "retracing": [Retraces()],
        "slower": [Retraces(), SlowsDown()],
        "arrays, diagnosed": [KeepsArrays(), Diagnoses(monitor)],
        "native, diagnosed": [KeepsMalloc(), Diagnoses(monitor)],
    }[cause]
    _fit([*leak, monitor], epochs=UNITS)


def _x(rows: int) -> Any:
    return np.random.default_rng(0).normal(size=(rows, 64)).astype("float32")


def _fit(callbacks: list[Any], *, epochs: int, data: Any = None) -> Any:
    model = keras.Sequential(
        [keras.Input((64,)), *(keras.layers.Dense(64, "relu") for _ in range(3))]
    )
    model.compile("sgd", "mse")
    if data is not None:
        model.fit(data, epochs=epochs, verbose=0, callbacks=callbacks)
        return model
    x = _x(_STEPS * 8)
    model.fit(x, x, batch_size=8, epochs=epochs, verbose=0, callbacks=callbacks)
    return model


if __name__ == "__main__":
    main(sys.argv[1])
