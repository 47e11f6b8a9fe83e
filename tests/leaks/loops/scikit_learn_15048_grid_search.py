"""A grid search over a Keras classifier takes more memory with each candidate.

Taken over: a small net for rows of eleven numbers, by scikit-learn's grid and folds. Changed:
Keras' own wrapper; a loop in place of GridSearchCV, so that a unit can be counted.
"""

from typing import Any

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="scikit-learn/scikit-learn#15048",
    also=("keras-team/keras#11693", "keras-team/keras#2102"),
    kind="searches",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "rebuilt"),
    cause="the traces of each candidate's model stay",
    remedy="drop the entries of dead models from the gradient registry, as collect() does",
    units=24,
    needs=("sklearn",),
)

selection = corpus.require("sklearn.model_selection")
x, y = np.random.rand(150, 11).astype("float32"), np.random.rand(150)
grid = selection.ParameterGrid({"width": [6, 8, 12, 16], "optimizer": ["adam", "rmsprop"]})
folds = selection.KFold(max(2, corpus.units(LEAK) // len(grid)))


def build(X: Any, y: Any, width: int, optimizer: str) -> Any:  # noqa: N803 - their names
    return corpus.dense(11, width, width, 1, optimizer=optimizer)


index = 0
for candidate in grid:
    for train, test in folds.split(x):
        if index >= corpus.units(LEAK):
            break
        options = {"batch_size": 25, "epochs": 2, "verbose": 0, "callbacks": corpus.watch()}
        kept: dict[str, Any] = {"model_kwargs": candidate, "fit_kwargs": options}
        regressor = keras.wrappers.SKLearnRegressor(build, **kept)
        regressor.fit(x[train], y[train])
        regressor.predict(x[test])
        if corpus.FIXED:
            del regressor
            keras.backend.clear_session()
            corpus.forget_gradients()
        corpus.unit(index)
        index += 1
