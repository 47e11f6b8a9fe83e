"""itertools.cycle keeps what a generator yielded: all of the first epoch, and no more.

Taken over: a generator of records wrapped in cycle. Changed: 50 batches of 1 MB.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="autorope/donkeycar#166",
    kind="buffers",
    unit="epoch",
    grows=(),
    expected="none",
    cause="the first epoch's batches are kept and used again",
    remedy="an endless generator",
)


def records() -> Iterator[Any]:
    for number in range(50):
        rows = np.full((64, 4096), number / 50, "float32")
        yield rows, rows[:, :1]


def endless() -> Iterator[Any]:
    if not corpus.FIXED:
        yield from itertools.cycle(records())
    while True:
        yield from records()


model = corpus.dense(4096, 1)
kept = corpus.watch(each_epoch=True)
options: dict[str, Any] = {"steps_per_epoch": 50, "verbose": 0, "callbacks": kept}
model.fit(endless(), epochs=corpus.units(LEAK), **options)
