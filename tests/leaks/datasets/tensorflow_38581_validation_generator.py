"""Each validation from a generator left memory in TF 2.1; nothing does today.

Taken over: an endless generator as validation_data, two steps. Changed: 100 000 numbers a row.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#38581",
    also=("tensorflow/tensorflow#35982",),
    kind="validation",
    unit="epoch",
    grows=(),
    expected="none",
    cause="the generator's queue was started anew for each validation, and not drained",
    remedy="arrays as validation data",
)

WIDTH = 100_000


def endless() -> Iterator[Any]:
    while True:
        yield np.random.rand(4, WIDTH).astype("float32"), np.zeros((4, 1), "float32")


model = corpus.dense(WIDTH, 1)
validation: dict[str, Any] = {"validation_data": endless(), "validation_steps": 2}
if corpus.FIXED:
    validation = {"validation_data": next(endless())}
model.fit(
    endless(),
    steps_per_epoch=5,
    epochs=corpus.units(LEAK),
    verbose=0,
    callbacks=corpus.watch(each_epoch=True),
    **validation,
)
