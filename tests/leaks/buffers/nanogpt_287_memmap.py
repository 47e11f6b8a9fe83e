"""RAM rises while a generator reads a np.memmap, until the file is read: mapped pages, no leak.

Taken over: random blocks of a mapped file of tokens, as int64. Changed: 160 MB, eight passes'
worth of steps.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="karpathy/nanoGPT#287",
    also=("karpathy/nanoGPT#428", "numpy/numpy#21292", "huggingface/datasets#4883"),
    kind="mapped files",
    unit="epoch",
    grows=(),
    expected="none",
    cause="pages of the file count as resident, and the system takes them back when it needs to",
    remedy="map the file anew for each batch",
    units=30,
)

BLOCK = 8192
path = Path(tempfile.mkdtemp(), "train.bin")
with path.open("wb") as out:
    for _ in range(40):
        out.write(np.random.randint(0, 200, 2 * 2**20, "uint16").tobytes())
mapped = np.memmap(path, dtype="uint16", mode="r")
rng = np.random.default_rng(1)


def batches() -> Iterator[Any]:
    while True:
        data = np.memmap(path, dtype="uint16", mode="r") if corpus.FIXED else mapped
        starts = rng.integers(0, len(mapped) - BLOCK, 16)
        rows = np.stack([data[start : start + BLOCK].astype("int64") for start in starts])
        yield rows / 200.0, rows[:, :1] / 200.0


model = corpus.dense(BLOCK, 1)
kept = corpus.watch(each_epoch=True)
options: dict[str, Any] = {"steps_per_epoch": 20, "verbose": 0, "callbacks": kept}
model.fit(batches(), epochs=corpus.units(LEAK), **options)
