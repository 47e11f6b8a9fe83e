"""Models are built, called and dropped in a loop; their weights are not released.

Taken over: wide dense layers. Changed: 2000 wide in place of 10000; a fit of one batch each.
"""

import gc

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#20245",
    kind="retained traces",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("retained_traces", "rebuilt"),
    cause="retained traces hold the weights",
    remedy="clear_session and gc.collect() after each, which do not help with TensorFlow",
    units=20,
    fixed="leak",
)

x, y = np.random.rand(32, 300).astype("float32"), np.zeros((32, 1), "float32")
for index in range(corpus.units(LEAK)):
    model = corpus.dense(300, 1000, 2000, 1)
    model.fit(x, y, verbose=0, callbacks=corpus.watch())
    del model
    if corpus.FIXED:
        keras.utils.clear_session()
        gc.collect()
    corpus.unit(index)
