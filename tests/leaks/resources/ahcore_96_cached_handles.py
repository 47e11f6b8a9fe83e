"""Handles of HDF5 files are kept, up to a number: a cache that is full.

The harmless twin: 16 handles more an epoch until 64 are open.
"""

import tempfile
from pathlib import Path
from typing import Any

import keras

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="NKI-AI/ahcore#96",
    kind="resources",
    unit="epoch",
    grows=(),
    expected="none",
    cause="a cache of handles that is full after four epochs",
    remedy="nothing is to be done",
    units=16,
    fixed="",
    metric="open_files",
    needs=("h5py",),
)

h5py = corpus.require("h5py")


class Handles(keras.callbacks.Callback):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.opened: dict[int, Any] = {}

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        for number in range(16 * epoch, 16 * (epoch + 1)):
            if number < 64:
                path = self.folder / f"slide-{number}.h5"
                h5py.File(path, "w").close()
                self.opened[number] = h5py.File(path, "r")


with tempfile.TemporaryDirectory() as name:
    corpus.epochs_of(LEAK, Handles(Path(name)))
