"""shuffle() of half the data without cache() takes more than the whole of them.

Taken over: images made in map, shuffle, batch, fit of a small net. Changed: 600 images of 64 x 64.
"""

from typing import Any

import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#54299",
    kind="buffers",
    unit="epoch",
    grows=(),
    expected="none",
    cause="malloc keeps the freed buffer in one arena after another, and uses it again",
    remedy="cache().shuffle()",
)

N = 600


def image(_number: Any) -> Any:
    return tf.random.uniform((64 * 64 * 3,)), tf.constant([1.0])


data = tf.data.Dataset.range(N).map(image)
data = data.cache().shuffle(N // 2) if corpus.FIXED else data.shuffle(N // 2)
model = corpus.dense(64 * 64 * 3, 1)
kept = corpus.watch(each_epoch=True)
model.fit(data.batch(32).prefetch(1), epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
