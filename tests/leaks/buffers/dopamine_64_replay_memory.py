"""A replay memory is allocated at once and filled over many episodes: pages count once written.

Taken over: a buffer of np.zeros, filled in turn. Changed: 120 MB, filled by twenty fits.
"""

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="google/dopamine#64",
    also=("hill-a/stable-baselines#548",),
    kind="buffers",
    unit="fit",
    grows=(),
    expected="none",
    cause="the system gives a page of zeros when it is written to first, up to the buffer's end",
    remedy="none needed",
    fixed="",
    units=35,
)

N_FILLED = 20
memory = np.zeros((N_FILLED, 1500, 1000), "float32")
model = corpus.dense(1000, 1)
for index in range(corpus.units(LEAK)):
    memory[index % N_FILLED] = index + 1.0
    seen = memory[: min(index + 1, N_FILLED), :10].reshape(-1, 1000)
    model.fit(seen, seen[:, :1], verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
