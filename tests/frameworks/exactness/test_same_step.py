# pyright: reportImplicitOverride=false, reportArgumentType=false
# pyright: reportOptionalMemberAccess=false
"""Values that Python code reads while a step is traced may have changed: then no reload."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from kmonitor_agent.frameworks.detection import framework_for
from kmonitor_agent.frameworks.tensorflow.internals import find_internals
from kmonitor_agent.frameworks.tensorflow.step_comparison import (
    is_same_step,
    retrace,
    step_arguments,
)
from kmonitor_agent.wire.messages.commands import ReloadMode
from tests.support.reloading import KERAS, Reclaim
from tests.support.running_tests import LONG

pytestmark = [*KERAS, pytest.mark.slow, LONG]

X = np.linspace(-1.0, 1.0, 48 * 4, dtype="float32").reshape(48, 4)
Y = X.sum(axis=1, keepdims=True)

Call = Callable[[Any, Any], Any]


class Reading(keras.Model):
    """Reads something from Python while it is traced."""

    def __init__(self, reads: Call) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.part = 0.5
        self.traced = 0
        self._reads = reads

    def call(self, inputs: Any) -> Any:
        self.traced += 1
        return self._reads(self, self.dense(inputs))


class Annealing(keras.callbacks.Callback):
    """Changes an attribute, as trainings with a part of a loss that grows do."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.model.part = float(epoch)


def of_attribute(model: Any, outputs: Any) -> Any:
    return outputs * (1.0 + model.part)


def of_draw(model: Any, outputs: Any) -> Any:
    drawn = random.random()  # noqa: S311 - no secret
    return outputs * drawn + np.random.normal(size=(1,)).astype("float32")


def of_nothing(model: Any, outputs: Any) -> Any:
    return tf.cond(tf.reduce_sum(outputs) > 0.0, lambda: outputs, lambda: 2.0 * outputs)


def fitted(reads: Call, *callbacks: Any, seed: int = 5) -> Any:
    keras.utils.set_random_seed(seed)
    model = Reading(reads)
    model.compile("sgd", "mse")
    model.fit(X, Y, batch_size=8, epochs=3, verbose=0, callbacks=list(callbacks))
    return model


def bits_of(model: Any) -> list[bytes]:
    return [each.numpy().tobytes() for each in [*model.variables, *model.optimizer.variables]]


@pytest.mark.promise(21)
@pytest.mark.parametrize(
    ("reads", "mode"),
    [
        (of_attribute, "assign"),
        pytest.param(of_attribute, "recreate", marks=pytest.mark.full),
        pytest.param(of_draw, "assign", marks=pytest.mark.full),
        (of_draw, "recreate"),
    ],
)
def test_a_step_that_would_be_another_is_kept_and_the_record_says_why(
    reads: Call, mode: ReloadMode, tmp_path: Path
):
    plain = fitted(reads, Annealing())
    draws = random.getstate(), np.random.get_state()[1].tolist()

    reclaim = Reclaim(tmp_path, epochs=[0, 1], batches=[(1, 2)], mode=mode)
    reloaded = fitted(reads, Annealing(), reclaim)

    assert bits_of(reloaded) == bits_of(plain)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == draws
    whys = [each.why for each in reclaim.outcomes if not each.ok]
    assert whys
    assert all("train_function computes something different" in each for each in whys)


def test_steps_that_were_refused_leave_nothing_behind(tmp_path: Path):
    few = Reclaim(tmp_path / "few", batches=[(1, 1)])
    many = Reclaim(tmp_path / "many", batches=[(1, n) for n in range(1, 5)])

    fitted(of_attribute, Annealing(), few)
    after_one = framework_for(fitted(of_nothing)).graph(None)
    fitted(of_attribute, Annealing(), many)
    after_four = framework_for(fitted(of_nothing)).graph(None)

    assert (len(few.outcomes), len(many.outcomes)) == (1, 4)
    assert not any(each.ok for each in [*few.outcomes, *many.outcomes])
    assert after_four.retained == after_one.retained


def test_the_same_step_is_traced_once_by_a_reload_and_not_again(tmp_path: Path):
    plain = fitted(of_nothing)

    reclaim = Reclaim(tmp_path, epochs=[0])
    reloaded = fitted(of_nothing, reclaim)

    assert reclaim.outcomes[0].ok, reclaim.outcomes[0].why
    assert bits_of(reloaded) == bits_of(plain)
    assert reloaded.traced == plain.traced + 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (lambda x: x + 1.0, lambda x: x + 1.0, True),
        (lambda x: x + 1.0, lambda x: x + 2.0, False),
        (lambda x: x + 1.0, lambda x: x - 1.0, False),
        (lambda x: x - x[0], lambda x: x[0] - x, False),
        (lambda x: tf.reduce_sum(x, 0), lambda x: tf.reduce_sum(x, 1), False),
    ],
)
def test_steps_are_the_same_where_all_they_compute_is(one: Any, other: Any, *, same: bool):
    def step(inner: Any) -> Any:
        called = tf.function(inner, autograph=False)
        return tf.function(
            lambda x: tf.cond(x[0, 0] > 0.0, lambda: called(x), lambda: called(2.0 * x)),
            autograph=False,
        )

    old, new = step(one), step(other)
    old(tf.ones((2, 2)))

    retrace(new, step_arguments(old))

    give = find_internals().eager_context
    assert give is not None
    assert is_same_step(old, new, give().get_function_def) == same


@pytest.mark.parametrize(("factor", "same"), [(2.0, True), (3.0, False)])
def test_a_step_that_created_variables_is_compared_by_the_trace_that_runs(
    factor: float, *, same: bool
):
    created: list[Any] = []

    def step(times: float) -> Any:
        def run(x: Any) -> Any:
            if not created:
                created.append(tf.Variable(1.0))
            return x * times * created[0]

        return tf.function(run, autograph=False)

    old, new = step(2.0), step(factor)
    old(tf.ones((2, 2)))

    retrace(new, step_arguments(old))

    give = find_internals().eager_context
    assert give is not None
    assert is_same_step(old, new, give().get_function_def) == same
