"""One eager call of a deep ResNet on 20 images takes 5 GB, which stay: a plateau, and no leak.

Changed: ResNet50V2 without weights, six images of 128 x 128; a fit of a head follows.
"""

import keras
import numpy as np

from tests.leaks import corpus
from tests.leaks.report import Report

LEAK = Report(
    thread="tensorflow/tensorflow#63701",
    also=("keras-team/keras#19500",),
    kind="eager training",
    unit="call",
    grows=(),
    expected="none",
    cause="intermediates of an eager forward pass, whose memory malloc keeps",
    remedy="model.predict, which takes less",
)

options = {"include_top": False, "pooling": "avg", "input_shape": (128, 128, 3)}
trunk = keras.applications.ResNet50V2(weights=None, **options)
images = np.zeros((6, 128, 128, 3), "float32")
head = corpus.dense(2048, 2)
for index in range(corpus.units(LEAK)):
    features = trunk.predict(images, verbose=0) if corpus.FIXED else trunk(images).numpy()
    head.fit(features, np.ones((6, 2), "float32"), verbose=0, callbacks=corpus.watch())
    corpus.unit(index)
