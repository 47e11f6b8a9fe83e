# pyright: reportImplicitOverride=false
"""The result is the same whoever requests the reload: the script, a limit, or the app's hub."""

from collections.abc import Callable, Iterator
from typing import Any

import keras
import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor_agent import Limit, MonitorCallback
from kmonitor_agent.recording.runs import RUNS
from tests.support.recorders import faults_of
from tests.support.reloading import KERAS, Result, Training, dense_model, shuffled_dataset
from tests.support.waiting import wait_until

pytestmark = [*KERAS, pytest.mark.slow]

TRAINING = Training(
    model=lambda: dense_model(metrics=["accuracy"]),
    data=shuffled_dataset,
    callbacks=lambda: [keras.callbacks.ReduceLROnPlateau(patience=1, factor=0.5, min_delta=10.0)],
    epochs=3,
)


@pytest.fixture(scope="module")
def uninterrupted() -> Result:
    """Without any callback of ours."""
    return TRAINING.run()


@pytest.fixture(autouse=True)
def closed_runs() -> Iterator[None]:
    """No run outlives its test."""
    yield
    RUNS.close()


class Ask(keras.callbacks.Callback):
    """Calls a function when a batch of an epoch begins."""

    def __init__(self, epoch: int, batch: int, ask: Callable[[], object]) -> None:
        super().__init__()
        self._wanted = (epoch, batch)
        self._ask = ask
        self._epoch = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if (self._epoch, batch) == self._wanted:
            self._ask()


def assert_reloaded(monitor: Any, *, times: int, requested_by: str) -> None:
    records = [record.event for record in monitor.records]
    assert [(r.action, r.ok, r.why) for r in records] == [("reload", True, "")] * times
    assert all(requested_by in record.requested_by for record in records)
    assert faults_of(monitor) == {}


@pytest.mark.full
@pytest.mark.parametrize("at", ["epoch", "batch"])
def test_reload_requested_by_the_script_changes_no_result(uninterrupted: Result, at: str):
    monitor = MonitorCallback("asked", hub="off")
    asks = [Ask(epoch, 2, lambda: monitor.request("reload", at=at)) for epoch in (0, 1)]

    result = TRAINING.run(monitor, *asks)

    assert_reloaded(monitor, times=2, requested_by="script")
    result.assert_same(uninterrupted)


@pytest.mark.full
def test_reload_by_a_limit_changes_no_result(uninterrupted: Result):
    limit = Limit("graph", 10, action="reload", cooldown_s=600)
    monitor: Any = MonitorCallback("limited", hub="off", limits=[limit])

    result = TRAINING.run(monitor)

    assert_reloaded(monitor, times=1, requested_by="limit graph")
    result.assert_same(uninterrupted)


@pytest.mark.full
def test_reload_commanded_through_the_hub_changes_no_result(
    uninterrupted: Result, client: HubClient
):
    monitor = MonitorCallback("commanded")

    def command() -> None:
        runs = wait_until(client.runs, what="the run appears")
        asked = client.command(runs[0], "reload", requested_by="ada")
        wait_until(lambda: client.wait_for(asked, timeout_s=0.1).state == "received")

    result = TRAINING.run(monitor, Ask(1, 0, command))

    assert_reloaded(monitor, times=1, requested_by="ada")
    result.assert_same(uninterrupted)
