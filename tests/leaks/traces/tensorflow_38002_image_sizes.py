"""A custom loop with GradientTape trains on images of many sizes: a new graph at every step.

Changed: a small convolutional net, four sizes a round; a fit of one size follows.
"""

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#38002",
    kind="custom loops",
    unit="call",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retracing",),
    cause="the step is traced for each size, forward and backward",
    remedy="declare the shape: input_signature",
    fixed="growing",
    units=20,
)

model = keras.Sequential(
    [
        layers.Input((None, None, 1)),
        layers.Conv2D(8, 3, activation="relu"),
        layers.Conv2D(8, 3, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(1),
    ]
)
model.compile("sgd", "mse")
optimizer = keras.optimizers.SGD()
optimizer.build(model.trainable_variables)


def train_step(images: Any) -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(images, training=True) ** 2)
    weights = model.trainable_variables
    optimizer.apply(tape.gradient(loss, weights), weights)
    return loss


signature = [tf.TensorSpec((2, None, None, 1))] if corpus.FIXED else None
step = tf.function(train_step, input_signature=signature)
same = np.zeros((2, 32, 32, 1), "float32")
for index in range(corpus.units(LEAK)):
    for part in range(4):
        size = 16 + index * 4 + part
        step(tf.random.uniform((2, size, size, 1)))
    model.fit(same, np.zeros((2, 1)), verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
