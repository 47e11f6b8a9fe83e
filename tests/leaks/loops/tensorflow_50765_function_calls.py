"""RAM grows with each call of any tf.function, TF 2.8 to 2.11; a native leak, cured in 2.12.

Taken over: a function that returns its image. Changed: 4000 calls a unit, and a fit.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#50765",
    also=("tensorflow/tensorflow#57982",),
    kind="custom loops",
    unit="call",
    grows=(),
    expected="tiny",
    cause="the table of rendezvous kept an entry for each call",
    remedy="TF 2.12",
    units=20,
    fixed="",
)


@tf.function
def operate(image: Any) -> Any:
    return image


image = tf.zeros((6, 6, 7))
model = corpus.dense(4, 1)
for index in range(corpus.units(LEAK)):
    for _ in range(4000):
        operate(image)
    model.fit(np.ones((8, 4)), np.ones((8, 1)), verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
