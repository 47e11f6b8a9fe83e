"""Odd values in a fit's logs and hooks: sent where they are numbers, and nothing else is lost."""

# pyright: reportImplicitOverride=false, reportIncompatibleMethodOverride=false
import warnings
from typing import Any

import keras
import pytest

from kmonitor_agent import Limit, MonitorCallback
from kmonitor_agent.wire.messages.events import EpochEnded, FitEnded, LimitCrossed
from tests.support import callback_fits
from tests.support.callback_fits import Told, fit, of, small_model
from tests.support.odd_values import NUMBERS, ODD, Endless, Raises, StopsHalfway
from tests.support.reloading import KERAS

pytestmark = [*KERAS, pytest.mark.slow]

closed_runs = callback_fits.closed_runs
told = callback_fits.told


class Logs(keras.callbacks.Callback):
    """Puts every odd value into the logs, as a value and where it can be as a name."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._fill(logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._fill(logs)

    def _fill(self, logs: Any) -> None:
        for name, value in ODD.items():
            logs[name] = value
        for name in (None, 5, (1, 2), "\ud800", "x" * 10_000, b"bytes", object()):
            logs[name] = 1.0


def watching(**more: Any) -> MonitorCallback:
    return MonitorCallback("run", hub="off", limits=[Limit("step_time", "0.01 us")], **more)


def test_odd_logs_cost_neither_the_epochs_end_nor_stop_and_limits(told: Told):
    monitor = watching()
    monitor.request("stop")

    with warnings.catch_warnings(action="error"):
        fit(small_model(), Logs(), monitor, epochs=3)

    events = told(monitor)
    [ended] = of(EpochEnded, events)
    assert ended.logs["loss"] >= 0
    assert NUMBERS.keys() <= ended.logs.keys()
    assert "huge" not in ended.logs
    assert ended.logs["None"] == 1.0
    assert [each.how for each in of(FitEnded, events)] == ["stopped"]
    assert of(LimitCrossed, events)
    assert [each.action for each in monitor.records] == ["stop"]


@pytest.mark.parametrize("kind", ["halfway", "endless", "raises", "number", "text"])
def test_odd_hooks_of_a_loop_of_the_scripts_own_lose_nothing(told: Told, kind: str):
    logs = {
        "halfway": StopsHalfway(loss=1.0),
        "endless": Endless(),
        "raises": Raises(),
        "number": 5,
        "text": "loss",
    }[kind]
    monitor = watching()
    model = small_model()
    monitor.request("stop")
    for odd in ODD.values():
        monitor.set_params(odd)
        monitor.set_params({"epochs": odd, "steps": odd})
    monitor.set_model(model)

    monitor.on_train_begin(logs)
    for epoch in (0, *ODD.values()):
        monitor.on_epoch_begin(epoch, logs)
        for step in range(5):
            monitor.on_train_batch_begin(step, logs)
        monitor.on_epoch_end(epoch, logs)
    monitor.on_train_end(logs)

    events = told(monitor)
    assert len(of(EpochEnded, events)) == 1 + len(ODD)
    assert of(LimitCrossed, events)
    assert [each.action for each in monitor.records] == ["stop"]
    assert model.stop_training


def test_a_stop_that_does_not_tell_whether_it_is_one_ends_the_fit(told: Told):
    monitor = watching()
    model = small_model()
    monitor.set_model(model)
    monitor.on_train_begin()
    vars(model)["stop_training"] = Raises()  # Keras' own way looks at what it is given
    monitor.on_train_end()

    assert [each.how for each in of(FitEnded, told(monitor))] == ["finished"]
