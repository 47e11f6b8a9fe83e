# pyright: reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportFunctionMemberAccess=false
"""A reload's own retrace is not counted as the script's; what the script retraces still is."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function

from kmonitor_agent.frameworks import detect, tensorflow_internals
from kmonitor_agent.frameworks.tensorflow_internals import find_internals
from kmonitor_agent.frameworks.tensorflow_retracing import forget_tracing_of, traced_functions
from tests.support.reloading import KERAS, Reclaim, Training, arrays, dense_model

pytestmark = [*KERAS, pytest.mark.slow]

ENOUGH = 5
"""Reloads or retraces after which TensorFlow warns: it does at the fifth trace."""


def line_model() -> Any:
    """Traced in no time."""
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


SHORT = Training(line_model, data=lambda: arrays(samples=16), epochs=ENOUGH + 1)
"""Two steps an epoch: with more calls between them TensorFlow forgives traces."""


@pytest.fixture(autouse=True)
def fresh_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process: no function was traced yet, no warning was given."""
    fresh = polymorphic_function._FrequentTracingDetectorManager()
    monkeypatch.setattr(polymorphic_function, "_frequent_tracing_detector_manager", fresh)
    monkeypatch.setattr(detect, "_known", {})


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


def test_many_reloads_in_short_epochs_bring_no_warning(warnings: list[Any], tmp_path: Path):
    callback = Reclaim(tmp_path, epochs=range(ENOUGH))

    SHORT.run(callback)

    assert [outcome.ok for outcome in callback.outcomes] == [True] * ENOUGH
    assert [record.getMessage()[:80] for record in warnings] == []


@pytest.mark.full
def test_without_the_count_of_tracing_reloads_are_the_same_but_tensorflow_warns(
    warnings: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    look = tensorflow_internals._name

    def name(module: str, wanted: str) -> Any:
        if "tracing" in wanted:
            raise AttributeError(wanted)
        return look(module, wanted)

    monkeypatch.setattr(tensorflow_internals, "_name", name)
    callback = Reclaim(tmp_path, epochs=range(ENOUGH))

    SHORT.run(callback)

    assert [outcome.why for outcome in callback.outcomes] == [""] * ENOUGH
    assert warnings, "the other tests must be able to fail"


@pytest.mark.full
def test_step_functions_that_the_script_makes_anew_still_warns_after_reloads(
    warnings: list[Any], tmp_path: Path
):
    callback = Reclaim(tmp_path, epochs=range(3))
    model = SHORT.run(callback).model
    assert not warnings
    data = arrays()

    for _ in range(ENOUGH):
        model.make_train_function(force=True)  # a script that makes its step anew each time
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


def test_only_keras_own_functions_are_forgotten_and_their_calls_are_kept():
    detectors = polymorphic_function._frequent_tracing_detector_manager._detectors
    model = dense_model()
    model.fit(**arrays(validation=False), verbose=0)

    @tf.function
    def my_step(x: Any) -> Any:
        return x

    my_step(1)
    functions = list(traced_functions(model.train_function))
    mine = detectors[my_step._key_for_call_stats]
    # What is traced inside another function is not counted.
    (older,) = [detectors[k] for f in functions if (k := f._key_for_call_stats) in detectors]
    older._calls_per_tracings.insert(0, 3)  # as if another model had been trained before
    older._call_count += 3
    calls = older._call_count
    internals = find_internals()

    forget_tracing_of([*functions, my_step], internals)

    assert len(functions) == 2
    assert older._calls_per_tracings == [calls]
    assert older._call_count == calls
    assert mine._calls_per_tracings == [1]
    forget_tracing_of(functions, internals)
    assert older._calls_per_tracings == []
    assert older._call_count == 0


def test_an_eager_step_has_no_traced_functions():
    model = dense_model(run_eagerly=True)
    model.make_train_function()

    assert list(traced_functions(model.train_function)) == []
    assert list(traced_functions(None)) == []
