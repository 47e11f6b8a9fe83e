"""A small Keras training as a function of a fold."""

import os
import signal
from typing import Any

from kmonitor_agent import Fold

EPOCHS = 6


def train_fold(fold: Fold) -> dict[str, Any]:
    """Train with dropout and a shuffle; what is learned depends on every seed."""
    return _trained(fold, fold.seed)


def train_alike(fold: Fold) -> dict[str, Any]:
    """The same; all folds have the same result."""
    return _trained(fold, 7)


def train_one(fold: Fold) -> None:
    """A model of which each leaves much behind in its process."""
    del fold
    train_model(clears=False)


def train_model(clears: bool) -> None:  # noqa: FBT001 - as the loop in the benchmark writes it
    """Make and train a model, as in a loop over models."""
    import keras  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    if clears:
        keras.backend.clear_session()
    x = np.ones((256, 64), "float32")
    layers = [keras.Input((64,)), *(keras.layers.Dense(512) for _ in range(6))]
    model: Any = keras.Sequential([*layers, keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(x, x[:, :1], epochs=3, verbose=0)


def _trained(fold: Fold, seed: int) -> dict[str, Any]:
    import keras  # noqa: PLC0415 - in the fold's process only
    import numpy as np  # noqa: PLC0415

    from kmonitor_agent import MonitorCallback  # noqa: PLC0415

    keras.utils.set_random_seed(seed)
    x = np.random.default_rng(0).normal(size=(96, 8)).astype("float32")
    layers = [keras.Input((8,)), keras.layers.Dense(16), keras.layers.Dropout(0.3)]
    model: Any = keras.Sequential([*layers, keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    stop = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, _: _maybe_die(fold, epoch))
    model.fit(
        x, x[:, :1], epochs=EPOCHS, batch_size=16, verbose=0, callbacks=[stop, MonitorCallback()]
    )
    history: Any = model.history
    return {
        "loss": history.history["loss"],
        "weights": [np.asarray(each) for each in model.get_weights()],
    }


def _maybe_die(fold: Fold, epoch: int) -> None:
    if os.environ.get("DIES_AT") == f"{fold.index} {epoch} {fold.attempt}":
        os.kill(os.getpid(), signal.SIGKILL)


def die_once(fold: Fold) -> dict[str, Any]:
    """`train_alike`, killed in its fifth epoch at the first attempt."""
    os.environ["DIES_AT"] = f"{fold.index} 4 1"
    return train_alike(fold)
