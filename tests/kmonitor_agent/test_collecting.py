# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportImplicitOverride=false
"""`collect()` and `collected()`: what a script calls between two models."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("keras", reason="collect() is tried on real models")

import keras
import tensorflow as tf

from kmonitor_agent import Collected, MonitorCallback, collect, collected
from kmonitor_agent.frameworks import detection
from kmonitor_agent.frameworks.base import Framework
from kmonitor_agent.recording.runs import RUNS
from tests.support.reloading import KERAS, arrays, clean_registry, dense_model
from tests.support.waiting import DEADLINE_S

pytestmark = [*KERAS, pytest.mark.slow]


@pytest.fixture(autouse=True)
def runs_are_closed() -> Iterator[None]:
    yield
    RUNS.close()


@pytest.fixture(autouse=True)
def framework() -> Iterator[Framework]:
    with clean_registry() as found:
        yield found


def fitted(**compiled: Any) -> Any:
    model = dense_model(**compiled)
    model.fit(**arrays(validation=False), verbose=0)
    return model


def counts(framework: Framework) -> tuple[int | None, int, int | None]:
    count = framework.graph(None)
    return count.operations, count.functions, count.step_entries


def test_one_call_between_models_keeps_functions_and_registry_flat(framework: Framework):
    seen: list[tuple[int | None, int, int | None]] = []
    for _ in range(4):
        model = fitted()
        del model
        done = collect()
        seen.append(counts(framework))

        assert done.ok
        assert (done.released_models, done.why) == (1, "")

    assert seen[1:] == [seen[0]] * 3


def test_the_record_prints_what_was_released_what_it_freed_and_who_holds_the_rest():
    @tf.function
    def my_step(x: Any) -> Any:
        return x * 2

    @tf.function
    def by_value(x: Any, factor: int) -> Any:
        return x * factor

    for size in range(1, 7):
        my_step(tf.zeros((size,)))
        by_value(tf.zeros(2), size)
    fitted()
    text = str(collect())

    assert text.startswith("released ")
    assert " of 1 dead model (" in text
    assert " operations), RAM " in text
    assert "iB -> " in text
    assert "6 traces held by `my_step` (a tf.function in the script, 6 shapes)" in text
    assert "6 traces held by `by_value` (a tf.function in the script, 6 Python values)" in text


def test_a_function_that_is_made_again_and_again_is_told_with_who_keeps_it():
    def made_anew() -> Any:
        @tf.function
        def fresh(x: Any) -> Any:
            return x * 2

        fresh(tf.zeros(2))
        return fresh

    keeper = SimpleNamespace(kept=[made_anew() for _ in range(6)])
    fitted()
    text = str(collect())

    assert len(keeper.kept) == 6
    assert (
        "6 traces held by `fresh` (a tf.function in the script, created 6 times, retained in"
        " `kept`)"
    ) in text


def test_where_nothing_is_retained_nothing_is_released():
    model = fitted()
    collect()

    done = collect()

    assert (done.ok, done.released_traces, done.released_models) == (True, 0, 0)
    assert repr(done).startswith("nothing to release, RAM ")
    assert "in use by live models" in str(done)
    model.fit(**arrays(validation=False), verbose=0)


def test_a_block_is_the_whole_life_of_the_models_fitted_in_it(framework: Framework):
    before = fitted()
    kept = counts(framework)
    with collected() as done:
        model = fitted()

    assert counts(framework) == kept
    assert [each.released_models for each in done] == [0], "the model has a name still"
    assert str(done[0]).startswith(f"released {_traces(done[0])} no longer used by any model")
    assert before.train_function is not None
    model.fit(**arrays(validation=False), verbose=0)  # its functions are made again


def test_a_live_model_that_was_compiled_anew_is_not_called_dead():
    model = fitted()
    model.compile(optimizer="sgd", loss="mse")
    model.fit(**arrays(validation=False), verbose=0)

    done = collect()

    assert done.released_traces == done.disused_traces > 0
    assert done.released_models == 0
    assert f"released {_traces(done)} no longer used by any model (" in str(done)


def test_a_dead_model_inside_of_another_counts_too_and_once_however_often_it_was_compiled():
    inner = fitted()
    outer = keras.Sequential([keras.Input((8,)), inner])
    for _ in range(2):
        outer.compile(optimizer="sgd", loss="mse")
        outer.fit(**arrays(validation=False), verbose=0)
    del inner, outer

    done = collect()

    assert (done.released_models, done.disused_traces) == (2, 0)


def _traces(done: Collected) -> str:
    return f"{done.released_traces} trace{'' if done.released_traces == 1 else 's'}"


def test_a_block_s_object_is_for_one_block():
    block = collected()
    with block:
        pass

    with pytest.raises(RuntimeError, match="write `with collected"), block:
        pass


def test_a_block_left_by_an_exception_is_collected_too(framework: Framework):
    clean = counts(framework)

    def study(done: list[list[Collected]]) -> None:
        with collected() as found:
            done.append(found)
            fitted()
            raise ZeroDivisionError

    done: list[list[Collected]] = []
    with pytest.raises(ZeroDivisionError):
        study(done)

    assert done[0][0].released_traces > 0
    assert counts(framework) == clean


def test_a_model_that_another_thread_fits_keeps_training_exactly():
    def train(callbacks: list[Any]) -> Any:
        keras.utils.set_random_seed(3)
        model = keras.Sequential(
            [keras.Input((8,)), keras.layers.Dense(4, kernel_initializer="ones")]
        )
        model.compile("sgd", "mse")
        model.fit(**arrays(validation=False), epochs=3, verbose=0, callbacks=callbacks)
        return model.get_weights()

    in_epoch, may_go_on = threading.Event(), threading.Event()

    class Hold(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if batch == 1 and not in_epoch.is_set():
                in_epoch.set()
                may_go_on.wait(DEADLINE_S)

    plain = train([])
    results: list[Any] = []
    with collected() as done:
        thread = threading.Thread(target=lambda: results.append(train([Hold()])))
        thread.start()
        assert in_epoch.wait(DEADLINE_S)
    may_go_on.set()
    thread.join(DEADLINE_S)

    assert "1 of the block's models is in use and was left alone" in done[0].why
    assert all(np.array_equal(a, b) for a, b in zip(plain, results[0], strict=True))


def test_inside_of_a_fit_it_is_safe_and_the_run_shows_it():
    class Between(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            fitted()
            collect()

    monitor = MonitorCallback(hub="off")
    model = dense_model()
    model.fit(**arrays(), epochs=2, verbose=0, callbacks=[monitor, Between()])
    records = [record.event for record in monitor.records]

    assert [(r.action, r.requested_by, r.fit, r.epoch) for r in records] == [
        ("collect", "script", 1, 0),
        ("collect", "script", 1, 1),
    ]
    assert all(record.released_models == 1 for record in records)


def test_inside_of_a_tf_function_autograph_has_nothing_to_say(caplog: pytest.LogCaptureFixture):
    monitor = MonitorCallback(hub="off")

    @tf.function
    def traced(x: Any) -> Any:
        done.append(collect())
        with collected() as in_block:
            monitor.request("collect")
        done.extend(in_block)
        return x + 1

    done: list[Collected] = []

    assert float(traced(tf.constant(1.0))) == 2.0
    assert [each.ok for each in done] == [True, True]
    assert [record.message for record in caplog.records] == []


def test_a_framework_that_cannot_be_looked_at_raises_nothing(monkeypatch: pytest.MonkeyPatch):
    def broken(kind: str) -> Framework:
        raise RuntimeError(f"no {kind}")

    detection.forget_frameworks()
    monkeypatch.setattr(detection, "_make", broken)

    done = collect()

    assert "RuntimeError: no " in done.why
    assert done.released_traces == 0


def test_without_keras_only_garbage_is_collected_and_nothing_is_imported():
    script = (
        "import sys; from kmonitor_agent import collect, collected; done = collect()\n"
        "with collected() as block: pass\n"
        "assert not {'keras', 'tensorflow', 'jax', 'torch'} & set(sys.modules)\n"
        "print(done)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_S,
        check=True,
    )

    assert "Keras is not imported in this process" in done.stdout
    assert done.stderr == ""
