"""A tf.function takes the model as an argument; each freshly loaded model stays.

Taken over: an MLP with Dropout and LayerNormalization. Changed: three layers; an eager fit of one
batch follows.
"""

import gc
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="https://discuss.ai.google.dev/t/memory-leak-in-prediction-tensorflow/82886",
    kind="retracing",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retracing", "rebuilt"),
    cause="one trace for each model object, which the module's function keeps alive",
    remedy="a tf.function for each model, dropped with it",
)


def infer(model: Any, inputs: Any) -> Any:
    return tf.stop_gradient(model(inputs, training=False))


def build() -> Any:
    model = tf.keras.Sequential([layers.Input((50,))])
    for width in (512, 256, 128):
        model.add(layers.Dense(width, activation="relu"))
        model.add(layers.Dropout(0.2))
        model.add(layers.LayerNormalization())
    model.add(layers.Dense(1, activation="sigmoid"))
    return model


shared = tf.function(infer)
x = np.random.rand(64, 50).astype("float32")
for index in range(corpus.units(LEAK)):
    tf.keras.backend.clear_session()
    model = build()
    inference = tf.function(infer) if corpus.FIXED else shared
    labels = inference(model, tf.constant(x)).numpy() > 0.5
    model.compile("sgd", "mse", run_eagerly=True)
    model.fit(x[:8], labels[:8].astype("float32"), verbose=0, callbacks=corpus.watch())
    del model, inference
    gc.collect()
    corpus.unit(index)
