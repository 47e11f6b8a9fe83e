"""A first epoch that traces, and fills a cache of the data."""

import time

import keras
import tensorflow as tf

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="twin: first epoch",
    expected="none",
    units=40,
)


def slow(number: tf.Tensor) -> tf.Tensor:
    time.sleep(0.01)
    return number


data = (
    tf.data.Dataset.range(60)
    .map(lambda number: tf.py_function(slow, [number], tf.int64))
    .map(
        lambda number: (
            tf.ones((16, 8)) + 0.0 * tf.cast(tf.reduce_sum(number), "float32"),
            tf.ones((16, 1)),
        )
    )
    .cache()
)

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(
    data,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=slowdowns.watch(),
)
