"""Iterating a data set of arrays inside a tf.function: the arrays stay with its trace.

Taken over: from_tensor_slices of images, passed to a tf.function. Changed: a new data set each
round, which a map function captures as a tensor of 4 MB; a fit on it follows.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#41395",
    also=("tensorflow/tensorflow#27414", "tensorflow/tensorflow#38693"),
    kind="datasets",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("kept", "retracing", "tensors", "malloc"),
    cause="a traced function of the module captures each round's table as a constant of its graph",
    remedy="pass the table as an argument",
)

cache: list[Any] = []


def lookup(table: Any) -> Any:
    @tf.function
    def look(number: Any) -> Any:
        return table[number % 1000]

    return look


@tf.function
def look_up(table: Any, number: Any) -> Any:
    return table[number % 1000]


model = corpus.dense(1000, 1)
for index in range(corpus.units(LEAK)):
    table = tf.random.uniform((1000, 1000))
    if corpus.FIXED:
        rows = tf.stack([look_up(table, tf.constant(n)) for n in range(16)])
    else:
        cache.append(lookup(table))
        rows = tf.stack([cache[-1](tf.constant(n)) for n in range(16)])
    model.fit(np.asarray(rows), np.zeros((16, 1)), verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
