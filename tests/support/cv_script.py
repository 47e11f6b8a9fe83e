"""A script without a main guard that cross-validates a Keras model by scikit-learn's splitters."""

import sys

import keras
import numpy as np
from sklearn.model_selection import (  # pyright: ignore[reportMissingImports] - a user has it
    GroupKFold,
    KFold,
)

from kmonitor.integrations.scikit_learn import cross_validate

X = np.random.default_rng(0).normal(size=(60, 4)).astype("float32")
Y = (X[:, 0] > 0).astype("int32")
CVS = {
    "number": 2,
    "k-fold": KFold(2, shuffle=True, random_state=1),
    "groups": GroupKFold(2),
}


def make_model() -> keras.Model:
    """A small classifier."""
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, activation="softmax")])
    loss = "sparse_categorical_crossentropy"
    model.compile(keras.optimizers.Adam(0.05), loss=loss, metrics=["accuracy"])
    return model


scores = cross_validate(
    make_model,
    X,
    Y,
    cv=CVS[sys.argv[1]],
    groups=np.arange(60) % 5,
    fit={"epochs": 30},
    study="study",
    at_once=2,
)
found = [float(each) for each in scores["test_accuracy"]]
sys.stdout.write(f"{found} {len(scores['fit_time'])}\n")
