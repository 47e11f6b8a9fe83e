"""Cached data sets take 40% more in TF 2.1 than in 2.0.

Taken over: images through map and cache(), fit. Changed: 1500 images of 64 x 64, 70 MB.
"""

from typing import Any

import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#36240",
    also=("tensorflow/tensorflow#38617",),
    kind="buffers",
    unit="epoch",
    grows=(),
    expected="none",
    cause="cache() fills in the first epoch, and keeps all elements",
    remedy="no cache()",
    units=20,
)


def image(_number: Any) -> Any:
    return tf.random.uniform((64 * 64 * 3,)), tf.constant([1.0])


data = tf.data.Dataset.range(1500).map(image)
data = data if corpus.FIXED else data.cache()
model = corpus.dense(64 * 64 * 3, 1)
kept = corpus.watch(each_epoch=True)
model.fit(data.batch(50).prefetch(-1), epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
