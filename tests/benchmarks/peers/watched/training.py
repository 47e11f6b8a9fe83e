"""One of the ten trainings with one tool, as a separate process in the peers' environment.

Its only argument is a JSON object: `scene`, `tool`, `folder`, `file` (a model to load).
"""

# pyright: reportImplicitOverride=false, reportArgumentType=false, reportCallIssue=false

import ctypes
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import tensorflow as tf

from tests.benchmarks.peers.watched import doing, tools

UNITS = 30
"""Epochs, or fits; in the last ones something is done about it, where the tool can."""
EPOCH_S = 0.25
_SLOW_EPOCH_S = 0.7
"""W&B writes its file after some seconds only; what is killed sooner leaves it empty."""
LEAK_BYTES = 8 * 2**20
HANG_S = 40.0
OVERSIZE = 4096
BOUND_BYTES = {"OOM": 220 * 2**20, "oversize batch": 2**30}
"""Beyond what the process has when it begins to train: more than that, and it is killed."""
_STEPS = 40
_PAGE = 4096
_LOST_BYTES = 2**16
_FITS = 26

_kept: list[Any] = []


class Paced(keras.callbacks.Callback):
    """No epoch is shorter than reading its data takes."""

    def __init__(self, epoch_s: float = EPOCH_S) -> None:
        super().__init__()
        self._epoch_s = epoch_s
        self._until_s = 0.0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._until_s = time.monotonic() + self._epoch_s

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        time.sleep(max(0.0, self._until_s - time.monotonic()))


class KeepsObjects(keras.callbacks.Callback):
    """Keeps a record of each sample it saw, as callbacks for plots do."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        _kept.append([{"epoch": epoch, "step": n, "at": [n]} for n in range(LEAK_BYTES // 320)])


class LosesMalloc(keras.callbacks.Callback):
    """Leaks memory as a native extension would that forgets to free it."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        for _ in range(LEAK_BYTES // _LOST_BYTES):
            ctypes.memset(libc.malloc(ctypes.c_size_t(_LOST_BYTES)), 1, _LOST_BYTES)


class Retraces(keras.callbacks.Callback):
    """Calls a function with a Python number that is another one each time."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        for part in range(6):
            scaled_gradients(self.model, epoch + part / 8)


@tf.function
def scaled_gradients(model: Any, scale: float) -> Any:
    """Traced again for each `scale` that is a Python number."""
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(model(tf.ones((8, 64)))) * scale
    return tape.gradient(total, model.trainable_variables)


class SlowsDown(keras.callbacks.Callback):
    """Something is looked through at each step, and it becomes more."""

    _epoch = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        time.sleep(0.0005 * self._epoch)


class Hangs(keras.callbacks.Callback):
    """One step waits for what does not come for long."""

    def __init__(self, epoch: int = UNITS - 2, hang_s: float = HANG_S) -> None:
        super().__init__()
        self._at = epoch
        self._hang_s = hang_s
        self._epoch = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch == _STEPS // 2 and self._epoch == self._at:
            Path("hangs").touch()
            threading.Event().wait(self._hang_s)


def dense() -> Any:
    """A small model."""
    model = keras.Sequential(
        [keras.Input((64,)), *(keras.layers.Dense(64, "silu") for _ in range(3))]
    )
    model.compile("adam", "mse")
    return model


def pictures() -> Any:
    """A small convolutional network that keeps much of each example."""
    width = 64
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            *(keras.layers.Conv2D(width, 3, padding="same", activation="relu") for _ in range(3)),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10),
        ]
    )
    model.compile("adam", "mse")
    return model


def large() -> Any:
    """A model whose file takes long to load: 21 million parameters, trained by Adam."""
    widths = (4096, 4096, 16)
    model = keras.Sequential([keras.Input((1024,)), *(map(keras.layers.Dense, widths))])
    model.compile("adam", "mse")
    return model


def fit(
    *more: Any, epochs: int = UNITS, epoch_s: float = EPOCH_S
) -> Callable[[list[Any], dict[str, Any]], None]:
    """A training of this many epochs with these callbacks before the tool's."""

    def train(with_tool: list[Any], _order: dict[str, Any]) -> None:
        x = np.random.default_rng(0).normal(size=(_STEPS * 8, 64)).astype("float32")
        said = [*more, *with_tool, Paced(epoch_s)]
        dense().fit(x, x, batch_size=8, epochs=epochs, verbose=0, callbacks=said)

    return train


def models(with_tool: list[Any], order: dict[str, Any]) -> None:
    """One model after the other; none is kept, and the session is cleared as manuals say."""
    x = np.ones((_STEPS * 8, 64), "float32")
    for number in range(_FITS):
        model = dense()
        model.fit(x, x, batch_size=8, verbose=0, callbacks=with_tool)
        del model
        keras.backend.clear_session()
        if number == _FITS - 2:
            doing.between_models(order)


def loading(with_tool: list[Any], order: dict[str, Any]) -> None:
    """A training, then a large model is loaded and kept, then another training."""
    model, x = dense(), np.ones((_STEPS * 8, 64), "float32")
    settings = {"batch_size": 8, "epochs": UNITS // 2, "verbose": 0}
    model.fit(x, x, callbacks=[*with_tool, Paced()], **settings)
    _kept.append(keras.models.load_model(order["file"]))
    model.fit(x, x, callbacks=[*with_tool, Paced()], **settings)


class GrowsBatch(keras.utils.PyDataset):
    """Small batches of pictures, and in the last epochs one that is too large."""

    def __init__(self, epochs: int) -> None:
        super().__init__()
        self._left = epochs

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return _pictures(8 if self._left > 1 else OVERSIZE)

    def on_epoch_end(self) -> None:
        self._left -= 1


def oversize(with_tool: list[Any], _order: dict[str, Any]) -> None:
    """A batch that fits, then one that does not."""
    said = [*with_tool, Paced()]
    pictures().fit(GrowsBatch(UNITS), epochs=UNITS, verbose=0, callbacks=said)


def train_pictures(batch: int) -> None:
    """Train `pictures` for an epoch on batches of this size."""
    x, y = _pictures(OVERSIZE)
    pictures().fit(x, y, batch_size=batch, verbose=0)


def _pictures(n_examples: int) -> Any:
    return np.ones((n_examples, 32, 32, 3), "float32"), np.ones((n_examples, 10), "float32")


SCENES: dict[str, Callable[[list[Any], dict[str, Any]], None]] = {
    "retained traces per model": models,
    "retracing": fit(Retraces()),
    "Python objects kept": fit(KeepsObjects()),
    "native leak": fit(LosesMalloc()),
    "healthy": fit(),
    "slow-down": fit(SlowsDown()),
    "OOM": fit(LosesMalloc(), epoch_s=_SLOW_EPOCH_S),
    "hang": fit(Hangs()),
    "load cost": loading,
    "oversize batch": oversize,
}


def main() -> None:
    """Train; a `bound` file says how many bytes more this process may take."""
    order = json.loads(sys.argv[1])
    if order["scene"] == "file":
        model = large()
        model.fit(np.ones((8, 1024)), np.ones((8, 16)), verbose=0)
        model.save(order["file"])
        return
    folder = Path(order["folder"])
    with_tool = tools.TOOLS[order["tool"]](folder)
    above = BOUND_BYTES.get(order["scene"])
    if above is not None:
        fit(epochs=1)([], order)
        (folder / "bound").write_text(f"{os.getpid()} {above}")
        time.sleep(EPOCH_S)
    SCENES[order["scene"]](with_tool + doing.callbacks(order, with_tool), order)


if __name__ == "__main__":
    main()
