"""A traced epoch takes the step as an argument, and is retraced for each epoch.

Taken over: a function that is given another one. Changed: a new lambda each time, as bound methods
are equal today.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#31175",
    kind="retracing",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retracing",),
    cause="functions are keys of the cache by identity, so that each new one is traced and kept",
    remedy="one function for all epochs",
    units=20,
)

model = corpus.dense(32, 128, 128, 1, optimizer="adam")
data = tf.random.normal((16, 8, 32))


@tf.function
def run_epoch(step: Callable[[Any], Any], batches: Any) -> Any:
    total = 0.0
    for batch in tf.unstack(batches):
        total += step(batch)
    return total


def step_of(scale: float) -> Callable[[Any], Any]:
    return lambda batch: tf.reduce_mean(model(batch)) * scale


once = step_of(1.0)
few = np.ones((8, 32), "float32")
for index in range(corpus.units(LEAK)):
    run_epoch(once if corpus.FIXED else step_of(1.0), data)
    model.fit(few, few[:, :1], verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
