"""cache() before repeat(), and steps_per_epoch: the cache fills over thirty epochs, then no more.

Changed: 3000 images of 64 x 64, 147 MB, 5 steps of 20 an epoch.
"""

from typing import Any

import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#56404",
    also=("larq/zoo#258",),
    kind="buffers",
    unit="epoch",
    grows=("anonymous",),
    expected="none",
    cause="cache() fills until each element was read once, here in 30 epochs",
    remedy="no cache()",
    units=60,
)


def image(_number: Any) -> Any:
    return tf.random.uniform((64 * 64 * 3,)), tf.constant([1.0])


data = tf.data.Dataset.range(3000).map(image)
data = data if corpus.FIXED else data.cache()
data = data.repeat().batch(20).prefetch(2)
model = corpus.dense(64 * 64 * 3, 1)
kept = corpus.watch(each_epoch=True)
epochs = corpus.units(LEAK)
model.fit(data, steps_per_epoch=5, epochs=epochs, verbose=0, callbacks=kept)
