"""tf_keras 2: a script that is started again ends as if it had not been, or says why not."""

import subprocess
from pathlib import Path

import pytest

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import ActionRecord
from tests.frameworks.tf_keras.scenarios import TF_KERAS
from tests.support.restarts import fits_told, run, supervised_run, supervisor
from tests.support.source_tree import ROOT
from tests.support.supervised import command, script
from tests.support.waiting import DEADLINE_S

pytestmark = TF_KERAS

SCRIPT = "tests.frameworks.tf_keras.restart_script"

REFUSED = """
    import sys
    import numpy as np
    import tf_keras
    from kmonitor_agent import MonitorCallback

    monitor = MonitorCallback("refused", hub="off")

    class Ask(tf_keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            monitor.request("restart")

    model = tf_keras.Sequential(
        [tf_keras.Input((2,)), tf_keras.layers.Dropout(0.3), tf_keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse")
    x = np.ones((8, 2))
    more = []
    if sys.argv[1] == "backup":
        more = [tf_keras.callbacks.BackupAndRestore(sys.argv[2])]
    model.fit(x, x[:, :1], epochs=2, verbose=0, callbacks=[monitor, Ask(), *more])
    print(*(f"{each.ok}: {each.why}" for each in monitor.records), sep="\\n")
"""


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
        ("tf_data", ("1:1", "2:0", "2:2", "3:1")),
        ("others", ("1:1", "2:0", "2:2", "3:2")),
    ],
)
def test_four_restarts_change_nothing(tmp_path: Path, scenario: str, points: tuple[str, ...]):
    recycled = run(tmp_path, scenario, *points, under=supervisor(), module=SCRIPT)

    assert recycled.starts == len(points) + 1
    assert recycled.result == run(tmp_path / "plain", scenario, module=SCRIPT).result
    assert not recycled.result["faults"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("dropout", "enable_tf_random_generator()"),
        ("backup", "BackupAndRestore sets where a fit starts"),
    ],
)
def test_what_could_not_go_on_the_same_is_refused_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, why: str
):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    ran = subprocess.run(
        command(script(tmp_path, REFUSED), what, tmp_path / "backup"),
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_S,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr[-2000:]
    lines = ran.stdout.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("False: ") and why in line for line in lines)
    assert "restarting the script" not in ran.stderr
