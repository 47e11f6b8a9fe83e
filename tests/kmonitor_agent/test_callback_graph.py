"""The callback's reports of the graph and of step times, and the effect of limits on them."""

# pyright: reportImplicitOverride=false, reportIncompatibleMethodOverride=false
import threading
from typing import Any

import keras
import pytest

from kmonitor_agent import Limit, MonitorCallback
from kmonitor_agent.recording.sampler import Sampler
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    EpochEnded,
    FieldSources,
    GraphSize,
    LimitCrossed,
    Notice,
    Paused,
)
from tests.support import callback_fits
from tests.support.callback_fits import (
    Hook,
    Told,
    X,
    Y,
    fit,
    of,
    small_model,
)
from tests.support.recorders import hear, recorder_of
from tests.support.reloading import KERAS

pytestmark = [*KERAS, pytest.mark.slow]

closed_runs = callback_fits.closed_runs
monitor = callback_fits.monitor
told = callback_fits.told


def test_a_pause_holds_the_training_and_a_reload_meanwhile_is_told_with_its_graph(
    told: Told, monkeypatch: pytest.MonkeyPatch
):
    paused: list[bool] = []
    asked = iter(["reload", "resume"])

    def ask_next(event: Any) -> None:
        if isinstance(event, Paused):
            paused.append(event.paused)
        if paused[-1:] == [True] and isinstance(event, (Paused, ActionRecord)):
            threading.Thread(target=monitor.request, args=(next(asked),)).start()

    hear(monkeypatch, ask_next)
    monitor: Any = MonitorCallback("run", hub="off")
    monitor.request("pause")
    fit(small_model(), monitor)

    assert [(r.action, r.ok) for r in monitor.records] == [
        ("reload", True),
        ("pause", True),
        ("resume", True),
    ]
    events = told(monitor)
    (reload,) = [e for e in of(ActionRecord, events) if e.action == "reload"]
    resumed = next(n for n, e in enumerate(events) if isinstance(e, Paused) and not e.paused)
    graphs = [e.operations for e in of(GraphSize, events[:resumed])]
    assert reload.after is not None
    assert graphs[-1] == reload.after.graph_operations


def test_loop_of_models_crosses_a_graph_limit_and_the_reload_brings_it_down(told: Told):
    limit = Limit("graph", 400, action="reload", cooldown_s=0)
    monitors: list[Any] = [MonitorCallback("run", limits=[limit], hub="off") for _ in range(5)]
    for monitor in monitors:
        fit(small_model(), monitor, epochs=1)

    events = told(monitors[0])
    crossings = [e for e in of(LimitCrossed, events) if e.crossed]
    records = of(ActionRecord, events)
    assert len(records) == len([e for e in crossings if e.answered]) >= 1
    for record in records:
        assert record.ok
        assert record.after is not None
        assert (record.after.graph_operations or 0) < 400 < (record.before.graph_operations or 0)
        assert record.requested_by == "limit graph 400"


def test_graph_is_counted_as_soon_as_a_step_was_traced(monitor: Any, told: Told):
    seen: dict[int, int] = {}

    class Look(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            graph: Any = recorder_of(monitor).current_target().graph
            seen[batch] = graph.operations
            if batch == 3:
                monitor.request("reload", at="batch")

    fit(small_model(), monitor, Look(), epochs=1)

    counts = [e.operations for e in of(GraphSize, told(monitor))]
    assert seen[0] == counts[0]
    assert seen[0] < seen[1] == seen[2] == seen[3]
    assert 0 < seen[4] <= seen[5] == counts[-1]


def test_epochs_too_short_to_time_say_so_and_so_does_a_limit_on_them_once(
    told: Told, monkeypatch: pytest.MonkeyPatch
):
    monitor: Any = MonitorCallback(
        "run", hub="off", limits=[Limit("step_time", 0.001)], sample_interval_s=0.05
    )
    sample, lock = Sampler.sample, threading.Lock()

    def sampled(sampler: Sampler) -> None:
        with lock:  # the agent's own thread samples too
            sample(sampler)

    monkeypatch.setattr(Sampler, "sample", sampled)
    small_model().fit(
        X,
        Y,
        batch_size=48,
        epochs=3,
        verbose=0,
        callbacks=[monitor, Hook(lambda _: recorder_of(monitor).sampler.sample())],
    )

    events = told(monitor)
    assert [e.step_times for e in of(EpochEnded, events)] == [None] * 3
    [notice] = of(Notice, events)
    assert notice.code == "limit_unmeasured"
    assert "an epoch of 1 step is too short to time" in notice.text
    # A sample after the fit has no epoch to speak of, and names the clock again.
    told_of = [
        each
        for event in of(FieldSources, events)
        for each in event.sources
        if each.field == "step_time_s" and "an epoch of 1 step" in each.absent
    ]
    assert told_of
    assert not told_of[0].source
