"""Each epoch creates its iterator over the data, which takes longer than its few steps."""

# pyright: reportImplicitOverride=false
from contextlib import ExitStack
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
    remedy="one iterator for all epochs: dataset.repeat() with steps_per_epoch",
)

STEPS = 20
BATCH = 32


class FirstBatch(keras.callbacks.Callback):
    """Measured from an epoch's begin to its first step."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = ExitStack()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.waiting.enter_context(slowdowns.spent("input"))

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.waiting.close()


clips = np.ones((BATCH * STEPS, 16), "float32")
dataset = tf.data.Dataset.from_tensor_slices((clips, clips[:, :1]))
for _ in range(40):  # stages of a pipeline, which each epoch starts
    dataset = dataset.map(lambda x, y: (x, y), num_parallel_calls=4)
dataset = dataset.shuffle(BATCH * STEPS)
dataset = dataset.repeat() if slowdowns.FIXED else dataset
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(16), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(
    dataset.batch(BATCH).prefetch(2),
    steps_per_epoch=STEPS if slowdowns.FIXED else None,
    epochs=slowdowns.units(SLOW),
    verbose=0,
    callbacks=[FirstBatch(), *slowdowns.watch()],
)
