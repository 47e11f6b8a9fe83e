"""An Optuna study of Keras models takes 1 GB more with each trial.

Taken over: two dense layers of suggested widths, EarlyStopping, validation, evaluate. Changed:
widths up to 256, two epochs. gc_after_trial, which people try, changes nothing.
"""

from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="optuna/optuna#1178",
    also=("optuna/optuna#3050",),
    kind="searches",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "rebuilt"),
    cause="the traces of each trial's model stay",
    remedy=(
        "drop the entries of dead models from the gradient registry after each trial, as collect()"
        " does"
    ),
    units=20,
    needs=("optuna",),
)

optuna = corpus.require("optuna")
optuna.logging.set_verbosity(optuna.logging.ERROR)
x = np.random.rand(200, 100).astype("float32")


def objective(trial: Any) -> float:
    widths = [trial.suggest_int(f"dense_{n}", 16, 256) for n in (1, 2)]
    optimizer = trial.suggest_categorical("optimizer", ["adam", "sgd"])
    model = corpus.dense(100, *widths, 1, optimizer=optimizer)
    stopping = keras.callbacks.EarlyStopping(patience=1)
    kept = [stopping, *corpus.watch()]
    model.fit(x, x[:, :1], validation_split=0.2, epochs=2, verbose=0, callbacks=kept)
    return model.evaluate(x, x[:, :1], verbose=0)


def after_trial(_study: Any, trial: Any) -> None:
    if corpus.FIXED:
        keras.backend.clear_session()
        corpus.forget_gradients()
    corpus.unit(trial.number)


study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
study.optimize(objective, corpus.units(LEAK), gc_after_trial=True, callbacks=[after_trial])
