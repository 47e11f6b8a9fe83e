"""tf_keras 2 in eager mode: reload is exact or says so first, collect keeps a loop flat."""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tensorflow.python.eager.polymorphic_function.atomic_function import RUNTIME_FUNCTION_REFS
from tensorflow.python.framework import ops

from kmonitor_agent import MonitorCallback
from kmonitor_agent.frameworks.detection import forget_frameworks, framework_for
from kmonitor_agent.frameworks.tf_keras.state import keras2_backend
from kmonitor_agent.reclaim.actions import collect, reload, save
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from kmonitor_agent.recording.runs import RUNS
from tests.frameworks.tf_keras.scenarios import (
    INEXACT,
    SCENARIOS,
    TF_KERAS,
    arrays,
    dense,
    tf_keras,
)
from tests.support.exactness import (
    EPOCH_END,
    MOMENTS,
    THREE_TIMES,
    Moments,
    Result,
    Scenario,
    assert_reloaded,
    assert_same,
    run_plain,
    run_reloaded,
)
from tests.support.leaking import gradient_registry

pytestmark = TF_KERAS

TAG = CheckpointTag("run", 1, 0)
QUICK = {SCENARIOS[0].name, SCENARIOS[1].name, SCENARIOS[2].name}

CASES = [
    pytest.param(
        scenario,
        moments,
        id=f"{scenario.name}-{moments.name}",
        marks=() if scenario.name in QUICK and moments is THREE_TIMES else pytest.mark.full,
    )
    for scenario in SCENARIOS
    for moments in MOMENTS
]


@pytest.fixture(scope="module")
def plain_runs() -> dict[str, Result]:
    """Uninterrupted runs by scenario, each made once."""
    return {}


@pytest.fixture
def closed_runs() -> Iterator[None]:
    """No run outlives its test."""
    yield
    RUNS.close()


@pytest.mark.parametrize(("scenario", "moments"), CASES)
def test_a_reloaded_training_ends_the_same(
    scenario: Scenario, moments: Moments, plain_runs: dict[str, Result], tmp_path: Path
) -> None:
    if scenario.name not in plain_runs:
        plain_runs[scenario.name] = run_plain(scenario)

    reloaded = run_reloaded(scenario, moments, tmp_path)

    assert_reloaded(scenario, reloaded)
    assert_same(plain_runs[scenario.name], reloaded)


@pytest.mark.parametrize("scenario", INEXACT, ids=lambda each: each.name)
def test_what_is_not_exact_is_announced_and_is_not(scenario: Scenario, tmp_path: Path) -> None:
    reloaded = run_reloaded(scenario, EPOCH_END, tmp_path)

    assert_reloaded(scenario, reloaded)
    with pytest.raises(AssertionError):
        assert_same(run_plain(scenario), reloaded)


def test_collect_keeps_rebuilt_models_flat() -> None:
    seen = [_counts(model_and_collect=True) for _ in range(5)]

    for functions, entries in seen[3:]:
        assert functions <= seen[2][0]
        assert entries <= seen[2][1]


def test_without_collect_rebuilt_models_grow() -> None:
    seen = [_counts(model_and_collect=False) for _ in range(3)]
    framework = framework_for(dense())
    released = collect(framework, None)

    assert seen[0][1] < seen[1][1] < seen[2][1]
    assert released.released_models >= 2


def test_a_live_model_keeps_its_traces_over_a_collect() -> None:
    model = _fitted()
    function = model.train_function
    traces = function.experimental_get_tracing_count()

    outcome = collect(framework_for(model), model)
    model.fit(**arrays(), epochs=1, verbose=0)

    assert outcome.ok
    assert model.train_function is function
    assert function.experimental_get_tracing_count() == traces


def test_layers_after_a_reload_are_named_as_without_it(tmp_path: Path) -> None:
    model = _fitted()
    tf_keras.backend.clear_session()
    before = [tf_keras.layers.Dense(1).name, tf_keras.backend.get_uid("own")]

    outcome = reload(framework_for(model), model, CheckpointStore(tmp_path), tag=TAG)

    assert outcome.ok
    assert before == ["dense", 1]
    assert [tf_keras.layers.Dense(1).name, tf_keras.backend.get_uid("own")] == ["dense_1", 2]


def test_a_plain_fit_reloads_on_request(closed_runs: None) -> None:
    monitor = MonitorCallback(hub="off")
    monitor.request("reload")

    dense().fit(**arrays(), epochs=2, verbose=0, callbacks=[monitor])

    (record,) = monitor.records
    assert record.ok
    assert record.event.mode == "assign"


@pytest.mark.parametrize("name", ["_DUMMY_EAGER_GRAPH", "PER_GRAPH_OBJECT_NAME_UIDS"])
def test_a_missing_private_name_leaves_only_the_session(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = _fitted()
    monkeypatch.delattr(keras2_backend("tf_keras"), name)

    outcome = reload(framework_for(model), model, CheckpointStore(tmp_path), tag=TAG)

    assert outcome.ok
    assert "session not cleared" in outcome.why
    assert name in outcome.why


def test_without_the_registry_collect_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    model = _fitted()
    monkeypatch.delattr(ops, "gradient_registry")
    forget_frameworks()
    try:
        outcome = collect(framework_for(model), model)
    finally:
        forget_frameworks()

    assert not outcome.ok
    assert "gradient_registry" in outcome.why


def test_a_model_that_is_not_built_has_nothing_to_save(tmp_path: Path) -> None:
    model = tf_keras.Sequential([tf_keras.layers.Dense(1)])
    model.compile("sgd", "mse")

    outcome = save(framework_for(model), model, CheckpointStore(tmp_path), tag=TAG)

    assert not outcome.ok
    assert "not built" in outcome.why


def test_slots_of_old_and_new_optimizers_are_told_by_kind() -> None:
    for optimizer in (tf_keras.optimizers.Adam(), tf_keras.optimizers.legacy.Adam()):
        model = dense(optimizer=optimizer)
        model.fit(**arrays(), epochs=1, verbose=0)

        slots = {slot.name: slot.n for slot in framework_for(model).describe(model).slots}

        assert slots["m"] == slots["v"] == 6


@pytest.mark.parametrize("own", [False, True])
def test_tf_keras_times_hooks_only_for_callbacks_of_the_script(
    monkeypatch: pytest.MonkeyPatch, closed_runs: None, *, own: bool
) -> None:
    class Own(tf_keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            """Nothing, but tf_keras times it."""

    theirs = [Own() if own else tf_keras.callbacks.TerminateOnNaN()]
    counts: list[int] = []
    for ours in ([], [MonitorCallback(hub="off")]):
        calls: list[float] = []
        clock = SimpleNamespace(time=lambda calls=calls: calls.append(0.0) or 0.0)
        monkeypatch.setattr(sys.modules["tf_keras.src.callbacks"], "time", clock)
        dense().fit(**arrays(), epochs=2, verbose=0, callbacks=[*theirs, *ours])
        counts.append(len(calls))

    assert counts[0] == counts[1]
    assert (counts[0] > 0) is own


def _fitted() -> Any:
    model = dense()
    model.fit(**arrays(), epochs=1, verbose=0)
    return model


def _counts(*, model_and_collect: bool) -> tuple[int, int]:
    framework = framework_for(_fitted())
    gc.collect()
    if model_and_collect:
        assert collect(framework, None).ok
    return len(RUNTIME_FUNCTION_REFS), len(gradient_registry())
