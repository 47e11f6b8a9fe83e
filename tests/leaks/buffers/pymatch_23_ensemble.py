"""An ensemble of five models, all kept, each trained in turn.

Taken over: the members stay in memory for the whole training. Changed: five; they are made in the
first five fits and trained further in the others.
"""

from typing import Any

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="raharth/PyMatch#23",
    also=("frankkramer-lab/aucmedi#46",),
    kind="buffers",
    unit="fit",
    grows=(),
    expected="none",
    cause="five models with their traces, then nothing",
    remedy="none needed: they are the ensemble",
    fixed="",
    units=30,
)

members: list[Any] = []
x = np.random.rand(64, 100).astype("float32")
for index in range(corpus.units(LEAK)):
    if len(members) < 5:
        members.append(corpus.dense(100, 500, 500, 1, optimizer="adam"))
    model = members[index % 5]
    model.fit(x, x[:, :1], verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
