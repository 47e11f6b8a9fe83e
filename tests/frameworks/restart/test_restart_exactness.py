"""A script of several fits, recycled, leaves what an uninterrupted process leaves, bit for bit."""

from pathlib import Path

import pytest

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import SessionDied
from tests.support.restarts import fits_told, run, supervised_run, supervisor

pytestmark = [pytest.mark.keras, pytest.mark.slow]

FOUR_RESTARTS = {
    "cross_validation": ("1:1", "1:2", "2:0", "3:3"),
    "tf_data": ("1:1", "2:0", "2:2", "3:1"),
    "stopping": ("1:1", "1:2", "2:1", "3:2"),
    "unbuilt": ("1:0", "2:1", "2:2", "3:2"),
    "generator": ("1:1", "2:0", "3:1", "3:2"),
    "repeated": ("1:1", "2:0", "3:1", "3:2"),
    "two_optimizers": ("1:1", "2:0", "3:1", "3:2"),
    "adversaries": ("1:1", "2:0", "3:1", "3:2"),
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


@pytest.mark.full
def test_two_restarts_change_nothing(tmp_path: Path, folders: Folders):
    recycled = run(tmp_path, "cross_validation", "1:1", "2:2", under=supervisor())

    assert recycled.starts == 3
    assert recycled.result == run(tmp_path / "plain", "cross_validation").result
    assert fits_told(folders) == [(1, 0), (1, 2), (2, 0), (2, 3), (3, 0)]


@pytest.mark.full
def test_a_kill_and_a_resume_change_nothing(tmp_path: Path, folders: Folders):
    resumes = supervisor("--resume-after-crash", "1")

    recycled = run(tmp_path, "cross_validation", "!2:3", under=resumes)

    died = [each for each in supervised_run(folders) if isinstance(each, SessionDied)]
    assert [(each.how, each.signal) for each in died] == [("signal", "SIGKILL")]
    assert died[0].supervisor
    assert recycled.result == run(tmp_path / "plain", "cross_validation").result
