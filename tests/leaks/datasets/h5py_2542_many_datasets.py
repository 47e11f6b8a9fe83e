"""A million HDF5 data sets in one open file: each that was read keeps its cache of chunks.

Taken over: slices of data sets of 30 x 12000, the file stays open. Changed: 400 of them, sixteen
new ones an epoch.
"""

import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="h5py/h5py#2542",
    also=("h5py/h5py#2023", "lhotse-speech/lhotse#518"),
    kind="native",
    unit="epoch",
    grows=("anonymous", "malloc"),
    expected="growing",
    named=("malloc", "native", "cache"),
    cause="the HDF5 library keeps 1 MiB of chunks for each data set that is held open",
    remedy="rdcc_nbytes=0",
    fixed="tiny",  # what the library knows of each data set stays: 26 KiB
    needs=("h5py",),
)

h5py = corpus.require("h5py")
EACH = 16
n_sets = corpus.units(LEAK) * EACH
path = Path(tempfile.mkdtemp(), "data.h5")
with h5py.File(path, "w") as file:
    for n in range(n_sets):
        rows = np.full((30, 12_000), n, "float32")
        file.create_dataset(str(n), data=rows, chunks=(30, 2000), compression=1)


class Slices(keras.utils.PyDataset):
    def __init__(self) -> None:
        super().__init__()
        self.file = h5py.File(path, "r", rdcc_nbytes=0 if corpus.FIXED else 2**20)
        self.sets = [self.file[str(n)] for n in range(n_sets)]
        self.epoch = 0

    def __len__(self) -> int:
        return EACH

    def __getitem__(self, index: int) -> Any:
        rows = self.sets[(self.epoch * EACH + index) % n_sets][:, :8000]
        return rows, rows[:, :1]

    def on_epoch_end(self) -> None:
        self.epoch += 1


model = corpus.dense(8000, 1)
kept = corpus.watch(each_epoch=True)
model.fit(Slices(), epochs=corpus.units(LEAK), shuffle=False, verbose=0, callbacks=kept)
