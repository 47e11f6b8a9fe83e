"""Two workers of a tf_keras model: all reload at the same step or none does, the chief writes."""

import functools
import importlib.util
import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.waiting import DEADLINE_S

pytestmark = [
    pytest.mark.keras,
    pytest.mark.slow,
    pytest.mark.full,
    pytest.mark.skipif(
        importlib.util.find_spec("tf_keras") is None, reason="tf_keras is not installed"
    ),
]

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Output of chief and other for a way to request; each is run once."""

    @functools.cache
    def run(way: str) -> list[Any]:
        home = tmp_path_factory.mktemp("workers")
        environ = {**os.environ, "KMONITOR_HOME": str(home), "TF_CPP_MIN_LOG_LEVEL": "3"}
        ports = ",".join(map(str, _free_ports(2)))
        folders = [home / "chief", home / "other"]
        started: list[subprocess.Popen[str]] = []
        try:
            for n, folder in enumerate(folders):
                folder.mkdir()
                module = "tests.frameworks.tf_keras.workers_training"
                started.append(
                    subprocess.Popen(
                        [sys.executable, "-m", module, str(n), ports, str(folder), way],
                        cwd=ROOT,
                        env=environ,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        text=True,
                    )
                )
            told = [each.communicate(timeout=4 * DEADLINE_S) for each in started]
        finally:
            for each in started:
                each.kill()
                each.wait()
        for each, (_, errors) in zip(started, told, strict=True):
            assert each.returncode == 0, errors[-3000:]
        return [json.loads(out.splitlines()[-1]) for out, _ in told]

    return run


@pytest.mark.parametrize("way", ["chief", "other", "both", "batch", "limit"])
def test_a_reload_asked_of_one_is_done_by_all_at_the_same_step(trained: Any, way: str) -> None:
    chief, other = (_reloads(each) for each in trained(way))

    assert len(chief) == len(other) >= 1
    for (_, chief_ok, chief_epoch, *_), (_, other_ok, other_epoch, *_) in zip(
        chief, other, strict=True
    ):
        assert chief_ok
        assert other_ok
        assert chief_epoch == other_epoch
    assert len(trained(way)[0]["files"]) == len(chief)
    assert trained(way)[1]["files"] == []


@pytest.mark.parametrize("way", ["chief", "other", "both", "batch", "limit", "full disk"])
def test_workers_end_as_without_any_reload(trained: Any, way: str) -> None:
    for ours, plain in zip(trained(way), trained("plain"), strict=True):
        assert ours["history"] == plain["history"]
        assert ours["state"] == plain["state"]
        assert ours["faults"] == {}


def test_when_the_chief_cannot_save_none_reloads_and_both_say_why(trained: Any) -> None:
    for told in trained("full disk"):
        ((_, ok, _, _, why),) = _reloads(told)
        assert not ok
        assert "no worker reloaded: the reload failed on worker 0: not enough space" in why
        assert told["files"] == []
        assert told["released"] == [0]


def test_who_asked_is_told_by_the_others(trained: Any) -> None:
    chief, other = trained("other")

    assert _reloads(other)[0][3] == "script"
    assert _reloads(chief)[0][3] == "script, on worker 1"


def test_a_request_at_the_very_end_is_done_by_all_or_none(trained: Any) -> None:
    chief, other = (_reloads(each) for each in trained("late"))
    ((_, ok, _, _, why),) = other

    assert [each[1] for each in chief] == ([True] if ok else [])
    assert ok or "before all workers were ready" in why


@pytest.mark.parametrize(("way", "watched"), [("chief only", 0), ("other only", 1)])
def test_a_callback_on_one_worker_changes_nothing_and_its_reload_is_refused(
    trained: Any, way: str, watched: int
) -> None:
    for told, plain in zip(trained(way), trained("plain"), strict=True):
        assert told["history"] == plain["history"]
        assert told["state"] == plain["state"]
        assert told["faults"] == {}
    told = trained(way)[watched]
    assert trained(way)[1 - watched]["records"] == []
    for _, ok, _, _, why in (reloads := _reloads(told)):
        assert not ok
        assert f"worker {1 - watched} did not respond" in why
    assert len(reloads) == 2


def test_the_chief_alone_saves_and_collects_and_says_why_it_does_not_export(trained: Any) -> None:
    told = trained("chief only")[0]
    ((_, saved, _, _, why),) = [each for each in told["records"] if each[0] == "save"]

    assert saved
    assert "not exported: 2 workers train this model together" in why
    assert len(told["files"]) == 1
    assert [each[1] for each in told["records"] if each[0] == "collect"] == [True]


def _reloads(told: Any) -> list[Any]:
    return [each for each in told["records"] if each[0] == "reload"]


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
