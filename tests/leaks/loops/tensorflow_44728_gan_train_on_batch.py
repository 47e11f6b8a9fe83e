"""train_on_batch in a GAN's loop is said to leak; nothing grows today.

Taken over: discriminator and stacked model in turns, noise of 400. Changed: sizes; trainable is
switched at each step, as tutorials do.
"""

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#44728",
    also=("tensorflow/tensorflow#32954",),
    kind="custom loops",
    unit="call",
    grows=(),
    expected="none",
    cause="not found in the thread",
    remedy="set trainable once",
    units=20,
)

generator = corpus.dense(400, 128, 256)
discriminator = corpus.dense(256, 64, 1, optimizer="adam")
discriminator.trainable = False
stacked = keras.Sequential([generator, discriminator])
stacked.compile("adam", "mse")
for index in range(corpus.units(LEAK)):
    noise = np.random.normal(size=(32, 400)).astype("float32")
    for _ in range(30):
        if not corpus.FIXED:
            discriminator.trainable = True
        discriminator.train_on_batch(generator.predict_on_batch(noise), np.zeros((32, 1)))
        if not corpus.FIXED:
            discriminator.trainable = False
        stacked.train_on_batch(noise, np.ones((32, 1)))
    stacked.fit(noise, np.ones((32, 1)), verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
