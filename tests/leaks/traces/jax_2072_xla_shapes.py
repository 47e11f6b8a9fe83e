"""A compiled function is applied to arrays of ever new sizes; its programs are never dropped.

Changed: TensorFlow's XLA, tf.function(jit_compile=True), whose cache of programs forgets none
either; a fit follows each round.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="jax-ml/jax#2072",
    also=("tensorflow/tensorflow#64170",),
    kind="xla",
    unit="call",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retracing", "malloc"),
    cause="one trace and one compiled program for each size",
    remedy="sizes padded to one",
    units=20,
)


@tf.function(jit_compile=True)
def product(a: Any, b: Any) -> Any:
    return tf.reduce_mean(tf.nn.relu(tf.matmul(a, b, transpose_a=True)))


model = corpus.dense(8, 8, 1)
few = np.ones((8, 8), "float32")
for index in range(corpus.units(LEAK)):
    for step in range(5):
        size = 64 if corpus.FIXED else 10 + index * 5 + step
        product(tf.ones((50, size)), tf.ones((50, size)))
    model.fit(few, few[:, :1], verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
