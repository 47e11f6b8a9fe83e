"""The callback in real fits: what it reports, what it does, and what it leaves alone."""

# pyright: reportImplicitOverride=false, reportIncompatibleMethodOverride=false
import copy
import gc
import os
import pickle
import random
import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import keras
import numpy as np
import pytest

from kmonitor_agent import Limit, MonitorCallback
from kmonitor_agent.recording.fit_reporter import FitReporter
from kmonitor_agent.recording.runs import RUNS
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.commands import LimitSpec, SetLimits
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    EpochEnded,
    FieldSources,
    FitEnded,
    FitStarted,
    GraphSize,
    ModelFacts,
    Notice,
    Sample,
    SessionEnded,
    SessionStarted,
)
from tests.support import callback_fits
from tests.support.callback_fits import (
    Hook,
    Told,
    fit,
    of,
    small_model,
)
from tests.support.recorders import hear, recorder_of
from tests.support.reloading import KERAS
from tests.support.spooled import spooled_events
from tests.support.waiting import DEADLINE_S

pytestmark = [*KERAS, pytest.mark.slow]

closed_runs = callback_fits.closed_runs
monitor = callback_fits.monitor
told = callback_fits.told


def test_instance_is_a_keras_callback_and_constructing_it_starts_nothing(
    monitor: Any, folders: Folders
):
    assert isinstance(monitor, keras.callbacks.Callback)
    assert isinstance(monitor, MonitorCallback)
    assert type(MonitorCallback(hub="off")) is type(monitor)
    assert not folders.state.exists()
    assert not [t for t in threading.enumerate() if t.name.startswith("kmonitor")]
    assert repr(monitor.records) == "nothing has been done yet"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"run_name": ""}, "use a name"),
        ({"limits": ["ram"]}, r"limits=\[Limit"),
        ({"sample_interval_s": 0}, "sample_interval_s"),
        ({"commands": 1}, "commands=True"),
        ({"hub": "tcp://host:1"}, "hub"),
        ({"hub": 5}, "hub=5 is not a string"),
        ({"hub": ""}, "hub is empty"),
        ({"checkpoint_dir": 5}, "checkpoint_dir"),
        ({"checkpoint_dir": ""}, "checkpoint_dir is empty"),
        ({"keep_checkpoints": 0}, "not between 1 and 1000"),
        ({"keep_checkpoints": True}, "use keep_checkpoints=2"),
        ({"logs": "yes"}, "use logs=True"),
        ({"hub": "/"}, "is a folder"),
        ({"name": "x"}, "did you mean run_name"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_at_construction(
    arguments: dict[str, Any], says: str
):
    with pytest.raises((TypeError, ValueError), match=says):
        MonitorCallback(**arguments)


def test_fit_tells_its_model_epochs_graph_samples_and_end(monitor: Any, told: Told):
    history = fit(small_model(), monitor).history

    events = told(monitor)
    session, *_ = events
    assert isinstance(session, SessionStarted)
    assert session.name == "run"
    assert session.backend == "tensorflow"
    assert "reload" in session.actions
    assert isinstance(events[-1], SessionEnded)
    assert events[-1].why == "finished"
    [started] = of(FitStarted, events)
    assert (started.fit, started.epochs, started.steps, started.batch_size) == (1, 2, 6, 8)
    assert started.learning_rate == pytest.approx(0.01)
    [facts] = of(ModelFacts, events)
    assert (facts.parameters, facts.n_layers) == (19, 2)
    epochs = of(EpochEnded, events)
    assert [(e.epoch, e.steps, e.logs["loss"]) for e in epochs] == [
        (0, 6, history["loss"][0]),
        (1, 6, history["loss"][1]),
    ]
    assert all(e.step_times is not None and e.step_times.count == 4 for e in epochs)
    assert [e.how for e in of(FitEnded, events)] == ["finished"]
    assert of(GraphSize, events)[-1].operations > 0


def test_samples_name_the_source_of_what_they_hold_and_why_the_rest_is_absent(
    told: Told, monkeypatch: pytest.MonkeyPatch
):
    samples = threading.Event()
    hear(monkeypatch, lambda event: isinstance(event, Sample) and samples.set())
    monitor: Any = MonitorCallback("run", hub="off")
    fit(small_model(), monitor, Hook(lambda _: samples.wait(DEADLINE_S)))

    events = told(monitor)
    sources = {s.field: s for event in of(FieldSources, events) for s in event.sources}
    sample = of(Sample, events)[-1]
    assert sample.ram_bytes is not None
    assert sample.ram_bytes > 50e6
    assert "RssAnon" in sources["ram_process_bytes"].source
    measured = {name: getattr(sample, name) for name in sources if hasattr(sample, name)}
    del measured["step_time_s"]
    for name, value in measured.items():
        assert (value is None) == (sources[name].absent != ""), name
    assert "NVIDIA" in sources["device_used_bytes"].absent


def test_callback_is_used_in_several_fits_of_one_run(monitor: Any, told: Told):
    model = small_model()
    fit(model, monitor)
    fit(model, monitor)
    fit(small_model(), MonitorCallback("run", hub="off"), epochs=1)

    events = told(monitor)
    assert [e.fit for e in of(FitStarted, events)] == [1, 2, 3]
    assert [(e.fit, e.how, e.epochs_done) for e in of(FitEnded, events)] == [
        (1, "finished", 2),
        (2, "finished", 2),
        (3, "finished", 1),
    ]
    assert len(of(SessionStarted, events)) == 1


def test_runs_of_different_names_are_different_runs():
    one, other = MonitorCallback("one", hub="off"), MonitorCallback("other", hub="off")

    assert one.run_id != other.run_id
    assert MonitorCallback("one", hub="off").run_id == one.run_id


def test_nested_fits_are_told_apart(monitor: Any, told: Told):
    inner = small_model()

    fit(small_model(), Hook(lambda epoch: epoch == 1 and fit(inner, monitor, epochs=1)), monitor)

    events = told(monitor)
    assert [e.fit for e in of(FitStarted, events)] == [1, 2]
    assert [(e.fit, e.how, e.epochs_done) for e in of(FitEnded, events)] == [
        (2, "finished", 1),
        (1, "finished", 2),
    ]
    assert [(e.fit, e.epoch, e.steps) for e in of(EpochEnded, events)] == [
        (1, 0, 6),
        (2, 0, 6),
        (1, 1, 6),
    ]


def test_one_callback_in_two_threads_times_each_fit_apart(monitor: Any, told: Told):
    both = threading.Barrier(2, timeout=DEADLINE_S)
    models = [small_model(), small_model()]

    def train(model: Any) -> None:
        fit(model, Hook(lambda _: both.wait()), monitor)

    threads = [threading.Thread(target=train, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)

    events = told(monitor)
    assert sorted((e.fit, e.epoch, e.steps) for e in of(EpochEnded, events)) == [
        (1, 0, 6),
        (1, 1, 6),
        (2, 0, 6),
        (2, 1, 6),
    ]
    assert sorted(e.how for e in of(FitEnded, events)) == ["finished"] * 2


@pytest.mark.parametrize(
    "error", [pytest.param(ValueError, marks=pytest.mark.full), KeyboardInterrupt]
)
def test_fit_left_by_an_exception_that_the_script_catches_is_told_as_left(
    monitor: Any, told: Told, error: type[BaseException]
):
    def leave(epoch: int) -> None:
        if epoch == 1:
            raise error("the user's own")

    with pytest.raises(error):
        fit(small_model(), monitor, Hook(leave))
    gc.collect()
    fit(small_model(), monitor, epochs=1)

    events = told(monitor)
    first, second = of(FitEnded, events)
    assert (first.fit, first.how, first.epochs_done) == (1, "left", 1)
    assert first.message == (
        "ended by an exception that the script caught (an error or Ctrl+C), or by sys.exit, "
        "in epoch 2 at step 0 of 6"
    )
    assert (second.fit, second.how) == (2, "finished")


def test_fit_of_a_thread_that_the_process_leaves_behind_is_told_as_interrupted(
    monitor: Any, told: Told
):
    arrived, leave = threading.Event(), threading.Event()

    def hold(_: int) -> None:
        arrived.set()
        leave.wait(DEADLINE_S)

    thread = threading.Thread(target=fit, args=(small_model(), monitor, Hook(hold)))
    thread.start()
    assert arrived.wait(DEADLINE_S)
    [end] = of(FitEnded, told(monitor))
    leave.set()
    thread.join(DEADLINE_S)

    assert (end.how, end.message) == ("interrupted", "it was still running when the process ended")


def test_exception_that_nobody_handles_in_a_thread_is_told_with_its_message(
    monitor: Any, told: Told, monkeypatch: pytest.MonkeyPatch
):
    def leave(_: int) -> None:
        raise ValueError("the user's own")

    thread = threading.Thread(target=fit, args=(small_model(), monitor, Hook(leave)))
    # Before ours is chained, so that pytest's own hook does not fail the test.
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(RUNS, "_is_watching", False)
    thread.start()
    thread.join(DEADLINE_S)

    [end] = of(FitEnded, told(monitor))
    assert (end.how, end.error_type, end.message) == ("failed", "ValueError", "the user's own")


def test_early_stop_by_another_callback_is_told_as_stopped(monitor: Any, told: Told):
    stopper = keras.callbacks.EarlyStopping("loss", patience=0, min_delta=10**9)

    fit(small_model(), monitor, stopper, epochs=9)

    assert [e.how for e in of(FitEnded, told(monitor))] == ["stopped"]


@pytest.mark.parametrize("at", ["epoch", "batch"])
def test_request_is_carried_out_and_leaves_a_record(monitor: Any, told: Told, at: str):
    fit(small_model(), Hook(lambda e: e == 1 and monitor.request("reload", at=at)), monitor)

    [record] = monitor.records
    assert (record.action, record.ok, record.why) == ("reload", True, "")
    assert "requested by script" in str(record)
    [event] = of(ActionRecord, told(monitor))
    assert (event.fit, event.epoch, event.requested_by, event.mode) == (1, 1, "script", "assign")


def test_request_made_while_an_epoch_ends_is_carried_out_at_that_end(monitor: Any, told: Told):
    asked: list[str] = []

    def ask_amid_the_collect(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2 and asked == ["collect"]:
            asked.append("save")
            monitor.request("save")

    def ask_first(epoch: int) -> None:
        if epoch == 1:
            monitor.request("collect")
            asked.append("collect")

    gc.callbacks.append(ask_amid_the_collect)
    try:
        fit(small_model(), Hook(ask_first), monitor)
    finally:
        gc.callbacks.remove(ask_amid_the_collect)

    assert [(each.action, each.epoch) for each in of(ActionRecord, told(monitor))] == [
        ("collect", 1),
        ("save", 1),
    ]


def test_request_made_after_the_last_epoch_waits_for_the_next_fit(monitor: Any, told: Told):
    fit(small_model(), monitor)
    monitor.request("save")
    assert not monitor.records

    fit(small_model(), monitor)

    assert [(each.fit, each.epoch) for each in of(ActionRecord, told(monitor))] == [(2, 0)]


def test_unknown_request_says_what_to_write(monitor: Any):
    with pytest.raises(ValueError, match='use one of "save"'):
        monitor.request("explode")
    with pytest.raises(ValueError, match='use "epoch" or "batch"'):
        monitor.request("save", at="once")
    with pytest.raises(ValueError, match='use "assign" or "recreate"'):
        monitor.request("reload", mode="magic")
    with pytest.raises(ValueError, match="is for a reload"):
        monitor.request("save", mode="recreate")
    with pytest.raises(ValueError, match="export is for a save"):
        monitor.request("reload", export=True)


def test_stop_after_the_batch_ends_the_fit_there(monitor: Any, told: Told):
    steps: list[int] = []

    class Count(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            steps.append(batch)
            if batch == 2:
                monitor.request("stop", at="batch")

    fit(small_model(), monitor, Count(), epochs=3)

    events = told(monitor)
    assert len(steps) <= 4
    assert [e.how for e in of(FitEnded, events)] == ["stopped"]
    assert events[-1].why == "stopped"  # pyright: ignore[reportAttributeAccessIssue]


def test_model_is_let_go_after_the_fit(monitor: Any):
    model = small_model()
    model.compile("sgd", "mse", run_eagerly=True)  # a trace would keep it, without us too
    fit(model, monitor, epochs=1)
    gone = weakref.ref(model)

    assert monitor.model is model
    del model
    gc.collect()
    assert gone() is None
    assert monitor.model is None


def test_script_s_own_loop_at_module_level_keeps_its_variables(told: Told):
    names: dict[str, Any] = {"monitor": MonitorCallback("run", hub="off"), "model": small_model()}
    loop = """
import keras
epoch_iterator = kept = "mine"
listed = keras.callbacks.CallbackList([monitor], model=model, epochs=1, steps=2)
listed.on_train_begin()
listed.on_epoch_begin(0)
for batch in range(2):
    listed.on_train_batch_begin(batch)
    listed.on_train_batch_end(batch)
listed.on_epoch_end(0, {"loss": 0.5})
listed.on_train_end()
"""

    exec(compile(loop, "loop.py", "exec"), names)  # noqa: S102

    assert names["kept"] == "mine"
    [epoch] = of(EpochEnded, told(names["monitor"]))
    assert (epoch.steps, epoch.logs) == (2, {"loss": 0.5})


def test_describing_the_model_waits_until_tf_keras_has_timed_the_first_hooks(monitor: Any):
    listed: Any = keras.callbacks.CallbackList([monitor], model=small_model(), epochs=1, steps=9)
    calls: list[int] = []

    def count(frame: FrameType, event: str, _: object) -> None:
        is_ours = "kmonitor_agent" in frame.f_code.co_filename
        calls[-1] += event == "call" and is_ours

    listed.on_train_begin()
    listed.on_epoch_begin(0)
    for batch in range(9):
        vars(listed)["_check_timing"] = batch < 6
        calls.append(0)
        sys.setprofile(count)
        listed.on_train_batch_begin(batch)
        sys.setprofile(None)
        listed.on_train_batch_end(batch)
    listed.on_train_end()

    assert max(calls[:6]) < 200
    assert max(calls[6:]) > 500


def test_two_callbacks_of_one_run_in_one_fit_tell_it_once(monitor: Any, told: Told):
    fit(small_model(), monitor, MonitorCallback("run", hub="off"))

    events = told(monitor)
    assert len(of(FitStarted, events)) == 1
    assert len(of(EpochEnded, events)) == 2


def test_callback_that_is_listed_twice_counts_once(monitor: Any, told: Told):
    inner = small_model()

    def nested(epoch: int) -> None:
        if epoch == 1:
            fit(inner, monitor, monitor, epochs=1)

    fit(small_model(), monitor, Hook(nested), monitor)

    events = told(monitor)
    ended = {event.fit: event for event in of(FitEnded, events)}
    assert {each: (ended[each].how, ended[each].epochs_done) for each in ended} == {
        1: ("finished", 2),
        2: ("finished", 1),
    }
    epochs = of(EpochEnded, events)
    assert sorted((event.fit, event.epoch, event.steps) for event in epochs) == [
        (1, 0, 6),
        (1, 1, 6),
        (2, 0, 6),
    ]


def test_random_state_and_result_are_untouched():
    def result(*callbacks: Any) -> tuple[Any, ...]:
        keras.utils.set_random_seed(3)
        model = small_model()
        history = fit(model, *callbacks).history
        return history, model.get_weights(), random.random(), np.random.rand()  # noqa: S311

    plain = result()
    watched = result(MonitorCallback("run", hub="off"))

    assert plain[0] == watched[0]
    assert all(np.array_equal(a, b) for a, b in zip(plain[1], watched[1], strict=True))
    assert plain[2:] == watched[2:]


def test_too_many_requests_are_told(monitor: Any, told: Told):
    def ask(epoch: int) -> None:
        for _ in range(17 if epoch == 0 else 0):
            monitor.request("save")

    fit(small_model(), Hook(ask), monitor, epochs=1)

    assert len(monitor.records) == 16
    assert [e.code for e in of(Notice, told(monitor))] == ["request_dropped"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda cb: pickle.loads(pickle.dumps(cb))])  # noqa: S301
def test_copy_keeps_the_arguments_and_joins_the_run(copied: Callable[[Any], Any]):
    class Mine(MonitorCallback):
        """A user's own."""

    monitor: Any = MonitorCallback("run", limits=[Limit("graph", 50)], hub="off")
    monitor.note = "kept"

    twin = copied(monitor)
    assert twin.__getstate__() == monitor.__getstate__()
    fit(small_model(), twin, epochs=1)

    assert type(twin) is type(monitor)
    assert (twin.note, twin.run_id) == ("kept", monitor.run_id)
    assert isinstance(Mine("run", hub="off"), keras.callbacks.Callback)


def test_subclass_may_override_hooks(told: Told):
    seen: list[int] = []

    class Mine(MonitorCallback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            super().on_epoch_end(epoch, logs)
            seen.append(epoch)

    mine: Any = Mine("run", hub="off")
    fit(small_model(), mine)

    assert seen == [0, 1]
    assert len(of(EpochEnded, told(mine))) == 2


@pytest.mark.promise(12)
def test_private_run_sends_no_names_or_texts(told: Told):
    monitor: Any = MonitorCallback("secret study", private=True, hub="off")
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(1, name="patients")], name="clinic"
    )
    model.compile("sgd", "mse", metrics=[keras.metrics.MeanAbsoluteError(name="survival")])

    def leave(epoch: int) -> None:
        if epoch == 1:
            raise ValueError("/data/secret.csv")

    with pytest.raises(ValueError, match="secret"):
        fit(model, monitor, Hook(leave))

    words = str(told(monitor))
    for secret in ("secret", "patients", "clinic", "survival", os.getcwd()):  # noqa: PTH109
        assert secret not in words, secret
    assert "'loss'" in words


@pytest.mark.promise(14)
def test_fault_of_ours_never_reaches_fit_and_is_told(
    monitor: Any, folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    def broken(*_: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(FitReporter, "epoch_ended", broken)
    recorder = recorder_of(monitor)
    fit(small_model(), monitor)
    RUNS.close()

    assert recorder.faults.counts() == {"run.report_epoch": 2}
    faults = [e for e in spooled_events(folders, monitor.run_id) if type(e).__name__ == "Fault"]
    assert len(faults) == 2
    assert "a bug" in (folders.logs / "agent.log").read_text()


def test_forked_child_stays_silent(monitor: Any, told: Told):
    fit(small_model(), monitor, epochs=1)
    recorder = recorder_of(monitor)
    before = len(recorder.open_fits())

    child = os.fork()
    if child == 0:
        # Only our hooks: TensorFlow itself does not survive a fork.
        monitor.set_model(small_model)
        monitor.on_train_begin()
        os._exit(len(recorder.open_fits()))
    status = os.waitpid(child, 0)[1]

    assert os.waitstatus_to_exitcode(status) == before == 0
    assert len(of(SessionStarted, told(monitor))) == 1


def test_a_closed_run_that_is_named_again_keeps_its_id_fits_and_the_apps_limits(folders: Folders):
    wanted = SetLimits(metrics=["ram"], limits=[LimitSpec(metric="ram", value=1e15)])
    model, ids = small_model(), set[str]()
    for name in ("one", "two", "one", "two"):
        monitor: Any = MonitorCallback(name, hub="off")
        ids.add(monitor.run_id)
        if len(ids) == 1:
            recorder_of(monitor).limits.set_by_command(wanted, "app")
        fit(model, monitor, epochs=1)
        kept = recorder_of(monitor).limits.commanded()
        del monitor
        gc.collect()
        assert (kept is not None) == (name == "one")
    one, two = ids
    assert len(RUNS.recorders()) == 1
    RUNS.close()

    for run in (one, two):
        events = spooled_events(folders, run)
        assert [event.fit for event in of(FitStarted, events)] == [1, 2]
        assert len(of(SessionEnded, events)) == 2
        assert len(of(SessionStarted, events)) == 2
