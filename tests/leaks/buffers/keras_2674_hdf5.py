"""Training from an HDF5 file that does not fit in memory, slice by slice.

Taken over: slices of one data set, as HDF5Matrix made them. Changed: a PyDataset, 40 MB.
"""

import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#2674",
    also=("keras-team/keras#6298", "keras-team/keras#3675"),
    kind="buffers",
    unit="epoch",
    grows=(),
    expected="none",
    cause="one cache of chunks of 1 MiB",
    remedy="none needed",
    fixed="",
    needs=("h5py",),
)

h5py = corpus.require("h5py")
path = Path(tempfile.mkdtemp(), "data.h5")
with h5py.File(path, "w") as file:
    rows = np.random.rand(10_000, 1000).astype("float32")
    file.create_dataset("x", data=rows, chunks=(100, 1000))


class Slices(keras.utils.PyDataset):
    def __init__(self) -> None:
        super().__init__()
        self.file = h5py.File(path, "r")

    def __len__(self) -> int:
        return 50

    def __getitem__(self, index: int) -> Any:
        rows = self.file["x"][index * 200 : (index + 1) * 200]
        return rows, rows[:, :1]


model = corpus.dense(1000, 1)
kept = corpus.watch(each_epoch=True)
model.fit(Slices(), epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
