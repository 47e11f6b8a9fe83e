"""A Sequence remembers its images with lru_cache(100): it grows until a hundred are kept.

Taken over: lru_cache on __getitem__. Changed: 100 batches of 1 MB; twelve of them an epoch, drawn
at random.
"""

from functools import lru_cache
from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="stardist/stardist#107",
    also=("metal3d/keras-video-generators#21", "keras-team/keras#13588"),
    kind="buffers",
    unit="epoch",
    grows=(),
    expected="none",
    cause="data are kept once they were read: it slows down, and ends with the data",
    remedy="no cache",
    units=40,
)

N_KEPT = 100


def read(number: int) -> Any:
    return np.full((64, 4096), number / N_KEPT, "float32")


remembered = lru_cache(N_KEPT)(read)
rng = np.random.default_rng(3)


class Images(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        rows = (read if corpus.FIXED else remembered)(int(rng.integers(0, N_KEPT)))
        return rows, rows[:, :1]


model = corpus.dense(4096, 1)
kept = corpus.watch(each_epoch=True)
model.fit(Images(), epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
