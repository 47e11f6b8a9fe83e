# pyright: reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportFunctionMemberAccess=false, reportImplicitOverride=false
"""Results of other threads and outer fits are the same with and without a collect beside it."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import atomic_function

from kmonitor_agent import collect
from kmonitor_agent.frameworks.base import Framework
from kmonitor_agent.reclaim.actions import reload
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from tests.support.reloading import KERAS, arrays, clean_registry, dense_model

pytestmark = [*KERAS, pytest.mark.slow]

ROUNDS: Final = 20
LONG_S: Final = 120


@pytest.fixture(autouse=True)
def framework() -> Iterator[Framework]:
    with clean_registry() as found:
        yield found


def data() -> dict[str, Any]:
    return arrays(validation=False) | {"shuffle": False, "verbose": 0}


def same_each_time() -> Any:
    layers: list[Any] = [
        keras.layers.Dense(8, activation="silu", kernel_initializer="ones"),
        keras.layers.Dense(1, kernel_initializer="ones"),
    ]
    model = keras.Sequential([keras.Input((8,)), *layers])
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
    return model


class Fits:
    """Fits a model on and on, retraced each time."""

    def __init__(self) -> None:
        self.model = same_each_time()

    def turn(self) -> Any:
        self.model.make_train_function(force=True)
        return self.model.fit(**data()).history["loss"]


class Evaluates(Fits):
    def turn(self) -> Any:
        self.model.make_test_function(force=True)
        return self.model.evaluate(**arrays(validation=False), verbose=0)


class Predicts(Fits):
    def turn(self) -> Any:
        self.model.make_predict_function(force=True)
        return self.model.predict(data()["x"], verbose=0)


def together(rounds: int, *turns: Callable[[], Any]) -> list[list[Any]]:
    """Each in its own thread, all beginning a round at the same time; what they returned."""
    barrier = threading.Barrier(len(turns))
    results: list[list[Any]] = [[] for _ in turns]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(rounds):
                barrier.wait(LONG_S)
                results[number].append(turns[number]())
        except BaseException as exc:  # noqa: BLE001 - of a thread: shown by the test
            barrier.abort()
            errors.append(exc)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(turns))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    return results


@pytest.mark.parametrize("level", ["collect", "reload"])
@pytest.mark.parametrize("kind", [Fits, Evaluates, Predicts])
@pytest.mark.full
def test_a_model_that_another_thread_uses_gives_the_same_results(
    framework: Framework, tmp_path: Path, kind: type[Fits], level: str
):
    plain = kind()
    expected = [plain.turn() for _ in range(ROUNDS)]
    mine = dense_model()
    mine.fit(**data())

    def reclaim() -> str:
        if level == "collect":
            return collect().why
        return reload(
            framework, mine, CheckpointStore(tmp_path), tag=CheckpointTag("run", 1, 0)
        ).why

    used = kind()
    whys, found = together(ROUNDS, reclaim, used.turn)

    assert whys == [""] * ROUNDS
    assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))
    weights = zip(plain.model.get_weights(), used.model.get_weights(), strict=True)
    assert all(np.array_equal(a, b) for a, b in weights)


@pytest.mark.full
def test_two_threads_that_collect_at_once_release_all_and_raise_nothing(framework: Framework):
    def turn() -> str:
        same_each_time().fit(**data())
        return collect().why

    assert together(3, turn, turn) == [[""] * 3] * 2
    collect()
    assert framework.graph(None).step_entries == 0


@tf.custom_gradient
def doubled_backwards(x: Any) -> Any:
    """A gradient that no one else gives: twice the one that came."""

    def gradient(upstream: Any) -> Any:
        return 2.0 * upstream

    return tf.identity(x), gradient


class Held:
    """A thread that traces a function named as Keras' own, stopped amid the trace."""

    def __init__(self) -> None:
        self.reached, self.may_go_on = threading.Event(), threading.Event()
        self.weight = tf.Variable(1.0)
        self.in_python = False

        @tf.function
        def predict_function(x: Any) -> Any:
            y = doubled_backwards(x * self.weight)
            if self.in_python:
                self.stop()
            return y

        self.function = predict_function

    def stop(self) -> None:
        self.reached.set()
        assert self.may_go_on.wait(LONG_S)

    def collect_meanwhile(self) -> None:
        thread = threading.Thread(target=self.function, args=(tf.constant(3.0),))
        thread.start()
        assert self.reached.wait(LONG_S)
        collect()
        self.may_go_on.set()
        thread.join(LONG_S)

    def gradient(self) -> float:
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = self.function(x)
        return float(tape.gradient(y, x))


def test_a_trace_that_another_thread_has_begun_stays_whole():
    held = Held()
    held.in_python = True

    held.collect_meanwhile()

    held.in_python = False
    assert held.gradient() == 2.0


def test_a_trace_that_is_whole_but_has_no_function_yet_stays(monkeypatch: pytest.MonkeyPatch):
    held = Held()
    make = atomic_function.from_func_graph
    monkeypatch.setattr(
        atomic_function, "from_func_graph", lambda *a, **kw: (held.stop(), make(*a, **kw))[1]
    )

    held.collect_meanwhile()

    assert held.gradient() == 2.0


def test_an_outer_fit_ends_the_same_when_inner_models_are_fitted_and_collected():
    class Between(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if batch == 2:
                same_each_time().fit(**data())
                assert collect().released_models == 1

    plain, disturbed = same_each_time(), same_each_time()
    expected = plain.fit(**data(), epochs=2).history
    found = disturbed.fit(**data(), epochs=2, callbacks=[Between()]).history

    assert found == expected
    weights = zip(plain.get_weights(), disturbed.get_weights(), strict=True)
    assert all(np.array_equal(a, b) for a, b in weights)
