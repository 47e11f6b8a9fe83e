"""Reports of Keras' logs and of the learning rate; receiving them costs no wait."""

# pyright: reportImplicitOverride=false, reportIncompatibleMethodOverride=false
import copy
import math
from typing import Any

import keras
import pytest

from kmonitor_agent import MonitorCallback
from kmonitor_agent.frameworks.tensorflow import framework
from kmonitor_agent.wire.messages.events import EpochEnded, FieldSources, Sample
from kmonitor_agent.wire.messages.readings import Reading
from tests.support import callback_fits
from tests.support.callback_fits import Told, X, Y, fit, of, small_model
from tests.support.recorders import recorder_of

closed_runs = callback_fits.closed_runs
monitor = callback_fits.monitor
told = callback_fits.told


class SampledAt(keras.callbacks.Callback):
    """Has the agent's sample taken in the middle of an epoch, on this thread."""

    def __init__(self, monitor: Any, batch: int = 4) -> None:
        super().__init__()
        self._sampler = recorder_of(monitor).sampler
        self._batch = batch
        self.logs: list[dict[str, float]] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch == self._batch:
            self.logs.append(dict(logs))
            self._sampler.sample()


class Unreadable:
    """A metric's value while it is still on the device."""

    def __init__(self, waited: list[str]) -> None:
        self._waited = waited

    def __float__(self) -> float:
        self._waited.append("for the device")
        return 0.25


def test_a_sample_has_the_logs_of_the_running_epoch(monitor: Any, told: Told):
    at = SampledAt(monitor)
    fit(small_model(), monitor, at)

    samples = [event for event in of(Sample, told(monitor)) if event.logs]
    # The agent's own thread may have taken some, too.
    found = {(event.epoch, event.logs["loss"]) for event in samples}
    assert {(epoch, logs["loss"]) for epoch, logs in enumerate(at.logs)} <= found


def test_a_value_on_the_device_is_not_read(monitor: Any, told: Told):
    waited: list[str] = []

    class AtBegin(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            monitor.on_train_batch_end(batch, logs={"loss": Unreadable(waited), "acc": 0.5})
            recorder_of(monitor).sampler.sample()

    fit(small_model(), monitor, AtBegin(), epochs=1)

    assert waited == []
    # Keras' own loss may be among them: the oldest reports the end of a step on its own thread.
    samples = [event.logs for event in of(Sample, told(monitor))]
    assert {"acc": 0.5} in samples
    assert 0.25 not in [logs.get("loss") for logs in samples]


def test_keras_need_not_wait_for_the_device_on_our_account(monitor: Any):
    seen: list[bool] = []

    class AtEpoch(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            # As a fit beside this one would find it.
            seen.append(keras.callbacks.CallbackList([monitor])._async_train)

    is_ahead = keras.callbacks.CallbackList([keras.callbacks.Callback()])._async_train
    fit(small_model(), monitor, AtEpoch())

    assert seen == [is_ahead] * 2
    assert "on_train_batch_end" not in vars(monitor)
    assert keras.callbacks.CallbackList([monitor])._async_train == is_ahead


def test_a_script_that_overrides_the_end_of_a_step_keeps_its_own(told: Told):
    heard: list[int] = []

    class Mine(MonitorCallback):
        def on_batch_end(self, batch: int, logs: Any = None) -> None:
            heard.append(batch)

    mine: Any = Mine("run", hub="off")
    fit(small_model(), mine, epochs=1)

    assert heard == [0, 1, 2, 3, 4, 5]
    assert of(EpochEnded, told(mine))


def test_a_copy_made_amid_a_fit_starts_without_its_hook(monitor: Any):
    copies: list[Any] = []

    class AtEpoch(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            copies.append(copy.copy(monitor))

    fit(small_model(), monitor, AtEpoch(), epochs=1)

    assert "on_train_batch_end" not in vars(copies[0])
    assert "async_safe" not in vars(copies[0])


def test_a_schedules_rate_is_told_at_each_epochs_end(monitor: Any, told: Told):
    schedule: Any = keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=6, decay_rate=0.5)
    model = small_model()
    model.compile(keras.optimizers.SGD(schedule), "mse")
    fit(model, monitor)

    events = told(monitor)
    rates = [event.learning_rate for event in of(EpochEnded, events)]
    assert rates == [pytest.approx(0.05), pytest.approx(0.025)]
    [source] = [
        s for e in of(FieldSources, events) for s in e.sources if s.field == "learning_rate"
    ]
    assert "optimizer" in source.source


def test_a_rate_that_cannot_be_read_is_absent_with_the_reason_told_once(
    monitor: Any, told: Told, monkeypatch: pytest.MonkeyPatch
):
    why = "the optimizer does not report it (ValueError)"
    monkeypatch.setattr(framework, "read_learning_rate", lambda _: Reading.missing("1", why))
    fit(small_model(), monitor)

    events = told(monitor)
    assert [event.learning_rate for event in of(EpochEnded, events)] == [None, None]
    [source] = [
        s for e in of(FieldSources, events) for s in e.sources if s.field == "learning_rate"
    ]
    assert source.absent == why


def test_private_logs_within_an_epoch_are_hidden_as_those_of_its_end(told: Told):
    callback: Any = MonitorCallback("run", hub="off", private=True)
    model = small_model()
    model.compile("sgd", "mse", metrics=[keras.metrics.MeanAbsoluteError(name="secret")])
    model.fit(X, Y, batch_size=8, verbose=0, callbacks=[callback, SampledAt(callback)])

    events = told(callback)
    [ended] = of(EpochEnded, events)
    sample = [event for event in of(Sample, events) if event.logs][-1]
    assert "secret" not in sample.logs
    assert set(sample.logs) == set(ended.logs)
    assert all(math.isfinite(value) for value in sample.logs.values())
