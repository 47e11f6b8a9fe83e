"""One training with one tool, timed from within: a separate process, started by `cost.py`.

Its only argument is a JSON object: `tool`, `folder`, `model`, `seconds`. It prints one JSON line.
"""

# pyright: reportImplicitOverride=false

import json
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import psutil

from tests.benchmarks.peers import callbacks

_WARM_PART = 0.25
"""Fraction of the time of a training: epochs that end in it are not counted."""


def small() -> tuple[Any, Any, Any, int]:
    """A model whose step costs half a millisecond, so that callbacks show: 1000 steps of 16."""
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model, np.ones((16_000, 8), "float32"), np.ones((16_000, 1), "float32"), 16


def image() -> tuple[Any, Any, Any, int]:
    """A small convolutional network on 32 by 32 pictures: 40 steps of 32."""
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            *(layers.Conv2D(width, 3, strides=2, activation="relu") for width in (16, 32, 64)),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model, np.ones((1280, 32, 32, 3), "float32"), np.zeros((1280,), "int32"), 32


MODELS = {"small": small, "image": image}


class Clock(keras.callbacks.Callback):
    """Times each epoch's steps, reads the process once at the end, and stops the fit in time.

    Attributes:
        steps_s: Mean seconds a step of each epoch that counts.
        epochs_s: When each epoch ended, seconds on the monotonic clock.
        middle: When the first counted epoch began, and what was on disk then.
        last: Resources of the process when the last epoch ends: resident bytes, those of the
            processes that it started, threads, and bytes on disk.
        left_s: When the last epoch ended, seconds on the system's monotonic clock.
    """

    model: Any

    def __init__(self, folder: Path, seconds: float) -> None:
        super().__init__()
        self._folder = folder
        self._seconds = seconds
        self._began_s = time.perf_counter()
        self._epoch_s = 0.0
        self._n_steps = 0
        self.steps_s: list[float] = []
        self.epochs_s: list[float] = []
        self.middle: tuple[float, int] | None = None
        self.last = (0, 0, 0, 0)
        self.left_s = 0.0

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch == 0:
            self._epoch_s = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._n_steps = batch + 1

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        now_s = time.perf_counter()
        if now_s - self._began_s < _WARM_PART * self._seconds:
            return
        if self.middle is None:
            self.middle = (now_s, bytes_in(self._folder))
        else:
            self.steps_s.append((now_s - self._epoch_s) / self._n_steps)
        self.epochs_s.append(now_s)
        if now_s - self._began_s > self._seconds:
            self.last = (*memory(), callbacks.threads_now(), bytes_in(self._folder))
            self.left_s = time.monotonic()
            self.model.stop_training = True


def bytes_in(folder: Path) -> int:
    """All that files below hold."""
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


def memory() -> tuple[int, int]:
    """Resident bytes of this process, and of the processes that it started."""
    process = psutil.Process()
    children = process.children(recursive=True)
    return process.memory_info().rss, sum(one.memory_info().rss for one in children)


def main() -> None:
    """Train, and report the cost."""
    order = json.loads(sys.argv[1])
    folder = Path(order["folder"])
    model, x, y, batch = MODELS[order["model"]]()
    fit = {"x": x, "y": y, "batch_size": batch, "verbose": 0}
    model.fit(**fit)
    rss_before, threads_before = memory()[0], callbacks.threads_now()
    began_s = time.perf_counter()
    with_tool = callbacks.TOOLS[order["tool"]](folder)
    import_s = time.perf_counter() - began_s
    clock = Clock(folder, order["seconds"])
    model.fit(**fit, epochs=10**6, callbacks=[*with_tool, clock])
    assert clock.middle is not None
    rss, children, threads, on_disk = clock.last
    counted_s = clock.epochs_s[-1] - clock.middle[0]
    told = {
        "step_s": median(clock.steps_s),
        "epochs_a_minute": 60 * (len(clock.epochs_s) - 1) / counted_s,
        "rss_added_bytes": rss - rss_before,
        "children_bytes": children,
        "threads_added": threads - threads_before,
        "bytes_an_hour": 3600 * (on_disk - clock.middle[1]) / counted_s,
        "import_s": import_s,
        "left_s": clock.left_s,
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
