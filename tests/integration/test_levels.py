# pyright: reportImplicitOverride=false
"""`auto`, Diagnose and exports in a real `fit`: done as far as needed, with the same result."""

import re
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import keras
import pytest
import tensorflow as tf

from kmonitor_agent import Limit, MonitorCallback
from kmonitor_agent.recording.runs import RUNS
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    AnyEvent,
    Diagnosis,
    LimitCrossed,
    Notice,
    Sample,
)
from tests.support.recorders import faults_of, hear
from tests.support.reloading import (
    KERAS,
    Result,
    Training,
    arrays,
    clean_registry,
    dense_model,
    shuffled_dataset,
)
from tests.support.spooled import spooled_events
from tests.support.waiting import wait_until

pytestmark = [*KERAS, pytest.mark.slow]

TRAINING = Training(
    model=lambda: dense_model(metrics=["accuracy"]), data=shuffled_dataset, epochs=5
)
"""Dropout, momentum, BatchNorm, validation data and reshuffled tf.data."""

T = TypeVar("T")
Told = Callable[[Any], list[AnyEvent]]


@pytest.fixture(scope="module")
def uninterrupted() -> Result:
    return TRAINING.run()


@pytest.fixture(autouse=True)
def closed_runs() -> Iterator[None]:
    yield
    RUNS.close()


@pytest.fixture
def told(folders: Folders) -> Told:
    """Ends a callback's run and reads its events."""

    def read(callback: Any) -> list[AnyEvent]:
        assert faults_of(callback) == {}
        RUNS.close()
        return spooled_events(folders, callback.run_id)

    return read


class At(keras.callbacks.Callback):
    """The script's own callback: calls something at the begin of chosen epochs."""

    def __init__(self, calls: dict[int, Callable[[], object]]) -> None:
        super().__init__()
        self._calls = calls

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._calls.get(epoch, lambda: None)()


def of(kind: type[T], events: list[AnyEvent]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def steps_of(monitor: Any) -> list[tuple[str, bool, str]]:
    return [(r.action, r.ok, r.event.part_of) for r in monitor.records]


def test_limit_that_nothing_helps_against_is_said_to_stay_and_not_answered_again(
    uninterrupted: Result, told: Told
):
    monitor: Any = MonitorCallback(
        limits=[Limit("graph", 100, action="auto", cooldown_s=0)], hub="off"
    )

    result = TRAINING.run(monitor)

    assert steps_of(monitor) == [("collect", True, "auto"), ("reload", True, "auto")]
    events = told(monitor)
    [notice] = [each for each in of(Notice, events) if each.code == "nothing_helps"]
    assert "collect and reload did not help" in notice.text
    assert "kmonitor run" in notice.text
    assert [each.crossed for each in of(LimitCrossed, events)] == [True, True, True]
    result.assert_same(uninterrupted)


@pytest.mark.full
def test_limit_that_a_collect_helps_against_leads_no_further(told: Told):
    with clean_registry() as framework:
        model = dense_model()
        model.fit(**arrays(), epochs=1, verbose=0)
        needed = framework.graph(model).operations
        assert needed is not None
        limit = Limit("graph", 3 * needed, action="auto", cooldown_s=0)
        monitors: list[Any] = [MonitorCallback("run", limits=[limit], hub="off") for _ in range(6)]
        for monitor in monitors:
            dense_model().fit(**arrays(), epochs=1, verbose=0, callbacks=[monitor])

    done = steps_of(monitors[0])
    assert set(done) == {("collect", True, "auto")}
    events = told(monitors[0])
    crossings = of(LimitCrossed, events)
    assert [each.crossed for each in crossings] == [True, False] * len(done)
    assert not [each for each in of(Notice, events) if each.code == "nothing_helps"]


def test_memory_that_stays_high_but_does_not_grow_leads_to_no_more_than_one_reload(
    told: Told, monkeypatch: pytest.MonkeyPatch
):
    samples: list[Any] = []
    hear(monkeypatch, lambda event: isinstance(event, Sample) and samples.append(event))
    limit = Limit("ram", "300 MiB", action="auto", cooldown_s=0)
    monitor: Any = MonitorCallback(limits=[limit], hub="off", sample_interval_s=0.05)

    def wait_for_samples() -> None:
        before = len(samples)
        wait_until(lambda: len(samples) >= before + 4, what="samples of this epoch")

    with clean_registry():
        TRAINING.run(At(dict.fromkeys(range(5), wait_for_samples)), monitor)

    assert steps_of(monitor) == [("collect", True, "auto"), ("reload", True, "auto")]
    events = told(monitor)
    assert [each.answered for each in of(LimitCrossed, events)] == [True]
    assert not [each for each in of(Notice, events) if each.code == "nothing_helps"]


def test_auto_by_request_stops_at_a_collect_that_left_no_debt():
    with clean_registry():
        for _ in range(2):
            dense_model().fit(**arrays(), epochs=1, verbose=0)
        monitor: Any = MonitorCallback(hub="off")
        calls = {0: lambda: monitor.request("auto"), 2: lambda: monitor.request("auto")}

        TRAINING.run(At(calls), monitor)

    assert steps_of(monitor) == [
        ("collect", True, "auto"),
        ("collect", True, "auto"),
        ("reload", True, "auto"),
    ]
    assert monitor.records[0].event.released_traces > 0
    assert "part of auto" in str(monitor.records[0])


@pytest.mark.full
def test_auto_by_request_changes_no_result(uninterrupted: Result):
    monitor: Any = MonitorCallback(hub="off")

    result = TRAINING.run(At({1: lambda: monitor.request("auto", at="batch")}), monitor)

    assert [action for action, _, _ in steps_of(monitor)] == ["collect", "reload"]
    result.assert_same(uninterrupted)


def test_reload_that_is_asked_to_recreate_does(uninterrupted: Result):
    monitor: Any = MonitorCallback(hub="off")

    result = TRAINING.run(At({1: lambda: monitor.request("reload", mode="recreate")}), monitor)

    assert [record.event.mode for record in monitor.records] == ["recreate"]
    result.assert_same(uninterrupted)


def test_diagnosis_names_types_growth_lines_and_holders_and_changes_no_result(
    uninterrupted: Result, told: Told
):
    kept: list[Any] = []

    @tf.function
    def my_step(x: Any) -> Any:
        return x + 1

    def grow() -> None:
        kept.extend([[], n] for n in range(5000))
        for n in range(6):
            my_step(tf.zeros([n + 1]))
        monitor.request("diagnose")

    monitor: Any = MonitorCallback(hub="off")
    calls: dict[int, Callable[[], object]] = {0: lambda: monitor.request("diagnose"), 2: grow}

    result = TRAINING.run(At(calls), monitor)

    result.assert_same(uninterrupted)
    assert not tracemalloc.is_tracing()
    first, lines, second, _ = of(Diagnosis, told(monitor))
    assert all(each.grown is None for each in first.objects)
    assert "tracemalloc" in first.why
    assert not first.allocations
    assert lines.allocations
    assert all(each.grown_bytes > 0 for each in lines.allocations)
    assert re.search(r"allocations used [\d.]+ [KMGT]?i?B", lines.why)
    [lists] = [each for each in second.objects if each.kind == "builtins.list"]
    assert (lists.grown or 0) >= 10_000
    assert second.holders[0].startswith(
        "6 traces held by `my_step` (a tf.function in the script, 6 shapes"
    )
    assert [action for action, _, _ in steps_of(monitor)] == ["diagnose", "diagnose"]


def test_line_that_allocates_is_named_and_hashed_where_private(told: Told):
    leaked: list[bytearray] = []
    monitor: Any = MonitorCallback(hub="off", private=True)

    def leak() -> None:
        leaked.append(bytearray(3_000_000))

    TRAINING.run(At({0: lambda: monitor.request("diagnose"), 1: leak}), monitor)

    first, lines = of(Diagnosis, told(monitor))
    assert lines.allocations[0].grown_bytes >= 3_000_000
    assert len(lines.allocations[0].location) == 12
    assert not [line for line in first.holders if "train" in line or "step" in line]


def test_fit_that_ends_before_the_next_epoch_tells_its_lines_and_stops_tracing(told: Told):
    monitor: Any = MonitorCallback(hub="off")

    TRAINING.run(At({4: lambda: monitor.request("diagnose")}), monitor)

    assert not tracemalloc.is_tracing()
    assert [bool(each.objects) for each in of(Diagnosis, told(monitor))] == [True, False]


@pytest.mark.full
def test_diagnosis_that_fails_is_told_and_the_training_goes_on(
    monkeypatch: pytest.MonkeyPatch, uninterrupted: Result
):
    def broken(*_: Any) -> None:
        raise MemoryError("no room to count")

    monkeypatch.setattr("kmonitor_agent.probes.heap._count_by_kind", broken)
    monitor: Any = MonitorCallback(hub="off")

    result = TRAINING.run(At({1: lambda: monitor.request("diagnose")}), monitor)

    [record] = monitor.records
    assert (record.action, record.ok, record.why) == (
        "diagnose",
        False,
        "MemoryError: no room to count",
    )
    assert not tracemalloc.is_tracing()
    result.assert_same(uninterrupted)


@pytest.mark.full
def test_tracing_that_the_script_has_on_stays_on():
    tracemalloc.start(3)
    try:
        monitor: Any = MonitorCallback(hub="off")
        TRAINING.run(At({0: lambda: monitor.request("diagnose")}), monitor)

        assert tracemalloc.is_tracing()
        assert tracemalloc.get_traceback_limit() == 3
    finally:
        tracemalloc.stop()


def test_save_with_an_export_leaves_a_model_that_keras_loads_and_changes_no_result(
    uninterrupted: Result, tmp_path: Path, told: Told
):
    monitor: Any = MonitorCallback(hub="off", checkpoint_dir=tmp_path / "kept", keep_checkpoints=1)
    ask = {n: lambda: monitor.request("save", export=True) for n in (1, 4)}

    result = TRAINING.run(At(ask), monitor)

    result.assert_same(uninterrupted)
    records = of(ActionRecord, told(monitor))
    assert [(each.ok, each.export.endswith(".keras")) for each in records] == [(True, True)] * 2
    names = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert names == sorted([records[-1].checkpoint, records[-1].export]), "one is kept"
    loaded: Any = keras.saving.load_model(tmp_path / "kept" / records[-1].export)
    x = arrays()["x"]
    assert loaded.predict(x, verbose=0).tobytes() == result.model.predict(x, verbose=0).tobytes()


class Unsaveable(keras.layers.Layer):
    """Has a configuration that cannot be written down."""

    def call(self, inputs: Any) -> Any:
        return inputs

    def get_config(self) -> dict[str, Any]:
        raise RuntimeError("not to be told")


def test_export_that_keras_cannot_write_is_told_and_the_save_stands(tmp_path: Path):
    def model() -> Any:
        made = keras.Sequential([keras.Input((8,)), Unsaveable(), keras.layers.Dense(1)])
        made.compile("sgd", "mse")
        return made

    monitor: Any = MonitorCallback(hub="off", checkpoint_dir=tmp_path / "kept")

    Training(model).run(At({1: lambda: monitor.request("save", export=True)}), monitor)

    [record] = monitor.records
    assert (record.ok, record.event.export) == (True, "")
    assert record.why.startswith("saved, but not exported: ")
    assert "not to be told" in record.why
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [record.event.checkpoint]


def test_folder_that_vanished_is_made_again_for_the_next_save(tmp_path: Path):
    folder = tmp_path / "checkpoints"
    monitor: Any = MonitorCallback(hub="off", checkpoint_dir=folder)
    calls: dict[int, Callable[[], object]] = {
        0: lambda: monitor.request("save"),
        2: lambda: (shutil.rmtree(folder), monitor.request("save", export=True)),
    }

    TRAINING.run(At(calls), monitor)

    assert [(record.ok, record.why) for record in monitor.records] == [(True, "")] * 2
    assert len(list(folder.iterdir())) == 2
