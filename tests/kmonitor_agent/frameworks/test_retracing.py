# pyright: reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportFunctionMemberAccess=false
"""TensorFlow counts traces and warns of them after reloads as it does without."""

import logging
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function

from kmonitor_agent.frameworks import detection
from kmonitor_agent.frameworks.tensorflow.step_comparison import traced_functions
from kmonitor_agent.wire.messages.commands import ReloadMode
from tests.support.reloading import BATCH, KERAS, Reclaim, Training, arrays, dense_model

pytestmark = [*KERAS, pytest.mark.slow]

FULL = pytest.mark.full
ENOUGH = 5
"""Reloads or retraces after which TensorFlow warns: it does at the fifth trace."""


def line_model() -> Any:
    """Traced in no time."""
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


class OwnStep(keras.Sequential):
    """Makes its train function in its own way."""

    def make_train_function(self, force: Any = None) -> Any:  # pyright: ignore[reportImplicitOverride]
        if self.train_function is None or force:

            @tf.function(reduce_retracing=True)
            def own_step(iterator: Any) -> Any:
                return self.train_step(next(iterator))

            self.train_function = own_step
        return self.train_function


def own_step_model() -> Any:
    """The same with a train function of the script."""
    model = OwnStep([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


SHORT = Training(line_model, data=lambda: arrays(samples=16), epochs=ENOUGH + 1)
"""Two steps an epoch: with more calls between them TensorFlow forgives traces."""


@pytest.fixture(autouse=True)
def begin_anew(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """As in a new process: no function was traced yet, no warning was given."""

    def begin_anew() -> None:
        fresh = polymorphic_function._FrequentTracingDetectorManager()
        monkeypatch.setattr(polymorphic_function, "_frequent_tracing_detector_manager", fresh)
        monkeypatch.setattr(detection, "_known", {})

    begin_anew()
    return begin_anew


def counted() -> list[tuple[Any, ...]]:
    """TensorFlow's whole count, but for what is ours."""
    detectors = polymorphic_function._frequent_tracing_detector_manager._detectors
    return sorted(
        (
            key.co_name,
            key.co_firstlineno,
            tuple(each._calls_per_tracings),
            each._call_count,
            each._total_warning_count,
        )
        for key, each in detectors.items()
        if hasattr(key, "co_name")
    )


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Iterator[list[logging.LogRecord]]:
    """TensorFlow's warnings of retracing, as they come."""
    found: list[logging.LogRecord] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: found.append(record) if "retracing" in record.msg else None
    logger = tf.get_logger()
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)
    caplog.clear()


@pytest.mark.full
@pytest.mark.parametrize("mode", ["assign", "recreate"])
def test_many_reloads_in_short_epochs_bring_no_warning(
    mode: ReloadMode, warnings: list[Any], tmp_path: Path
):
    callback = Reclaim(tmp_path, epochs=range(ENOUGH), mode=mode)

    SHORT.run(callback)

    assert [outcome.why for outcome in callback.outcomes] == [""] * ENOUGH
    assert [record.getMessage()[:80] for record in warnings] == []


@pytest.mark.full
def test_step_functions_that_the_script_makes_anew_still_warns_after_reloads(
    warnings: list[Any], tmp_path: Path
):
    callback = Reclaim(tmp_path, epochs=range(3))
    model = SHORT.run(callback).model
    assert not warnings
    data = arrays()

    for _ in range(ENOUGH):
        model.make_train_function(force=True)  # a script that makes its step again each time
        model.train_on_batch(data["x"], data["y"])

    assert "one_step_on_" in warnings[0].getMessage()


@pytest.mark.full
def test_a_function_of_the_script_warns_through_reloads(warnings: list[Any], tmp_path: Path):
    @tf.function
    def my_leak(x: Any, n: int) -> Any:
        return x * n

    class Leak(Reclaim):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # pyright: ignore[reportImplicitOverride]
            my_leak(tf.constant(1.0), epoch)
            super().on_epoch_end(epoch, logs)

    SHORT.run(Leak(tmp_path, epochs=range(ENOUGH)))

    assert all("my_leak" in record.getMessage() for record in warnings)
    assert warnings


@dataclass(frozen=True)
class Script:
    """A script that trains models one after another; reloads come as often as it has places."""

    make: Callable[[], Any] = line_model
    models: int = 2
    fits: int = 1
    samples: int = 16
    validation: bool = True
    epochs: int = 3
    batches: Collection[int] = (0,)

    def run(self, folder: Path, at: str) -> int:
        """Train, with reloads at "epoch" ends, after a "batch" or "never"; how many there were."""
        data = arrays(samples=self.samples, validation=self.validation)
        epochs = range(self.epochs)
        done = 0
        for _ in range(self.models):
            model = self.make()
            for _ in range(self.fits):
                callback = Reclaim(
                    folder,
                    epochs=epochs if at == "epoch" else (),
                    batches=[*product(epochs, self.batches)] if at == "batch" else (),
                )
                model.fit(**data, epochs=self.epochs, verbose=0, callbacks=[callback])
                done += sum(outcome.ok for outcome in callback.outcomes)
            model.predict(data["x"], batch_size=BATCH, verbose=0)
        return done


SCRIPTS = {
    "both functions, a last batch of its own": Script(samples=12, epochs=2),
    "one model again": Script(models=1, fits=2),
    "enough models to warn by itself": Script(models=5, samples=8, validation=False, epochs=2),
    "new models": Script(models=3, epochs=4),
    "before every batch": Script(models=1, samples=48, batches=range(6)),
    "the script's own step function": Script(own_step_model, batches=(0, 1)),
}


@pytest.mark.parametrize(
    ("name", "at"),
    [
        pytest.param(name, at, marks=() if (n, at) == (0, "batch") else FULL)
        for n, name in enumerate(SCRIPTS)
        for at in ("batch", "epoch")
    ],
)
def test_tensorflow_counts_and_warns_as_without_reloads(
    name: str, at: str, begin_anew: Callable[[], None], warnings: list[Any], tmp_path: Path
):
    script = SCRIPTS[name]

    def counted_after(at: str) -> tuple[Any, ...]:
        begin_anew()
        warnings.clear()
        assert (script.run(tmp_path, at) > 1) == (at != "never")
        return counted(), [record.getMessage()[:60] for record in warnings]

    assert counted_after(at) == counted_after("never")


def test_an_eager_step_has_no_traced_functions():
    model = dense_model(run_eagerly=True)
    model.make_train_function()

    assert list(traced_functions(model.train_function)) == []
    assert list(traced_functions(None)) == []
