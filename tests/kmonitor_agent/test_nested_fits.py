"""Requests where fits are nested: each is done, by the fit that was meant."""

# pyright: reportImplicitOverride=false, reportIncompatibleMethodOverride=false
import threading
from collections.abc import Callable
from typing import Any

import keras
import pytest

from kmonitor_agent import MonitorCallback
from kmonitor_agent.wire.messages.events import Paused
from tests.support import callback_fits
from tests.support.callback_fits import X, Y, fit, small_model
from tests.support.recorders import hear
from tests.support.reloading import KERAS, state_of
from tests.support.running_tests import LONG
from tests.support.waiting import DEADLINE_S

pytestmark = [*KERAS, pytest.mark.slow, LONG]

closed_runs = callback_fits.closed_runs
monitor = callback_fits.monitor

EPOCHS = 3


class Epochs(keras.callbacks.Callback):
    """Remembers the epochs that ended, and does something at their ends."""

    def __init__(self, at_end: Callable[[int], object] = lambda _: None) -> None:
        super().__init__()
        self.ended: list[int] = []
        self.at_end = at_end

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.ended.append(epoch)
        self.at_end(epoch)


class Steps(keras.callbacks.Callback):
    """Does something within an epoch, before a step of the first epoch."""

    def __init__(self, at_step: Callable[[], object]) -> None:
        super().__init__()
        self.at_step = at_step
        self.done = 0

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.done += 1
        if self.done == 2:
            self.at_step()


def nested(monitor: Any, asks: Callable[[int], object], *, inner: Any = None) -> tuple[Any, Any]:
    """An outer fit that fits a model at the end of its first epoch; epochs of both."""
    outer = small_model()
    inner = inner or small_model()
    inside = Epochs(asks)

    def fit_inner(epoch: int) -> None:
        if epoch == 0:
            fit(inner, inside, monitor, epochs=EPOCHS)

    around = Epochs(fit_inner)
    fit(outer, monitor, around, epochs=EPOCHS)
    return around.ended, inside.ended


def states(monitor: Any) -> list[tuple[str, bool, int]]:
    return [(each.action, each.ok, each.event.fit) for each in monitor.records]


def test_stop_ends_the_inner_fit_alone(monitor: Any):
    around, inside = nested(monitor, lambda epoch: epoch == 0 and monitor.request("stop"))

    assert (around, inside) == ([0, 1, 2], [0])
    assert states(monitor) == [("stop", True, 2)]


def test_stop_of_the_run_ends_the_inner_and_the_outer_fit(monitor: Any):
    around, inside = nested(
        monitor, lambda epoch: epoch == 0 and monitor.request("stop", of="run")
    )

    assert (around, inside) == ([0], [0])
    assert states(monitor) == [("stop", True, 2)]


def test_stop_by_the_outer_callback_ends_the_outer_fit_alone(monitor: Any):
    within = MonitorCallback("run", hub="off")
    outer = small_model()
    inside = Epochs(lambda epoch: epoch == 0 and monitor.request("stop"))
    around = Epochs(lambda _: fit(small_model(), inside, within, epochs=EPOCHS))

    fit(outer, around, monitor, epochs=EPOCHS)

    assert (around.ended, inside.ended) == ([0], [0, 1, 2])
    assert states(monitor) == [("stop", True, 1)]


@pytest.mark.parametrize("at", ["epoch", "batch"])
def test_fit_of_the_same_model_behind_us_does_not_take_a_stop_back(monitor: Any, at: str):
    model = small_model()
    asks = Steps(lambda: monitor.request("stop", at=at))
    around = Epochs(lambda _: fit(model, epochs=1))

    fit(model, asks, monitor, around, epochs=EPOCHS)

    assert around.ended == [0]
    assert states(monitor) == [("stop", True, 1)]
    assert asks.done == (2 if at == "batch" else 6)


def test_fit_that_begins_within_a_run_that_stops_ends_too(monitor: Any):
    outer = small_model()
    inside = Epochs()
    around = Epochs(lambda _: fit(small_model(), inside, monitor, epochs=EPOCHS))

    fit(outer, Steps(lambda: monitor.request("stop", of="run")), monitor, around, epochs=EPOCHS)

    assert (around.ended, inside.ended) == ([0], [0])


def test_stop_for_a_fit_that_has_ended_says_so(monitor: Any):
    outer = small_model()

    def ask_and_end(epoch: int) -> None:
        if epoch == 0:
            # Behind the callback, at the end of the last epoch: no safe point comes.
            fit(small_model(), monitor, Epochs(lambda _: monitor.request("stop")), epochs=1)

    around = Epochs(ask_and_end)
    fit(outer, around, monitor, epochs=EPOCHS)

    assert around.ended == [0, 1, 2]
    (record,) = monitor.records
    assert not record.ok
    assert "had already ended" in record.why


@pytest.mark.parametrize("at", ["epoch", "batch"])
def test_pause_holds_the_fit_that_runs_and_lets_it_go(at: str, monkeypatch: pytest.MonkeyPatch):
    reached, paused = threading.Event(), threading.Event()
    hear(monkeypatch, lambda event: isinstance(event, Paused) and event.paused and paused.set())
    monitor: Any = MonitorCallback("run", hub="off")

    def ask(epoch: int) -> None:
        if epoch == 0:
            monitor.request("pause", at=at)
            reached.set()

    held: list[bool] = []

    def resume() -> None:
        reached.wait(DEADLINE_S)
        held.append(paused.wait(DEADLINE_S))
        monitor.request("resume")

    thread = threading.Thread(target=resume)
    thread.start()
    around, inside = nested(monitor, ask)
    thread.join()

    assert held == [True]
    assert (around, inside) == ([0, 1, 2], [0, 1, 2])
    assert states(monitor) == [("pause", True, 2), ("resume", True, 2)]


def test_stop_while_an_inner_fit_is_paused_ends_both(monitor: Any):
    def ask(epoch: int) -> None:
        if epoch == 0:
            monitor.request("pause")
            monitor.request("stop", of="run")

    around, inside = nested(monitor, ask)

    assert (around, inside) == ([0], [0])
    assert states(monitor) == [("pause", True, 2), ("stop", True, 2)]


@pytest.mark.parametrize(
    ("shared", "mode"),
    [
        pytest.param(True, "recreate", id="part of the outer model-recreate"),
        pytest.param(True, "assign", id="part of the outer model", marks=pytest.mark.full),
        pytest.param(False, "recreate", id="other model-recreate", marks=pytest.mark.full),
        pytest.param(False, "assign", id="other model", marks=pytest.mark.full),
    ],
)
def test_reload_in_an_inner_fit_changes_neither_result(monitor: Any, mode: str, shared: bool):  # noqa: FBT001
    def train(ask: Callable[[int], object]) -> list[bytes]:
        keras.utils.set_random_seed(3)
        inner = small_model()
        outer = inner
        if shared:
            outer = keras.Sequential([inner, keras.layers.Dense(1)])
            outer.compile("sgd", "mse")
        else:
            outer = small_model()
        around = Epochs(lambda _: fit(inner, Epochs(ask), monitor, epochs=2))
        fit(outer, monitor, around, epochs=2)
        return [value.tobytes() for each in (inner, outer) for _, value in state_of(each)]

    plain = train(lambda _: None)

    reloaded = train(lambda _: monitor.request("reload", mode=mode))

    assert reloaded == plain
    assert len(monitor.records) == 4
    assert all(record.ok for record in monitor.records), monitor.records


def test_loop_begun_in_another_function_is_followed_after_an_inner_fit(monitor: Any):
    model = small_model()
    callbacks = keras.callbacks.CallbackList([monitor], model=model, epochs=EPOCHS)

    def begin() -> None:
        callbacks.on_train_begin()

    begin()
    for epoch in range(EPOCHS):
        callbacks.on_epoch_begin(epoch)
        model.train_on_batch(X[:8], Y[:8])
        fit(small_model(), monitor, epochs=1)
        monitor.request("collect")
        callbacks.on_epoch_end(epoch, {})
    callbacks.on_train_end()

    assert states(monitor) == [("collect", True, 1)] * EPOCHS


@pytest.mark.parametrize("act", ["evaluate", "predict", "fit"])
def test_stop_at_a_step_that_uses_another_model_ends_the_fit(monitor: Any, act: str):
    judge = small_model()
    given = {"fit": (X, Y), "evaluate": (X, Y), "predict": (X,)}[act]

    def use() -> None:
        monitor.request("stop", at="batch")
        getattr(judge, act)(*given, verbose=0, callbacks=[monitor])

    steps = Steps(use)
    fit(small_model(), steps, monitor, epochs=2)

    # A fit within it reaches its safe point first, but is not the one that is meant.
    assert steps.done == 2
    assert states(monitor) == [("stop", True, 1)]
