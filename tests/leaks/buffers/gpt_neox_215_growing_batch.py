"""The batch grows as training continues, and memory with it, in steps.

Taken over: a batch size that grows progressively. Changed: doubled every fifth fit, up to 16
times.
"""

from typing import Any

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="EleutherAI/gpt-neox#215",
    kind="curriculum",
    unit="fit",
    grows=(),
    expected="none",
    cause="activations of larger batches",
    remedy="none needed",
    fixed="",
    units=30,
)

model = corpus.dense(1000, 2000, 2000, 1)
x = np.random.rand(2048, 1000).astype("float32")
for index in range(corpus.units(LEAK)):
    batch_size = 128 * 2 ** min(index // 5, 4)
    options: dict[str, Any] = {"verbose": 0, "callbacks": corpus.watch()}
    model.fit(x, x[:, :1], batch_size=batch_size, **options)
    corpus.unit(index)
