"""New models are trained one after the other from an ImageDataGenerator.

Taken over: images of CIFAR-10's shape, shifts and flips, a small convolutional net. Changed: 400
random images.
"""

import gc
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#37505",
    also=("tensorflow/tensorflow#50379",),
    kind="retained traces",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "rebuilt"),
    cause="the models' traces stay; the generator is no longer a cause",
    remedy="train one model",
    units=20,
)

x = np.random.rand(400, 32, 32, 3).astype("float32")
y = np.random.randint(0, 10, 400)


def build() -> Any:
    model = tf.keras.Sequential(
        [
            layers.Input((32, 32, 3)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


image_generator = tf.keras.preprocessing.image.ImageDataGenerator
kept = build()
for index in range(corpus.units(LEAK)):
    if corpus.FIXED:
        kept.fit(x, y, batch_size=50, epochs=2, verbose=0, callbacks=corpus.watch())
    else:
        model = build()
        images = image_generator(width_shift_range=0.1, height_shift_range=0.1)
        data = images.flow(x, y, batch_size=50)
        model.fit(data, epochs=2, verbose=0, callbacks=corpus.watch())
        del model
        tf.keras.backend.clear_session()
    gc.collect()
    corpus.unit(index)
