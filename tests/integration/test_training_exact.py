# pyright: reportImplicitOverride=false
"""Training with actions requested by its script ends bit for bit as without them."""

from collections.abc import Iterator
from typing import Any

import keras
import pytest

from kmonitor_agent import MonitorCallback
from kmonitor_agent.recording.runs import RUNS
from tests.support.recorders import hear
from tests.support.reloading import KERAS, Result, Training, dense_model, shuffled_dataset

pytestmark = [*KERAS, pytest.mark.slow]

EPOCHS = 4
TRAINING = Training(
    model=lambda: dense_model(optimizer=keras.optimizers.Adam(0.01), metrics=["accuracy"]),
    data=shuffled_dataset,
    callbacks=lambda: [keras.callbacks.ReduceLROnPlateau(patience=1, factor=0.5, min_delta=10.0)],
    epochs=EPOCHS,
)
"""Dropout, Adam, BatchNorm, validation data, ReduceLROnPlateau and reshuffled tf.data."""


@pytest.fixture(scope="module")
def uninterrupted() -> Result:
    return TRAINING.run()


@pytest.fixture(autouse=True)
def closed_runs() -> Iterator[None]:
    yield
    RUNS.close()


class Ask(keras.callbacks.Callback):
    """The script's own callback that requests actions: (epoch, batch) to action and place."""

    def __init__(self, monitor: Any, wanted: dict[tuple[int, int], tuple[str, str]]) -> None:
        super().__init__()
        self._monitor = monitor
        self._wanted = wanted
        self._epoch = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        wanted = self._wanted.get((self._epoch, batch))
        if wanted is not None:
            self._monitor.request(wanted[0], at=wanted[1])


def test_monitored_training_equals_the_plain_one(uninterrupted: Result):
    TRAINING.run(MonitorCallback(hub="off")).assert_same(uninterrupted)


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(
            {(1, 0): ("reload", "epoch")}, id="at an epoch's end", marks=pytest.mark.full
        ),
        pytest.param({(1, 2): ("reload", "batch")}, id="after a batch", marks=pytest.mark.full),
        pytest.param(
            {
                (0, 1): ("save", "batch"),
                (1, 1): ("reload", "batch"),
                (1, 3): ("collect", "batch"),
                (2, 5): ("reload", "epoch"),
            },
            id="all in one training",
        ),
    ],
)
def test_reload_by_request_changes_no_result(
    uninterrupted: Result, wanted: dict[tuple[int, int], tuple[str, str]]
):
    monitor: Any = MonitorCallback(hub="off")

    result = TRAINING.run(Ask(monitor, wanted), monitor)

    assert [r.action for r in monitor.records] == [action for action, _ in wanted.values()]
    assert all(r.ok for r in monitor.records)
    for (epoch, batch), record in zip(wanted, monitor.records, strict=True):
        assert record.event.epoch == epoch
        assert record.event.step in {0, batch + 1}
    result.assert_same(uninterrupted)


def test_after_a_reload_the_retrace_is_kept_out_of_the_step_times(
    monkeypatch: pytest.MonkeyPatch,
):
    told: list[Any] = []
    hear(monkeypatch, told.append)
    monitor: Any = MonitorCallback(hub="off")

    TRAINING.run(Ask(monitor, {(1, 2): ("reload", "batch")}), monitor)

    times = [event.step_times for event in told if type(event).__name__ == "EpochEnded"]
    # One of an epoch's five steps is the reload's, and one the retrace's, reported as the first.
    assert [each.count for each in times] == [4, 2, 4, 4]
    assert times[1].first_s > 0.0
