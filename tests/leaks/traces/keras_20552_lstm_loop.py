"""A loop builds, fits, saves and loads an LSTM; neither clear_session nor the collector helps.

Taken over: 6 samples of 3 features, 4 classes, two LSTMs of 16, batches of 2, the best model
loaded again. Changed: 3 epochs in place of 50.
"""

import gc
import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import layers

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#20552",
    also=("tensorflow/tensorflow#80753", "tensorflow/tensorflow#80895"),
    kind="retained traces",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "rebuilt"),
    cause="each traced step registers custom gradients whose closures hold its graph for ever",
    remedy="drop the entries of dead models from the gradient registry, as collect() does",
    units=15,
)


def build() -> Any:
    model = keras.Sequential(
        [
            layers.Input((1, 3)),
            layers.LSTM(16, return_sequences=True),
            layers.LSTM(16),
            layers.Dropout(0.4),
            layers.Dense(8, activation="tanh"),
            layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(1e-3), "categorical_crossentropy", metrics=["accuracy"])
    return model


x = np.random.rand(6, 1, 3).astype("float32")
y = keras.utils.to_categorical(np.random.randint(0, 4, 6), 4)
best = Path(tempfile.mkdtemp(), "best.keras")
for index in range(corpus.units(LEAK)):
    model = build()
    kept = [
        keras.callbacks.EarlyStopping(patience=10, restore_best_weights=True),
        keras.callbacks.ModelCheckpoint(str(best), save_best_only=True),
        *corpus.watch(),
    ]
    model.fit(x, y, validation_data=(x, y), epochs=3, batch_size=2, verbose=0, callbacks=kept)
    model = keras.models.load_model(best)
    model.evaluate(x, y, verbose=0)
    del model, kept
    keras.backend.clear_session()
    gc.collect()
    if corpus.FIXED:
        corpus.forget_gradients()
    corpus.unit(index)
