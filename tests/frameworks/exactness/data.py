# pyright: reportImplicitOverride=false
"""Data that scenarios train on, the same each time; any backend."""

import itertools
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

FEATURES = 8
SAMPLES = 48
BATCH = 8

Data = dict[str, Any]


class Batches(keras.utils.PyDataset):
    """A dataset in Python, shuffled by its own generator at each epoch's end."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        data = arrays()
        self._x, self._y = data["x"], data["y"]
        self._random = np.random.default_rng(17)

    def __len__(self) -> int:
        return len(self._x) // BATCH

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        rows = slice(index * BATCH, (index + 1) * BATCH)
        return self._x[rows], self._y[rows]

    def on_epoch_end(self) -> None:
        order = self._random.permutation(len(self._x))
        self._x, self._y = self._x[order], self._y[order]


def arrays() -> Data:
    """Inputs of 8 features and a binary target."""
    random = np.random.default_rng(5)
    x = random.normal(size=(SAMPLES, FEATURES)).astype("float32")
    noise = random.normal(size=(SAMPLES, 1))
    y = (x.sum(axis=1, keepdims=True) + noise > 0).astype("float32")
    return {"x": x, "y": y, "batch_size": BATCH}


def validated() -> Data:
    """With validation data."""
    data = arrays()
    return data | {"validation_data": (data["x"][:16], data["y"][:16])}


def split() -> Data:
    """A third of it held out by Keras."""
    return arrays() | {"validation_split": 1 / 3}


def weighted() -> Data:
    """Each sample with a weight."""
    return arrays() | {"sample_weight": np.linspace(0.1, 2.0, SAMPLES).astype("float32")}


def class_weighted() -> Data:
    """Each class with a weight."""
    return arrays() | {"class_weight": {0: 0.3, 1: 1.7}}


def two_targets() -> Data:
    """One target for each of two outputs."""
    data = arrays()
    return data | {"y": {"first": data["y"], "second": data["y"] * 2}}


def tokens() -> Data:
    """Sequences of 6 tokens, 0 is padding."""
    random = np.random.default_rng(6)
    x = random.integers(0, 20, (SAMPLES, 6)).astype("int32")
    return {"x": x, "y": (x[:, :1] > 9).astype("float32"), "batch_size": BATCH}


def pictures() -> Data:
    """Images of one channel."""
    random = np.random.default_rng(8)
    x = random.normal(size=(SAMPLES, FEATURES, FEATURES, 1)).astype("float32")
    return {"x": x, "y": (x[:, 0, 0] > 0).astype("float32"), "batch_size": BATCH}


def pairs() -> Data:
    """Sequences of 4 steps with 2 features."""
    data = arrays()
    return data | {"x": data["x"].reshape(SAMPLES, 4, 2)}


def generated() -> Data:
    """A Python generator, which nothing can rewind."""

    def forever() -> Iterator[tuple[Any, Any]]:
        data = arrays()
        random = np.random.default_rng(3)
        for _ in itertools.count():
            rows = random.integers(0, SAMPLES, BATCH)
            yield data["x"][rows], data["y"][rows]

    return {"x": forever(), "steps_per_epoch": 5, "shuffle": False}


def batches() -> Data:
    """A PyDataset read by the training thread."""
    return {"x": Batches()}


def batches_by_workers() -> Data:
    """The same, read ahead by two threads."""
    return {"x": Batches(workers=2, max_queue_size=3)}


def unshuffled() -> Data:
    """In order, as stateful layers want it."""
    return arrays() | {"shuffle": False}
