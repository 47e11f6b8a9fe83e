"""An Embedding is said to leak; the maintainer sees one small bump at the start, as expected.

Taken over: an embedding and a recurrent layer over random words.
"""

import keras
import numpy as np
from keras import layers

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#30952",
    kind="warm-up",
    unit="epoch",
    grows=(),
    expected="none",
    cause="first buffers and traces",
    remedy="none needed",
    fixed="",
)

x = np.random.randint(0, 5000, (640, 20))
model = keras.Sequential([layers.Embedding(5000, 64), layers.GRU(32), layers.Dense(1)])
model.compile("adam", "mse")
kept = corpus.watch(each_epoch=True)
model.fit(x, np.zeros((640, 1)), 64, epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
