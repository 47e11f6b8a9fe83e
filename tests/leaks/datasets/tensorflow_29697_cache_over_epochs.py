"""Memory keeps increasing although a cached data set should only be read once.

Taken over: a cached pipeline, read over several epochs. Changed: in memory; steps_per_epoch cuts
one pass into ten epochs, so that the cache fills through all of them.
"""

from typing import Any

import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#29697",
    also=("tensorflow/tensorflow#42773", "tensorflow/tensorflow#27128"),
    kind="buffers",
    unit="epoch",
    grows=(),
    expected="none",
    cause="cache() fills over ten epochs of 8 MB, then nothing grows",
    remedy="no cache()",
    units=30,
)

EPOCHS, STEPS = 10, 20


def batch(_number: Any) -> Any:
    return tf.random.uniform((32, 3200)), tf.zeros((32, 1))


data = tf.data.Dataset.range(EPOCHS * STEPS).map(batch)
data = data if corpus.FIXED else data.cache()
model = corpus.dense(3200, 1)
kept = corpus.watch(each_epoch=True)
options: dict[str, Any] = {"steps_per_epoch": STEPS, "verbose": 0, "callbacks": kept}
model.fit(data.repeat(), epochs=corpus.units(LEAK), **options)
