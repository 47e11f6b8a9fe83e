"""A generator with map(AUTOTUNE) and prefetch(AUTOTUNE) grows, then is flat.

Changed: random images of 96 x 96.
"""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#36821",
    kind="buffers",
    unit="epoch",
    grows=(),
    expected="none",
    cause="autotune raises parallel calls and buffers as far as its budget allows",
    remedy="prefetch(2) and two calls",
    units=20,
)

calls = 2 if corpus.FIXED else tf.data.AUTOTUNE


def images() -> Iterator[Any]:
    for _ in range(160):
        yield np.random.rand(96, 96, 3).astype("float32"), np.float32(0)


def flip(image: Any, label: Any) -> Any:
    return tf.image.random_flip_left_right(image), label


kinds = (tf.TensorSpec((96, 96, 3)), tf.TensorSpec(()))
data = tf.data.Dataset.from_generator(images, output_signature=kinds)
data = data.map(flip, num_parallel_calls=calls).batch(16).prefetch(calls)
model = keras.Sequential(
    [layers.Input((96, 96, 3)), layers.Conv2D(8, 3, strides=4), layers.Flatten(), layers.Dense(1)]
)
model.compile("sgd", "mse")
kept = corpus.watch(each_epoch=True)
model.fit(data, epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
