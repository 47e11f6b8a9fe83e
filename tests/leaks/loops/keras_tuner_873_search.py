"""A search of stacked LSTMs with KerasTuner takes RAM until the machine dies.

Taken over: the hypermodel. Changed: up to 48 units, RandomSearch, trials of one epoch.
"""

import tempfile
from typing import Any

import keras
import numpy as np
from keras import layers

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras-tuner#873",
    also=("keras-team/keras-tuner#395", "keras-team/keras-tuner#1031"),
    kind="searches",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "rebuilt"),
    cause="trials run in one process; clear_session before each does not free their traces",
    remedy="each trial in a process of its own",
    units=20,
    fixed="",
    needs=("keras_tuner",),
)

keras_tuner = corpus.require("keras_tuner")
x, y = np.random.rand(128, 8, 4).astype("float32"), np.random.rand(128, 1).astype("float32")


def build(hp: Any) -> Any:
    model = keras.Sequential([layers.Input((8, 4))])
    n_more = hp.Int("additional_layers", 1, 4)
    width = hp.Int("lstm_1_unit", 4, 48, sampling="log")
    model.add(layers.LSTM(width, return_sequences=True))
    for i in range(n_more):
        width = hp.Int(f"lstm_{i + 2}_unit", 4, 48, sampling="log")
        model.add(layers.LSTM(width, return_sequences=i < n_more - 1))
    model.add(layers.Dropout(hp.Float("dropout", 0, 0.5, step=0.1)))
    model.add(layers.Dense(hp.Int("dense_units", 4, 64, sampling="log"), activation="relu"))
    model.add(layers.Dense(1))
    model.compile("adam", "mse")
    return model


class Search(keras_tuner.RandomSearch):
    n_done = 0

    def run_trial(self, trial: Any, *args: Any, **options: Any) -> Any:
        # Keras Tuner's own imports TensorBoard.
        return self.hypermodel.build(trial.hyperparameters).fit(*args, **options)

    def on_trial_end(self, trial: Any) -> None:
        super().on_trial_end(trial)
        corpus.unit(self.n_done)
        self.n_done += 1


options = {"directory": tempfile.mkdtemp(), "overwrite": True, "seed": 1}
search = Search(build, objective="val_loss", max_trials=corpus.units(LEAK), **options)
search.search(x, y, epochs=1, validation_split=0.25, verbose=0, callbacks=corpus.watch())
