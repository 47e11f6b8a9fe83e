"""An agent replays batches: predict and fit(epochs=1) on one model at each step.

Changed: 15 fits a unit.
"""

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="AndreaVidali/Deep-QLearning-Agent-for-Traffic-Signal-Control#35",
    also=("inoryy/tensorflow2-deep-reinforcement-learning#6", "tensorflow/tensorflow#32394"),
    kind="predict and evaluate loops",
    unit="call",
    grows=("blocks",),
    expected="tiny",
    cause="a data adapter, an iterator and a History for each fit, until a full collection",
    remedy="train_on_batch",
    units=20,
    fixed="tiny",
)

model = corpus.dense(80, 100, 100, 4, optimizer="adam")
for index in range(corpus.units(LEAK)):
    for _ in range(15):
        states = np.random.rand(50, 80).astype("float32")
        values = model.predict(states, verbose=0)
        if corpus.FIXED:
            model.train_on_batch(states, values)
        else:
            model.fit(states, values, epochs=1, verbose=0, callbacks=corpus.watch())
    if corpus.FIXED:
        model.fit(states, values, epochs=1, verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
