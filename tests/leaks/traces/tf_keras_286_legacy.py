"""Keras 2 (tf_keras): models built, fitted and dropped in a loop, with clear_session."""

import gc

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/tf-keras#286",
    also=("keras-team/tf-keras#898",),
    kind="retained traces",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "rebuilt"),
    cause="traces of dead models stay in the gradient registry",
    remedy="drop the entries of dead models from the gradient registry, as collect() does",
    needs=("tf_keras",),
)

tf_keras = corpus.require("tf_keras")
layers = tf_keras.layers
x, y = np.random.rand(128, 50).astype("float32"), np.random.randint(0, 5, 128)
for index in range(corpus.units(LEAK)):
    model = tf_keras.Sequential(
        [
            layers.Input((50,)),
            layers.Dense(64, activation="relu"),
            layers.BatchNormalization(),
            layers.Dense(5, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(x, y, verbose=0, callbacks=corpus.watch())
    del model
    tf_keras.backend.clear_session()
    gc.collect()
    if corpus.FIXED:
        corpus.forget_gradients()
    corpus.unit(index)
