"""A plain class trains in a tf.function method, one object a round; flat without the decorator.

Taken over: three layers of 256, Adam, clear_session. Changed: batches and steps; a tiny fit of
another model ends each round, as a callback sees nothing otherwise.
"""

import gc
from typing import Any

import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#62854",
    kind="custom loops",
    unit="call",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "rebuilt", "retracing"),
    cause="the trace of each object's bound method stays, with its custom gradients",
    remedy="no tf.function",
    fixed="growing",
    units=30,
)


class Regressor:
    def __init__(self) -> None:
        inner = [tf.keras.layers.Dense(256) for _ in range(3)]
        self.net = tf.keras.Sequential([*inner, tf.keras.layers.Dense(1)])
        self.optimizer = tf.optimizers.Adam()
        self.net.build((None, 20))
        self.optimizer.build(self.net.trainable_variables)

    def step(self, x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.net(x, training=True) - y) ** 2)
        weights = self.net.trainable_variables
        self.optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    @tf.function
    def traced(self, x: Any, y: Any) -> Any:
        return self.step(x, y)


x, y = tf.random.normal((64, 20)), tf.random.normal((64, 1))
watched = corpus.dense(4, 1)
few = np.ones((4, 4), "float32")
for index in range(corpus.units(LEAK)):
    model = Regressor()
    for _ in range(10):
        (model.step if corpus.FIXED else model.traced)(x, y)
    del model
    gc.collect()
    watched.fit(few, few[:, :1], verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
