# pyright: basic, reportMissingImports=false, reportImplicitOverride=false
# pyright: reportArgumentType=false
"""A training script of several fits for Keras on JAX or PyTorch, of which each may be restarted.

`python -m tests.frameworks.backends.restart_script SCENARIO RESULT.json [FIT:EPOCH ...]`, see
`run_script`.
"""

import importlib
import random
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import layers

from tests.support.restarted_script import (
    BATCH,
    FITS,
    SAMPLES,
    Script,
    arrays,
    batches,
    run_script,
)

ON_TORCH = keras.backend.backend() == "torch"
torch: Any = importlib.import_module("torch") if ON_TORCH else None


def dense(*, wrapped: bool = False, **compiled: Any) -> Any:
    """A small model with Dropout and BatchNorm; of torch's own where that is wanted."""
    inner = [layers.BatchNormalization(), layers.Dropout(0.3)]
    if wrapped and ON_TORCH:
        module = torch.nn.Sequential(torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.4))
        inner = [layers.TorchModuleWrapper(module)]
    model = keras.Sequential(
        [layers.Input((6,)), layers.Dense(8, activation="relu"), *inner, layers.Dense(1)]
    )
    model.compile(**{"optimizer": "adam", "loss": "mse", "metrics": ["mae"], **compiled})
    return model


def cross_validation(script: Script) -> None:
    """Three folds over arrays that Keras shuffles by numpy's or torch's generator."""
    x, y = arrays()
    order = np.random.permutation(len(x))
    for held_out in np.array_split(order, FITS):
        rest = np.setdiff1d(order, held_out)
        np.random.shuffle(rest)
        model = dense(wrapped=True)
        script.fit(
            model,
            keras.callbacks.ReduceLROnPlateau("val_loss", patience=1, factor=0.5, min_delta=0.05),
            keras.callbacks.EarlyStopping(
                "val_loss", patience=2, min_delta=0.05, restore_best_weights=True
            ),
            x=x[rest],
            y=y[rest],
            batch_size=BATCH,
            validation_data=(x[held_out], y[held_out]),
        )
        script.tell(score=model.evaluate(x[held_out], y[held_out], verbose=0))


class Drawing(keras.callbacks.Callback):
    """Draws between the epochs from every generator that Keras' own data may draw from."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._draw()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._draw()

    def _draw(self) -> None:
        random.random()  # noqa: S311
        np.random.rand()
        if ON_TORCH:
            torch.rand(3)


def by_steps(script: Script) -> None:
    """One shuffled pass over the data lasts for two epochs, while others draw between them."""
    x, y = arrays()
    for _ in range(FITS):
        script.fit(dense(), Drawing(), x=x, y=y, batch_size=BATCH, steps_per_epoch=3, epochs=6)


class Pieces(keras.utils.PyDataset):
    """Batches by index, in an order that Python's generator draws."""

    def __init__(self) -> None:
        super().__init__()
        self.data = arrays()

    def __len__(self) -> int:
        return SAMPLES // BATCH

    def __getitem__(self, index: int) -> Any:
        x, y = self.data
        return x[index * BATCH : (index + 1) * BATCH], y[index * BATCH : (index + 1) * BATCH]


class Unbuilt(keras.Model):
    """No one builds it before its first fit."""

    def __init__(self) -> None:
        super().__init__()
        self.first = layers.Dense(8, activation="relu")
        self.drop = layers.Dropout(0.4)
        self.last = layers.Dense(1)

    def call(self, inputs: Any, training: bool = False) -> Any:  # noqa: FBT001, FBT002
        return self.last(self.drop(self.first(inputs), training=training))


def others(script: Script) -> None:
    """A PyDataset for an unbuilt model, a generator, and averages with a loss scale."""
    x, y = arrays()
    model = Unbuilt()
    model.compile(optimizer=keras.optimizers.AdamW(0.01), loss="mse")
    script.fit(model, Drawing(), x=Pieces(), validation_data=(x, y))
    script.fit(dense(), x=batches(x, y), steps_per_epoch=4)
    optimizer = keras.optimizers.AdamW(
        keras.optimizers.schedules.ExponentialDecay(0.01, 5, 0.9), use_ema=True
    )
    optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    script.fit(dense(optimizer=optimizer), x=Pieces(), steps_per_epoch=2, epochs=6)


def loaders(script: Script) -> None:
    """A loader of PyTorch's with its own generator, the same for all fits."""
    x, y = (torch.from_numpy(each) for each in arrays())
    generator = torch.Generator().manual_seed(5)
    data = torch.utils.data.TensorDataset(x, y)
    loader = torch.utils.data.DataLoader(data, BATCH, shuffle=True, generator=generator)
    for steps in (None, 3, None):
        script.fit(dense(), Drawing(), x=loader, steps_per_epoch=steps)


SCENARIOS: dict[str, Callable[[Script], None]] = {
    each.__name__: each for each in (cross_validation, by_steps, others, loaders)
}


def seed_all(seed: int) -> None:
    """Every generator."""
    keras.utils.set_random_seed(seed)
    if ON_TORCH:
        torch.manual_seed(seed)


if __name__ == "__main__":
    run_script(SCENARIOS, seed_all)
