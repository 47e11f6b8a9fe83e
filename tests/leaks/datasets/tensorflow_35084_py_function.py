"""A data set with a py_function is made in each step, and is not freed.

Taken over: records parsed by a tf.py_function in map. Changed: the parser closes over a table of 3
MB; each data set feeds a fit.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#35084",
    also=("tensorflow/tensorflow#35010",),
    kind="datasets",
    unit="fit",
    grows=("anonymous", "malloc"),
    expected="leak",
    named=("kept", "malloc"),
    cause="the root graph holds every function that was registered for py_function",
    remedy="one data set for all fits",
    units=30,
)


def dataset() -> Any:
    table = np.random.rand(3000, 256).astype("float32")

    def parse(number: Any) -> Any:
        return table[int(number) % 3000] + 1

    def load(number: Any) -> Any:
        row = tf.py_function(parse, [number], tf.float32)
        row.set_shape((256,))
        return row, tf.constant(0.0)

    return tf.data.Dataset.range(200).map(load).batch(50)


model = corpus.dense(256, 1)
once = dataset()
for index in range(corpus.units(LEAK)):
    data = once if corpus.FIXED else dataset()
    model.fit(data, verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
