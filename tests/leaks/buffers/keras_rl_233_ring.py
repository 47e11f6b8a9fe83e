"""A ring of experiences: a deque that grows to its limit, and then forgets the oldest.

Taken over: deque(maxlen). Changed: full after eight fits.
"""

from collections import deque
from typing import Any

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-rl/keras-rl#233",
    also=("ageron/handson-ml#204",),
    kind="buffers",
    unit="fit",
    grows=(),
    expected="none",
    cause="the ring fills in eight fits of 3 MB, then nothing grows",
    remedy="none needed",
    fixed="",
    units=30,
)

ring: deque[Any] = deque(maxlen=800)
model = corpus.dense(1000, 4)
for index in range(corpus.units(LEAK)):
    ring.extend(np.random.rand(1000).astype("float32") for _ in range(100))
    states = np.stack([ring[n] for n in range(-32, 0)])
    model.fit(states, states[:, :4], verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
