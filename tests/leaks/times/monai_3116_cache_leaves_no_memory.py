"""Objects kept from each epoch leave ever less memory to the pages of the file that is read."""

import tempfile

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
    thread="Project-MONAI/MONAI#3116",
    expected="slower",
    part="input",
    cause="pressure",
    units=40,
    is_late=True,
    remedy="keep nothing of an epoch",
)

bound_memory(BOUND_BYTES)
file = tempfile.NamedTemporaryFile(dir="/var/tmp")  # noqa: SIM115 - read to the end
for _ in range(N_BATCHES):
    file.write(np.random.default_rng(0).bytes(BATCH_BYTES))
file.flush()
volumes = np.memmap(file.name, dtype="uint8", mode="r").reshape(N_BATCHES, -1)
train_beside_kept(SLOW, lambda index: volumes[index])
