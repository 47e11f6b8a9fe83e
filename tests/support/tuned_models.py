"""Hypermodels that behave and that do not, for KerasTuner's searches."""

import os
import signal
from typing import Any

import keras
import keras_tuner as kt
import numpy as np
from typing_extensions import override

X = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
Y = (X[:, :1] > 0).astype("float32")
Z = Y[:7]
"""Too few for X."""

WAYS = ["good", "leaks", "crashes", "huge", "wide", "raises"]
_CHUNK = 32 * 2**20


def data() -> Any:
    """The data in batches, which cannot be passed to another process."""
    import tensorflow as tf  # noqa: PLC0415 - slow to import

    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(32)


def small(hp: Any) -> keras.Model:
    """The same model, with the same weights, for the same values."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(hp.Int("units", 1, 8))])
    model.add(keras.layers.Dense(1))
    model.compile(keras.optimizers.Adam(hp.Choice("rate", [0.1, 0.01])), "mse")
    return model


def by_way(hp: Any) -> keras.Model:
    """Each value of `way` ends its trial in its own way."""
    way = hp.Choice("way", WAYS)
    if way == "leaks":
        kept: list[bytearray] = []
        while True:
            kept.append(bytearray(b"x") * _CHUNK)
    if way == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if way == "raises":
        raise ValueError("no luck")
    keras.utils.set_random_seed(1)
    # "huge" has 64 GiB of weights; "wide" none to speak of, but 16 GiB of feature maps.
    units = 2**32 if way == "huge" else 1
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(units)])
    if way == "wide":
        model.add(keras.layers.RepeatVector(2**24))
        model.add(keras.layers.Dense(1, activation="tanh"))
        model.add(keras.layers.GlobalAveragePooling1D())
    model.compile("adam", "mse")
    return model


def largest_first(hp: Any) -> keras.Model:
    """Its first model has 64 GiB of weights."""
    width = hp.Choice("width", [2**32, 1])
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(width)])
    model.compile(keras.optimizers.Adam(hp.Choice("rate", [0.1, 0.01])), "mse")
    return model


class Scaled(kt.HyperModel):
    """A hypermodel with its own attribute."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    @override
    def build(self, hp: Any) -> keras.Model:
        """As `small`."""
        return small(hp)

    @override
    def fit(self, hp: Any, model: keras.Model, *args: Any, **kwargs: Any) -> float:
        """A number alone."""
        history = model.fit(*args, **kwargs)
        return self.scale * min(history.history["loss"])


class Untouched(kt.HyperModel):
    """Notes how often its process built a model, and whether each layer made its own weights."""

    def __init__(self) -> None:
        super().__init__()
        self.builds = 0
        self.is_kerass = True

    @override
    def build(self, hp: Any) -> keras.Model:
        """As `small`."""
        self.builds += 1
        made_by = keras.layers.Layer.add_weight
        self.is_kerass = self.is_kerass and made_by.__module__.startswith("keras.")
        return small(hp)

    @override
    def fit(self, hp: Any, model: keras.Model, *args: Any, **kwargs: Any) -> float:
        """Number of builds; negative where Keras was patched."""
        model.fit(*args, **kwargs)
        return float(self.builds if self.is_kerass else -self.builds)
