"""A tf.function is called with sequences of ever new lengths.

Changed: it is the forward pass of a small encoder, and a fit follows each ten calls.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#124972",
    kind="retracing",
    unit="call",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retracing",),
    cause="one trace for each length, as long as the function lives",
    remedy="lengths padded to one",
    units=30,
)

encoder = tf.keras.Sequential(
    [tf.keras.layers.Dense(64, activation="tanh"), tf.keras.layers.Dense(64)]
)


@tf.function
def encode(sequence: Any) -> Any:
    return tf.reduce_mean(encoder(sequence), axis=1)


head = corpus.dense(64, 1, optimizer="adam")
rng = np.random.default_rng(0)
for index in range(corpus.units(LEAK)):
    features: list[Any] = []
    for step in range(10):
        length = 320 if corpus.FIXED else 10 + index * 10 + step
        features.append(encode(tf.constant(rng.random((4, length, 32), dtype="float32"))))
    x = np.concatenate(features)
    head.fit(x, x[:, :1], verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
