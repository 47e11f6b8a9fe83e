"""A small Keras training that makes two epochs a second until it gets a request to stop.

`python -m tests.support.paced_training NAME`, with KMONITOR_HOME set.
"""

import sys
import threading
from typing import Any


def main(name: str) -> None:
    """Train."""
    import keras  # noqa: PLC0415 - only in the training process
    import numpy as np  # noqa: PLC0415

    from kmonitor_agent import MonitorCallback  # noqa: PLC0415

    model: Any = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    pace = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: threading.Event().wait(0.5) and None
    )
    x, y = np.zeros((32, 4), "float32"), np.zeros(32)
    callbacks = [pace, MonitorCallback(name)]
    model.fit(x, y, epochs=1_000_000, batch_size=8, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    main(sys.argv[1])
