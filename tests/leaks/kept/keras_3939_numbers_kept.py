"""A custom loop averages losses of train_on_batch and test_on_batch and keeps them in a list.

Taken over: that loop, with a list named history. Changed: a fit ends each round.
"""

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#3939",
    kind="custom loops",
    unit="call",
    grows=(),
    expected="none",
    cause="a few numbers a round",
    remedy="none needed",
    fixed="",
)

model = corpus.dense(50, 64, 1)
x = np.random.rand(64, 50).astype("float32")
history = []
for index in range(corpus.units(LEAK)):
    losses = [float(model.train_on_batch(x, x[:, :1])) for _ in range(20)]
    tested = [float(model.test_on_batch(x, x[:, :1])) for _ in range(5)]
    history.append((sum(losses) / 20, sum(tested) / 5, losses))
    model.fit(x, x[:, :1], verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
