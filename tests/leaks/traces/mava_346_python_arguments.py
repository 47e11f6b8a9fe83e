"""An agent's policy is a tf.function that gets Python numbers; memory grows until it is killed.

Changed: a policy of two layers whose exploration rate falls at each call; one fit an episode.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="instadeepai/Mava#346",
    also=("tensorflow/addons#807",),
    kind="retracing",
    unit="call",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retracing",),
    cause="the rate is a Python number, and each value is traced",
    remedy="pass the rate as a tensor",
)

model = corpus.dense(24, 64, 64, 4, optimizer="adam")


@tf.function
def policy(states: Any, rate: Any) -> Any:
    values = model(states)
    noise = tf.random.uniform(tf.shape(values)) * rate
    return tf.argmax(values + noise, axis=-1)


rate = 1.0
for index in range(corpus.units(LEAK)):
    states = np.random.rand(32, 24).astype("float32")
    for _ in range(10):
        rate *= 0.999
        policy(states, tf.constant(rate) if corpus.FIXED else rate)
    model.fit(states, states[:, :4], verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
