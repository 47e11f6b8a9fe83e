# pyright: reportImplicitOverride=false, reportArgumentType=false, reportCallIssue=false
"""A real `fit` that reclaims at chosen moments, and what its result is compared by."""

import contextlib
import gc
from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src.random import seed_generator

from kmonitor_agent.frameworks.base import Framework
from kmonitor_agent.frameworks.detection import framework_for
from kmonitor_agent.reclaim.actions import collect, reload, save
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from kmonitor_agent.wire.messages.commands import ReloadMode
from tests.support.leaking import gradient_registry

if TYPE_CHECKING:
    from kmonitor_agent.reclaim.outcome import ReclaimOutcome

# Objects of the imports are never garbage; freezing them makes a collection ten times faster.
gc.collect()
gc.freeze()

KERAS = [
    pytest.mark.keras,
    # WORKAROUND keras/src/backend/tensorflow/core.py convert_to_numpy: numpy 2 warns that
    # TensorFlow's variables know no copy keyword. Remove when TensorFlow's `__array__` does.
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    # WORKAROUND AutoGraph marks nodes in a way that Python 3.13 deprecates; as an error it would
    # leave functions as they are written. Remove when TensorFlow's pyct no longer does.
    pytest.mark.filterwarnings("ignore:.*got an unexpected keyword argument:DeprecationWarning"),
]
"""Marks of every test that runs Keras."""

SAMPLES = 48
BATCH = 8


class Reclaim(keras.callbacks.Callback):
    """Runs an action at the end of chosen epochs, or after chosen (epoch, batch) pairs.

    With several steps in one execution not every batch is reported: the next that is counts.
    """

    def __init__(
        self,
        folder: Path,
        *,
        epochs: Collection[int] = (),
        batches: Collection[tuple[int, int]] = (),
        action: str = "reload",
        store: CheckpointStore | None = None,
        mode: ReloadMode | None = None,
    ) -> None:
        super().__init__()
        self.store = store or CheckpointStore(folder)
        self.outcomes: list[ReclaimOutcome] = []
        self._epochs = frozenset(epochs)
        self._batches = set(batches)
        self._action = action
        self._mode: ReloadMode | None = mode
        self._epoch = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        due = {(epoch, at) for epoch, at in self._batches if epoch == self._epoch and at <= batch}
        if due:
            self._batches -= due
            self._act(batch + 1)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch in self._epochs:
            self._act(0)

    def _act(self, step: int) -> None:
        framework = framework_for(self.model)
        tag = CheckpointTag("run", 1, self._epoch, step)
        match self._action:
            case "save":
                self.outcomes.append(save(framework, self.model, self.store, tag=tag))
            case "collect":
                self.outcomes.append(collect(framework, self.model))
            case _:
                outcome = reload(framework, self.model, self.store, tag=tag, mode=self._mode)
                self.outcomes.append(outcome)


@dataclass
class Training:
    """Recipe to make a model and fit it; every call of `run` starts from the same seeds."""

    model: Callable[[], Any]
    fit: dict[str, Any] = field(default_factory=dict)
    data: Callable[[], dict[str, Any]] | None = None
    callbacks: Callable[[], list[Any]] = list
    epochs: int = 3
    seed: int = 7

    def run(self, *extra: Any) -> "Result":
        """One uninterrupted `fit`, but for what the extra callbacks do."""
        seed_everything(self.seed)
        model = self.model()
        data = self.data() if self.data is not None else arrays()
        history = model.fit(
            **data,
            **self.fit,
            epochs=self.epochs,
            verbose=0,
            callbacks=[*extra, *self.callbacks()],
        )
        return Result(model, history.history, state_of(model))


def seed_everything(seed: int) -> None:
    """The same seeds each time, also of Keras' generator for what has no own seed."""
    seed_generator.global_seed_generator()  # made first: making it draws a number
    keras.utils.set_random_seed(seed)
    # Keras 3.6 leaves the generator as it is; newer ones may have made another.
    generator = seed_generator.global_seed_generator()
    generator.state.assign([seed, 0])


@dataclass
class Result:
    """Results of a training."""

    model: Any
    history: dict[str, list[Any]]
    state: list[tuple[str, Any]]

    def assert_same(self, other: "Result") -> None:
        """Equal bit for bit: History and every variable."""
        assert self.history.keys() == other.history.keys()
        for name, values in self.history.items():
            assert np.array_equal(values, other.history[name], equal_nan=True), name
        assert [path for path, _ in self.state] == [path for path, _ in other.state]
        for (path, ours), (_, theirs) in zip(self.state, other.state, strict=True):
            assert ours.dtype == theirs.dtype
            assert ours.tobytes() == theirs.tobytes(), path


@contextlib.contextmanager
def clean_registry() -> Generator[Framework]:
    """The framework, with nothing in TensorFlow's gradient registry that another test left."""
    framework = tensorflow_framework()
    collect(framework, None)
    _purge()  # also traces of other tests' dead functions, which a release leaves
    yield framework
    collect(framework, None)
    _purge()


def _purge() -> None:
    gc.collect()
    registry = gradient_registry()
    for name in [name for name in registry if name.startswith("CustomGradient-")]:
        del registry[name]
    gc.collect()


def tensorflow_framework() -> Framework:
    """The framework of this process's Keras."""
    return framework_for(keras.Model())


def state_of(model: Any) -> list[tuple[str, Any]]:
    """Every variable of the exact state, with a name that no counter touches."""
    steps = framework_for(model).reclaim_steps()
    assert steps is not None
    return [
        (
            f"{n}:{each.path.partition('/')[0]}:{each.variable.shape}",
            np.array(steps.read(each.variable)),
        )
        for n, each in enumerate(steps.state(model))
    ]


def arrays(*, samples: int = SAMPLES, validation: bool = True) -> dict[str, Any]:
    """Inputs of 8 features and a binary target, the same each time; with validation data."""
    random = np.random.default_rng(5)
    x = random.normal(size=(samples, 8)).astype("float32")
    y = (x.sum(axis=1, keepdims=True) + random.normal(size=(samples, 1)) > 0).astype("float32")
    data: dict[str, Any] = {"x": x, "y": y, "batch_size": BATCH}
    if validation:
        data["validation_data"] = (x[:16], y[:16])
    return data


def shuffled_dataset() -> dict[str, Any]:
    """The same as a tf.data pipeline that reshuffles each epoch, and one for validation."""
    data = arrays()
    train = tf.data.Dataset.from_tensor_slices((data["x"], data["y"]))
    return {
        "shuffle": False,  # Keras warns otherwise: the pipeline does it
        "x": train.shuffle(SAMPLES, reshuffle_each_iteration=True).batch(BATCH),
        "validation_data": tf.data.Dataset.from_tensor_slices(data["validation_data"]).batch(
            BATCH
        ),
    }


def dense_layers(*, units: int = 8) -> list[Any]:
    """Dense, BatchNormalization and Dropout: weights, statistics and a seed state."""
    return [
        keras.layers.Dense(units, activation="silu"),
        keras.layers.BatchNormalization(),
        keras.layers.Dropout(0.4),
        keras.layers.Dense(1, activation="sigmoid"),
    ]


def dense_model(**compiled: Any) -> Any:
    """A small model, compiled with momentum and the binary cross-entropy by default."""
    model = keras.Sequential([keras.Input((8,)), *dense_layers()])
    settings: dict[str, Any] = {
        "optimizer": keras.optimizers.SGD(0.01, momentum=0.9),
        "loss": "binary_crossentropy",
    }
    model.compile(**(settings | compiled))
    return model
