"""A script tries variants of a model and keeps what each fit returned; earlier models stay.

Taken over: variants evaluated three times and averaged. Changed: the histories are kept, which is
what does it today.
"""

import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="keras-team/keras#9345",
    also=("tensorflow/tensorflow#45592",),
    kind="searches",
    unit="fit",
    grows=("anonymous", "malloc", "blocks"),
    expected="leak",
    named=("rebuilt", "retained_traces"),
    cause="each History refers to its model, so a list of them keeps all models",
    remedy="keep history.history; build the model once and set its weights back",
)

x = np.random.rand(32, 64).astype("float32")
model = corpus.dense(64, 256, 256, 1, optimizer="adam")
first = model.get_weights()
histories = []
for index in range(corpus.units(LEAK)):
    if corpus.FIXED:
        model.set_weights(first)
        history = model.fit(x, x[:, :1], verbose=0, callbacks=corpus.watch()).history
    else:
        model = corpus.dense(64, 256, 256, 1, optimizer="adam")
        history = model.fit(x, x[:, :1], verbose=0, callbacks=corpus.watch())
    histories.append(history)
    corpus.unit(index)
