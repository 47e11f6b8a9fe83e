"""Each epoch creates its iterator, which opens an archive, and that takes longer than steps."""

import time
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="VladimirLi/tfVideoResearch#34",
    expected="share",
    part="input",
    units=20,
    remedy="one iterator for all epochs, with steps_per_epoch",
)

STEPS = 20


def clips() -> Iterator[Any]:
    with slowdowns.spent("input"):
        time.sleep(0.08)  # opens the archive
    while True:
        for _ in range(STEPS):
            yield np.ones((8, 16), "float32"), np.ones((8, 1), "float32")
        if not slowdowns.FIXED:
            return


kinds = (tf.TensorSpec((None, 16)), tf.TensorSpec((None, 1)))
dataset = tf.data.Dataset.from_generator(clips, output_signature=kinds)
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(16), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(
    dataset.prefetch(2),
    steps_per_epoch=STEPS if slowdowns.FIXED else None,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=slowdowns.watch(),
)
