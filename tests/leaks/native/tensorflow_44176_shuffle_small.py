"""shuffle() of millions of small elements: memory is not given back after the buffer is dropped.

Taken over: a large shuffle buffer of single numbers. Changed: 300 000 of them, a new iterator each
epoch, which fills the free memory of the last.
"""

from typing import Any

import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#44176",
    kind="native",
    unit="epoch",
    grows=(),
    expected="none",
    cause="glibc keeps small freed blocks, and uses them again",
    remedy="shuffle indices, or batches",
    units=15,
)

N = 300_000


def row(numbers: Any) -> Any:
    x = tf.cast(tf.reshape(numbers, (-1, 1)), tf.float32)
    return x, x


data = tf.data.Dataset.range(N)
data = data.batch(1000).shuffle(300) if corpus.FIXED else data.shuffle(N).batch(1000)
model = corpus.dense(1, 1)
kept = corpus.watch(each_epoch=True)
model.fit(data.map(row), epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
