"""An epoch is one of several fits, and a growing list is sorted before each."""

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="kentsommer/keras-inceptionV4#8",
    expected="slower",
    part="between_fits",
    remedy="sort only what is new",
)

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.ones((16 * 60, 8), "float32"), np.ones((16 * 60, 1), "float32")
rng = np.random.default_rng(0)
samples: list[float] = []
for index in range(slowdowns.units(SLOW)):
    with slowdowns.spent("between_fits"):
        new = rng.random(25_000).tolist()
        samples = new if slowdowns.FIXED else samples + new
        samples = sorted(samples, key=lambda each: -each)
        rng.shuffle(samples)
    model.fit(x, y, batch_size=16, verbose=0, callbacks=slowdowns.watch(each_epoch=False))
    slowdowns.unit(index)
