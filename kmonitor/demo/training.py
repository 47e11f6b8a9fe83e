# pyright: basic
# Keras and TensorFlow come without types.
"""The demo's training: a cross-validation whose models are trained one after the other.

An ordinary Keras script except for its reports. Keras keeps each model's traced graphs forever
(tensorflow#80895), so the process grows with each model, until kmonitor's limit is crossed and
the training is reloaded in the middle. Standalone: `python -m kmonitor.demo.training --help`.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import cyclopts
import numpy as np
import psutil
from cyclopts import Parameter

from kmonitor.cli.common.terminal import print_text
from kmonitor.demo.digits import SIDE, DigitSet, draw_digits
from kmonitor.demo.reports import AnyDemoReport, Began, FoldDone, LimitTaken, as_line
from kmonitor_agent.frameworks.detection import framework_for

RUN_NAME = "demo cross-validation"

IMAGES = 1800
BATCH = 32
SEED = 7

MODELS_BEFORE_LIMIT = 2
"""Models trained without a limit, to measure how much each adds."""

ROOM_MODELS = 1.3
"""Growth allowed by the limit, in models: the fourth crosses it, not the third."""

COOLDOWN_S = 10.0


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Length of the training.

    Attributes:
        folds: Number of models.
        epochs: Epochs of each model.
        pace_s: Least duration of an epoch, seconds, so that people can watch; 0: as fast as
            possible.
    """

    folds: int
    epochs: int
    pace_s: float


def train(
    plan: TrainingPlan, *, monitored: bool, send_report: Callable[[AnyDemoReport], None]
) -> None:
    """Train all models, with kmonitor or without; the same models either way.

    Args:
        plan: Length of the training.
        monitored: Train with `MonitorCallback`.
        send_report: Called with each report.
    """
    import tensorflow as tf

    # Sums in a fixed order, so that the two processes can be compared bit for bit.
    tf.config.experimental.enable_op_determinism()
    digits = draw_digits(IMAGES, seed=SEED)
    callbacks = _Callbacks(plan.pace_s, monitored=monitored)
    send_report(Began(run=callbacks.run, images=IMAGES, folds=plan.folds))
    grown: list[int] = []
    for fold in range(1, plan.folds + 1):
        result = _train_one(fold, plan, digits, callbacks.of_a_fit())
        send_report(result)
        grown.append(result.operations)
        if fold == MODELS_BEFORE_LIMIT and monitored:
            send_report(callbacks.set_limit(grown))


def _train_one(fold: int, plan: TrainingPlan, digits: DigitSet, callbacks: list[Any]) -> FoldDone:
    import keras

    started_s = time.monotonic()
    keras.utils.set_random_seed(SEED + fold)
    model = build_model()
    left_out = (np.arange(len(digits.labels)) // 10) % plan.folds == fold - 1
    history = model.fit(
        digits.images[~left_out],
        digits.labels[~left_out],
        validation_data=(digits.images[left_out], digits.labels[left_out]),
        batch_size=BATCH,
        epochs=plan.epochs,
        verbose=0,
        callbacks=callbacks,
    )
    size = framework_for(model).graph(model)
    memory = psutil.Process().memory_info()
    return FoldDone(
        fold=fold,
        seconds=time.monotonic() - started_s,
        operations=size.operations or 0,
        functions=size.functions,
        ram_bytes=memory.rss - getattr(memory, "shared", 0),
        accuracy=float(history.history["val_accuracy"][-1]),
        digest=digest_of(model, history.history),
    )


def build_model() -> Any:
    """A small network with parts that make an exact reload hard: Dropout, BatchNorm, Adam."""
    import keras

    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 1)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(512, activation="relu"),
            layers.Dense(256, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ],
        name="digits",
    )
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model


def digest_of(model: Any, history: dict[str, list[float]]) -> str:
    """SHA-256 of every variable of model and optimizer, seeds included, and of the history."""
    total = hashlib.sha256()
    for variable in [*model.variables, *model.optimizer.variables]:
        total.update(np.ascontiguousarray(variable.numpy()).tobytes())
    for name in sorted(history):
        total.update(name.encode())
        total.update(np.asarray(history[name], np.float64).tobytes())
    return total.hexdigest()


class _Callbacks:
    """The callbacks of each fit; main thread only."""

    def __init__(self, pace_s: float, *, monitored: bool) -> None:
        self._pace_s = pace_s
        self._monitor: Any = _monitor() if monitored else None

    @property
    def run(self) -> str:
        return "" if self._monitor is None else str(self._monitor.run_id)

    def of_a_fit(self) -> list[Any]:
        return [c for c in (self._monitor, *_paces(self._pace_s)) if c is not None]

    def set_limit(self, grown: list[int]) -> LimitTaken:
        """Watch the remaining models with a limit derived from the growth of the first ones."""
        # Collections by chance make a model look smaller than it is, never larger.
        growth = max(grown[-1] - grown[-2], grown[0])
        operations = round(grown[-1] + ROOM_MODELS * growth)
        self._monitor = _monitor(reload_at_operations=operations)
        return LimitTaken(operations=operations, growth=growth)


def _monitor(*, reload_at_operations: int | None = None) -> Any:
    # Imported here so that the plain training has nothing of the callback in its process.
    from kmonitor_agent import Limit, MonitorCallback  # noqa: PLC0415

    if reload_at_operations is None:
        return MonitorCallback(RUN_NAME)
    limit = Limit("graph", reload_at_operations, action="reload", cooldown_s=COOLDOWN_S)
    return MonitorCallback(RUN_NAME, limits=[limit])


def _paces(pace_s: float) -> Iterator[Any]:
    """Yield a callback that delays each epoch until the least time of the one before is over."""
    import keras

    next_s = 0.0

    def hold(epoch: int, logs: object = None) -> None:
        """Wait until the least time of the epoch before is over."""
        nonlocal next_s
        del epoch, logs
        time.sleep(max(0.0, next_s - time.monotonic()))
        next_s = time.monotonic() + pace_s

    if pace_s > 0:
        yield keras.callbacks.LambdaCallback(on_epoch_begin=hold)


def main(
    *,
    folds: Annotated[int, Parameter(validator=cyclopts.validators.Number(gte=1))] = 6,
    epochs: Annotated[int, Parameter(validator=cyclopts.validators.Number(gte=1))] = 4,
    pace: Annotated[float, Parameter(validator=cyclopts.validators.Number(gte=0))] = 2.0,
    plain: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Train the demo's models in this process and print a JSON line for each.

    Args:
        folds: How many models, one after the other.
        pace: Least time of an epoch, seconds, so that people can watch.
        plain: Without kmonitor.
    """
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    plan = TrainingPlan(folds=folds, epochs=epochs, pace_s=pace)
    train(plan, monitored=not plain, send_report=lambda report: print_text(as_line(report)))


if __name__ == "__main__":
    cyclopts.run(main)
