"""The main journey: a real window, a real hub, a real training, a dragged limit."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from kmonitor_agent.wire.local.folders import Folders
from tests.support.live_hub import LiveHub
from tests.support.running_tests import LONG
from tests.support.trainings import start_training
from tests.support.virtual_screen import virtual_screen
from tests.support.waiting import DEADLINE_S
from tests.support.window_driver import Done, Errand

pytestmark = LONG

ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = ROOT / "artefacts"

EPOCHS = 40
"""Enough that the training still runs when the flag has appeared."""


@pytest.mark.gui
@pytest.mark.screen
@pytest.mark.keras
@pytest.mark.slow
def test_limit_dragged_in_a_real_window_reloads_the_training_and_leaves_its_result_alone(
    folders: Folders, live_hub: LiveHub, tmp_path: Path
):
    ARTEFACTS.mkdir(exist_ok=True)
    shot = ARTEFACTS / "window_end_to_end.png"
    watched = {"folder": str(tmp_path / "watched"), "name": "dragged limit"}
    with start_training(folders.state, **watched, epochs=EPOCHS, hold_epoch=3) as training:
        training.wait_at_gate()
        errand = Errand(shot=str(shot), gate=str(tmp_path / "watched" / "go"))
        done = _run_window(errand)
        ended = training.end()
    plain_plan = {"folder": str(tmp_path / "plain"), "monitored": False}
    with start_training(folders.state, **plain_plan, epochs=EPOCHS) as plain:
        expected = plain.end()

    assert done.platform == "xcb"
    assert done.looks[0] == "offered"
    assert done.looks[1] in {"pending", "in_force"}
    assert done.looks[2] == "in_force"
    assert done.limit["metric"] == "graph"
    assert done.limit["action"] == "reload"
    assert done.limit["value"] == pytest.approx(0.6 * done.value, rel=0.05)
    assert "reload" in done.flags
    assert any("exceeded its limit" in line for line in done.log)
    assert any(line.startswith("Reloaded") for line in done.log)
    assert "saves, clears and reloads" in done.sentence
    assert any("reload" in record for record in ended.records)
    assert ended.digests == expected.digests
    assert shot.stat().st_size > 20_000


def _run_window(errand: Errand) -> Done:
    with virtual_screen() as screen:
        ran = subprocess.run(
            [sys.executable, "-m", "tests.support.window_driver", json.dumps(asdict(errand))],
            cwd=ROOT,
            env={**os.environ, **screen},
            capture_output=True,
            text=True,
            timeout=4 * DEADLINE_S,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr[-4000:]
    return Done(**json.loads(ran.stdout.splitlines()[-1]))
