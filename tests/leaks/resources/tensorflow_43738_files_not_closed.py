"""Too many open files: each epoch opens the files of its data and closes none.

Taken over: files that are opened for each epoch and kept. Changed: 20 an epoch and a limit of 700,
so that it would end in epoch 34.
"""

import resource
import tempfile
from pathlib import Path
from typing import Any

import keras

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#43738",
    also=("NKI-AI/ahcore#96", "facebookresearch/fastMRI#40"),
    kind="resources",
    unit="epoch",
    grows=("open_files",),
    expected="leak",
    named=("files",),
    cause="files of each epoch stay open",
    remedy="close files and sockets after use",
    units=20,
    metric="open_files",
)

_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (700, hard))


class Reads(keras.callbacks.Callback):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.parts = [folder / f"part-{part}.bin" for part in range(20)]
        for part in self.parts:
            part.write_bytes(bytes(1000))
        self.opened: list[Any] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.opened += [part.open("rb") for part in self.parts]

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if corpus.FIXED:
            for each in self.opened:
                each.close()
            self.opened.clear()


with tempfile.TemporaryDirectory() as name:
    corpus.epochs_of(LEAK, Reads(Path(name)))
