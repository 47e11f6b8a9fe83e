"""Loops without `fit`: memory reports of `evaluate`, `predict` and `collect()`, call by call."""

# pyright: reportImplicitOverride=false, reportIncompatibleMethodOverride=false
from typing import Any

import keras

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor_agent import MonitorCallback, collect
from kmonitor_agent.wire.messages.events import ActionRecord, FitStarted, Sample, SessionStarted
from tests.support import callback_fits
from tests.support.callback_fits import Told, X, Y, fit, of, small_model
from tests.support.recorders import recorder_of
from tests.support.reloading import KERAS

pytestmark = KERAS

closed_runs = callback_fits.closed_runs
monitor = callback_fits.monitor
told = callback_fits.told

MIB = 2.0**20


def _sample(callback: MonitorCallback) -> None:
    recorder_of(callback).sampler.sample()


def test_calls_begin_a_run_and_are_counted(monitor: Any, told: Told):
    model = small_model()
    model.predict(X, verbose=0, callbacks=[monitor])
    model.evaluate(X, Y, verbose=0, callbacks=[monitor])
    collect()
    _sample(monitor)

    events = told(monitor)

    assert len(of(SessionStarted, events)) == 1
    assert of(FitStarted, events) == []
    assert max(sample.calls for sample in of(Sample, events)) == 3


def test_a_loop_of_collect_begins_the_run_of_a_callback_without_fit(monitor: Any, told: Told):
    model = small_model()
    for _ in range(3):
        model.train_on_batch(X, Y)
        collect()
    _sample(monitor)

    events = told(monitor)

    assert len(of(SessionStarted, events)) == 1
    # One of the agent's thread that began before may end last.
    assert max(sample.calls for sample in of(Sample, events)) == 2
    assert len(of(ActionRecord, events)) == 2


def test_one_collect_before_a_fit_begins_nothing(monitor: Any, told: Told):
    collect()

    assert not recorder_of(monitor).has_begun

    fit(small_model(), monitor)

    assert len(of(SessionStarted, told(monitor))) == 1


def test_collect_begins_no_run_where_callbacks_name_several(monitor: Any):
    other = MonitorCallback("other", hub="off")
    for _ in range(3):
        collect()

    assert not any(recorder_of(each).has_begun for each in (monitor, other))


def test_what_a_fit_calls_is_no_call_of_its_own(monitor: Any, told: Told):
    class Calls(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            model.predict(X, verbose=0, callbacks=[monitor])
            model.evaluate(X, Y, verbose=0, callbacks=[monitor])
            collect()

    model = small_model()
    model.fit(X, Y, verbose=0, validation_data=(X, Y), callbacks=[monitor, Calls()])
    _sample(monitor)
    fit(model, monitor)
    _sample(monitor)

    events = told(monitor)

    assert len(of(FitStarted, events)) == 2
    assert max(sample.calls for sample in of(Sample, events)) == 0


def test_memory_that_rises_with_calls_is_judged_by_the_call():
    judge = RunJudge()
    for second in range(1, 40):
        ram = (600.0 + 0.5 * 20 * second) * MIB
        judge.read(
            float(second),
            Sample(
                t_s=float(second),
                fit=0,
                epoch=0,
                calls=20 * second,
                ram_bytes=ram,
                ram_of_bytes=8e9,
            ),
        )
        judge.judge()

    (verdict,) = judge.newest_verdicts()

    assert (verdict.metric, verdict.state, verdict.per) == ("ram", "growing", "call")
    assert verdict.slope is not None
    assert round(verdict.slope / MIB, 3) == 0.5
    assert verdict.window > 100
    assert verdict.forecast is not None
