"""A loop of fits of one epoch reads and writes a growing file between them."""

import json
import tempfile
from pathlib import Path

import keras
import numpy as np

from tests.leaks import slowdowns
from tests.leaks.slowdowns import Slowdown

SLOW = Slowdown(
    thread="kentsommer/keras-inceptionV4#8",
    expected="slower",
    part="between_fits",
    remedy="append a line to the file in place of writing it whole",
)

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.ones((16 * 60, 8), "float32"), np.ones((16 * 60, 1), "float32")
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "results.json")
    file.write_text("[]", encoding="ascii")
    for index in range(slowdowns.units(SLOW)):
        model.fit(x, y, batch_size=16, verbose=0, callbacks=slowdowns.watch(each_epoch=False))
        with slowdowns.spent("between_fits"):
            new = [{"index": index, "value": 0.5}] * 8_000
            if slowdowns.FIXED:
                with file.open("a", encoding="ascii") as out:
                    out.write(json.dumps(new) + "\n")
            else:
                results = json.loads(file.read_text(encoding="ascii")) + new
                file.write_text(json.dumps(results), encoding="ascii")
        slowdowns.unit(index)
