"""Dataset.from_generator in a loop: what each generator closes over is never freed.

Changed: the generator closes over an array of 4 MB, and each data set feeds one fit.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#37653",
    also=("tensorflow/tensorflow#65675", "tensorflow/tensorflow#123530"),
    kind="datasets",
    unit="fit",
    grows=("anonymous", "malloc"),
    expected="leak",
    named=("kept", "malloc"),
    cause="the generator is appended to a list of the root graph, which holds it for ever",
    remedy="one data set for all fits",
    units=30,
)


def dataset() -> Any:
    images = np.random.rand(1000, 1024).astype("float32")

    def generate() -> Iterator[Any]:
        for row in images[:64]:
            yield row, np.float32(0)

    kinds = (tf.TensorSpec((1024,), tf.float32), tf.TensorSpec((), tf.float32))
    return tf.data.Dataset.from_generator(generate, output_signature=kinds).batch(16)


model = corpus.dense(1024, 1)
once = dataset()
for index in range(corpus.units(LEAK)):
    data = once if corpus.FIXED else dataset()
    model.fit(data, verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
