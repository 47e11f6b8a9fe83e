"""Keras on JAX and PyTorch: a script that is started again ends as if it had not been."""

from pathlib import Path

import pytest

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import ActionRecord
from tests.support.backends import ON_BACKEND, backend_here, on_backend
from tests.support.restarts import fits_told, run, supervised_run, supervisor

on_backend("keras")

pytestmark = ON_BACKEND

SCRIPT = "tests.frameworks.backends.restart_script"


def test_two_restarts_amid_a_cross_validation_change_nothing(tmp_path: Path, folders: Folders):
    recycled = run(tmp_path, "cross_validation", "1:1", "3:1", under=supervisor(), module=SCRIPT)

    assert recycled.starts == 3
    assert recycled.result == run(tmp_path / "plain", "cross_validation", module=SCRIPT).result
    assert not recycled.result["faults"]
    assert fits_told(folders) == [(1, 0), (1, 2), (2, 0), (3, 0), (3, 2)]
    told = [each for each in supervised_run(folders) if isinstance(each, ActionRecord)]
    assert [(each.action, each.ok, each.fit, each.epoch) for each in told] == [
        ("restart", True, 1, 1),
        ("restart", True, 3, 1),
    ]


@pytest.mark.full
@pytest.mark.parametrize(
    ("scenario", "points"),
    [
        ("by_steps", ("1:0", "1:3", "2:2", "3:4")),
        ("others", ("1:1", "2:0", "2:2", "3:2")),
        ("loaders", ("1:1", "2:1", "2:2", "3:0")),
    ],
)
def test_four_restarts_change_nothing(tmp_path: Path, scenario: str, points: tuple[str, ...]):
    if scenario == "loaders" and backend_here() != "torch":
        pytest.skip("PyTorch's loaders are tried on PyTorch")

    recycled = run(tmp_path, scenario, *points, under=supervisor(), module=SCRIPT)

    assert recycled.starts == len(points) + 1
    assert recycled.result == run(tmp_path / "plain", scenario, module=SCRIPT).result
    assert not recycled.result["faults"]
