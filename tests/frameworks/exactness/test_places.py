"""Strategies, several workers and nested graphs: the safe part is done and the rest is named."""

import json
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from kmonitor_agent.frameworks.detection import framework_for
from kmonitor_agent.reclaim.actions import reload
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from kmonitor_agent.wire.messages.commands import ReloadMode
from tests.frameworks.exactness import data, models
from tests.support.exactness import (
    EPOCH_END,
    Scenario,
    assert_reloaded,
    assert_same,
    run_plain,
    run_reloaded,
    state_of,
)
from tests.support.reloading import KERAS
from tests.support.waiting import DEADLINE_S

pytestmark = [*KERAS, pytest.mark.slow]

TRAINING = Scenario("dense", models.dense, data.arrays, epochs=2)
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.full
@pytest.mark.parametrize("mode", ["assign", "recreate"])
def test_inside_a_strategys_scope_the_session_stays_and_the_result_too(
    tmp_path: Path, mode: ReloadMode
):
    scenario = Scenario(
        "in scope",
        models.dense,
        data.arrays,
        epochs=2,
        why_assign="strategy.scope()",
        left_out="session not cleared: the code runs inside strategy.scope()",
    )

    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        plain = run_plain(scenario)
        reloaded = run_reloaded(scenario, EPOCH_END, tmp_path, mode=mode)

    assert_reloaded(scenario, reloaded, mode=mode)
    assert_same(reloaded, plain)


@pytest.mark.full
def test_two_replicas_of_a_mirrored_strategy_end_the_same(tmp_path: Path):
    _out_of(_process("mirrored_training", str(tmp_path)))


@pytest.mark.full
def test_several_workers_reload_never_and_only_the_chief_writes(tmp_path: Path):
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(2)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        ports = ",".join(str(each.getsockname()[1]) for each in sockets)
    folders = [tmp_path / "chief", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()

    workers = [
        _process("workers_training", str(n), ports, str(folder))
        for n, folder in enumerate(folders)
    ]
    chief, other = (_told(worker) for worker in workers)

    for told in (chief, other):
        (_, _, _), (_, reloaded, why), (_, collected, _) = told["outcomes"]
        assert not reloaded
        assert "2 workers train this model together" in why
        assert collected
        assert told["is_unchanged"]
    assert chief["outcomes"][0] == ["save", True, ""]
    assert len(chief["files"]) == 1
    assert other["outcomes"][0][1:] == [
        False,
        "worker 1 leaves the checkpoint to the chief, which writes for all workers",
    ]
    assert other["files"] == []
    assert chief["weights"] == other["weights"], "they still step together"


@pytest.mark.parametrize("mode", [pytest.param("assign", marks=pytest.mark.full), "recreate"])
def test_inside_a_nested_graph_the_state_is_saved_and_the_session_stays(
    tmp_path: Path, mode: ReloadMode
):
    model = models.dense()
    model.fit(**data.arrays(), verbose=0)
    before = state_of(model)
    store = CheckpointStore(tmp_path)

    with tf.Graph().as_default() as graph:
        outcome = reload(
            framework_for(model), model, store, tag=CheckpointTag("run", 1, 0), mode=mode
        )
        inner = tf.constant(1.0)

    assert outcome.ok, outcome.why
    assert outcome.mode == "assign"
    assert "session not cleared: the code runs inside a graph" in outcome.why
    assert ("not recreated" in outcome.why) == (mode == "recreate")
    assert inner.graph is graph
    assert len(store.checkpoints()) == 1
    after = state_of(model)
    assert [value.tobytes() for _, value in after] == [value.tobytes() for _, value in before]
    model.fit(**data.arrays(), verbose=0)


def test_a_hidden_way_out_of_a_graph_refuses_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    model = models.dense()
    model.fit(**data.arrays(), verbose=0)
    before = state_of(model)
    step = model.train_function
    monkeypatch.delattr(tf.__internal__.eager_context, "eager_mode")

    with tf.Graph().as_default():
        outcome = reload(
            framework_for(model), model, CheckpointStore(tmp_path), tag=CheckpointTag("run", 1, 0)
        )

    assert not outcome.ok
    assert "inside a graph, where values cannot be read" in outcome.why
    assert list(tmp_path.glob("*.h5")) == []
    assert model.train_function is step
    after = state_of(model)
    assert [value.tobytes() for _, value in after] == [value.tobytes() for _, value in before]


def _process(module: str, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", f"tests.frameworks.exactness.{module}", *arguments]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _told(worker: "subprocess.Popen[str]") -> Any:
    return json.loads(_out_of(worker).splitlines()[-1])


def _out_of(process: "subprocess.Popen[str]") -> str:
    try:
        out, errors = process.communicate(timeout=6 * DEADLINE_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, errors[-3000:]
    return out
