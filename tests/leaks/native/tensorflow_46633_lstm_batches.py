"""ru_maxrss climbs with an LSTM and not with dense layers; it settles after some epochs.

Taken over: samples of one channel, LSTM(1). Changed: 200 samples of 200 steps.
"""

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#46633",
    kind="warm-up",
    unit="epoch",
    grows=(),
    expected="none",
    cause="ru_maxrss is the highest ever; loops run ahead by different numbers of turns",
    remedy="none needed",
    fixed="",
)

x, y = np.random.rand(200, 200, 1), np.random.rand(200, 1)
inputs = keras.layers.Input((200, 1))
model = keras.Model(inputs, keras.layers.LSTM(1)(inputs))
model.compile("adam", "mse")
kept = corpus.watch(each_epoch=True)
model.fit(x, y, batch_size=20, epochs=corpus.units(LEAK), verbose=0, callbacks=kept)
