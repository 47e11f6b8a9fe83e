"""Many models are fitted one after the other in one process; two people argue whether it grows.

Changed: sizes, as the report's data are not public.
"""

import multiprocessing
from typing import Any

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#43627",
    kind="retained traces",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "rebuilt"),
    cause="each model's traces stay",
    remedy="one process for each model",
    units=30,
    fixed="none",
)


def fit_one(seed: int, callbacks: Any = ()) -> float:
    import keras  # noqa: PLC0415 - with the remedy only the child processes load it

    keras.utils.set_random_seed(seed)
    x = np.random.rand(500, 20).astype("float32")
    model = corpus.dense(20, 64, 32, 1, optimizer="adam")
    model.fit(x, x[:, :1], epochs=3, batch_size=32, verbose=0, callbacks=list(callbacks))
    return float(model.predict(x[:8], verbose=0).mean())


if __name__ == "__main__":
    for index in range(corpus.units(LEAK)):
        if corpus.FIXED:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                pool.apply(fit_one, (index,))
        else:
            fit_one(index, corpus.watch())
        corpus.unit(index)
