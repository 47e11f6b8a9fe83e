"""A script of several fits, recycled, leaves what an uninterrupted process leaves, bit for bit."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kmonitor_agent.local.folders import Folders
from kmonitor_agent.protocol.facts import BootDied, BootEnded, BootStarted, FitStarted
from tests.support.source_tree import ROOT
from tests.support.spooled import spooled_events

pytestmark = [pytest.mark.keras, pytest.mark.slow]

FOUR_RESTARTS = {
    "cross_validation": ("1:1", "1:2", "2:0", "3:3"),
    "tf_data": ("1:1", "2:0", "2:2", "3:1"),
    "stopping": ("1:1", "1:2", "2:1", "3:2"),
    "unbuilt": ("1:0", "2:1", "2:2", "3:2"),
    "generator": ("1:1", "2:0", "3:1", "3:2"),
    "repeated": ("1:1", "2:0", "3:1", "3:2"),
    "two_optimizers": ("1:1", "2:0", "3:1", "3:2"),
    "users_own": ("1:1", "2:0", "2:2", "3:3"),
}
"""Scenario of `tests.support.restart_script` to where it is restarted: fit and epoch."""


@pytest.mark.full
@pytest.mark.parametrize("scenario", FOUR_RESTARTS)
def test_four_restarts_change_nothing(tmp_path: Path, scenario: str):
    points = FOUR_RESTARTS[scenario]

    recycled = run(tmp_path, scenario, *points, under=supervisor())

    assert recycled.starts == len(points) + 1
    assert recycled.result == run(tmp_path / "plain", scenario).result
    assert not recycled.result["faults"]


def test_two_restarts_change_nothing(tmp_path: Path, folders: Folders):
    recycled = run(tmp_path, "cross_validation", "1:1", "2:2", under=supervisor())

    assert recycled.starts == 3
    assert recycled.result == run(tmp_path / "plain", "cross_validation").result
    assert _fits(folders) == [(1, 0), (1, 2), (2, 0), (2, 3), (3, 0)]


@pytest.mark.full
def test_a_kill_and_a_resume_change_nothing(tmp_path: Path, folders: Folders):
    resumes = supervisor("--resume-after-crash", "1")

    recycled = run(tmp_path, "cross_validation", "!2:3", under=resumes)

    died = [each for each in _events(folders) if isinstance(each, BootDied)]
    assert [(each.how, each.signal) for each in died] == [("signal", "SIGKILL")]
    assert died[0].supervisor
    assert recycled.result == run(tmp_path / "plain", "cross_validation").result


class Recycled:
    """What came of a script.

    Attributes:
        result: What it wrote.
        starts: How many processes it took.
    """

    def __init__(self, result: dict[str, Any], starts: int) -> None:
        self.result = result
        self.starts = starts


def supervisor(*options: str) -> list[str]:
    """The words before a script that is run under `kmonitor run`."""
    return [sys.executable, "-m", "kmonitor.cli.main", "run", *options, "--"]


def run(folder: Path, scenario: str, *points: str, under: list[str] | None = None) -> Recycled:
    """Run a scenario to its end."""
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / "result.json"
    script = [sys.executable, "-m", "tests.support.restart_script", scenario, str(result)]
    ran = subprocess.run(
        [*(under or []), *script, *points],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    starts = 1 + ran.stderr.count("starting the script again")
    return Recycled(json.loads(result.read_text()), starts)


def _events(folders: Folders) -> list[Any]:
    supervised = [
        events
        for run_folder in folders.spool.iterdir()
        if len(_boots(events := spooled_events(folders, run_folder.name))) > 1
    ]
    assert len(supervised) == 1, "one run over all its processes"
    return supervised[0]


def _boots(events: list[Any]) -> list[Any]:
    return [each for each in events if isinstance(each, BootStarted)]


def _fits(folders: Folders) -> list[tuple[int, int]]:
    events = _events(folders)
    endings = [each.why for each in events if isinstance(each, BootEnded)]
    assert endings == ["restart", "restart", "finished"]
    return [(each.fit, each.initial_epoch) for each in events if isinstance(each, FitStarted)]
