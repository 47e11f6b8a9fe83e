"""A mapped file is read from its begin to its end, over all epochs of a training.

Taken over: chunks of a large mapped file, each needed once. Changed: 240 MB, 8 MB an epoch, so
that the mapped part grows by the same with each.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="numpy/numpy#28825",
    also=("numpy/numpy#26532",),
    kind="mapped files",
    unit="epoch",
    grows=("file",),
    expected="none",
    cause="pages of the file, which the system takes back when it needs to",
    remedy="read the file with np.fromfile",
    units=30,
)

WIDTH, STEPS = 4096, 8
path = Path(tempfile.mkdtemp(), "data.bin")
with path.open("wb") as out:
    for _ in range(corpus.units(LEAK)):
        out.write(np.random.rand(2 * 2**20).astype("float32").tobytes())
mapped = np.memmap(path, dtype="float32", mode="r").reshape(-1, 64, WIDTH)


def read(number: int) -> Any:
    if not corpus.FIXED:
        return mapped[number]
    offset = number * 64 * WIDTH * 4
    return np.fromfile(path, "float32", 64 * WIDTH, offset=offset).reshape(64, WIDTH)


def batches() -> Iterator[Any]:
    for number in range(len(mapped)):
        rows = read(number)
        yield rows, rows[:, :1]


model = corpus.dense(WIDTH, 1)
kept = corpus.watch(each_epoch=True)
options: dict[str, Any] = {"steps_per_epoch": STEPS, "verbose": 0, "callbacks": kept}
model.fit(batches(), epochs=corpus.units(LEAK), **options)
