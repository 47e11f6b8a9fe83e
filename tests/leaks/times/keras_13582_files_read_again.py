"""Samples are files. Once they and the process no longer fit in memory, each is read from disk."""

import tempfile
from pathlib import Path

import numpy as np

from tests.leaks.memory_bound import (
    BATCH_BYTES,
    BOUND_BYTES,
    N_BATCHES,
    bound_memory,
    train_beside_kept,
)
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="keras-team/keras#13582",
    expected="slower",
    part="input",
    units=40,
    is_late=True,
    remedy="keep nothing of an epoch",
)

bound_memory(BOUND_BYTES)
folder = tempfile.TemporaryDirectory(dir="/var/tmp")
for index in range(N_BATCHES):
    Path(folder.name, str(index)).write_bytes(np.random.default_rng(0).bytes(BATCH_BYTES))
train_beside_kept(SLOW, lambda index: np.fromfile(Path(folder.name, str(index)), "uint8"))
