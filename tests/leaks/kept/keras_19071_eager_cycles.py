"""Eager training with a custom loss needs all memory; sometimes the collector relieves it.

Taken over: run_eagerly, a custom loss on large outputs. Changed: 8 MB a batch.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#19071",
    kind="eager training",
    unit="epoch",
    grows=(),
    expected="none",
    cause="intermediate tensors come and go",
    remedy="none needed; a traced step takes less",
)


def loss(y: Any, predicted: Any) -> Any:
    return tf.reduce_mean(tf.math.log(1.0 + tf.exp(predicted)) - y * predicted)


model = corpus.dense(16, 2000, loss=loss, run_eagerly=not corpus.FIXED)
x, y = np.random.rand(6000, 16).astype("float32"), np.zeros((6000, 2000), "float32")
kept = corpus.watch(each_epoch=True)
model.fit(x, y, 1000, epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
