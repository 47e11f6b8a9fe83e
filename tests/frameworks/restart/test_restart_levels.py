"""`auto` under `kmonitor run`: its last level is one restart; limits of the app come along."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.source_tree import ROOT
from tests.support.supervised import command, script
from tests.support.waiting import DEADLINE_S

pytestmark = [pytest.mark.keras, pytest.mark.slow, pytest.mark.full]

SCRIPT = """
    import json, sys
    from pathlib import Path
    import keras, numpy as np
    from kmonitor_agent import Limit, MonitorCallback
    from kmonitor_agent.wire.messages.commands import LimitSpec, SetLimits
    from kmonitor_agent.wire.messages.events import LimitsInForce, Notice
    from kmonitor_agent.recording.process_session import ProcessSession as Session
    from tests.support.recorders import recorder_of

    told = []
    emit = Session.emit
    Session.emit = lambda session, event: (told.append(event), emit(session, event))
    folder = Path(sys.argv[1])
    process = len(list(folder.glob("process*"))) + 1
    limit = Limit("graph", 50, action="auto", cooldown_s=3600)
    monitor = MonitorCallback("levels", limits=[limit], hub="off")

    class Watch(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if process == 1 and epoch == 0:
                wanted = SetLimits(["functions"], [LimitSpec(metric="functions", value=9e9)])
                recorder_of(monitor).limits.set_by_command(wanted, "ada")

        def on_epoch_end(self, epoch, logs=None):
            limits = [each for each in told if isinstance(each, LimitsInForce)][-1].limits
            (folder / f"process{process}").write_text(json.dumps({
                "last": epoch,
                "records": [[r.action, r.ok, r.event.part_of] for r in monitor.records],
                "limits": sorted([spec.metric, spec.set_by] for spec in limits),
                "notices": [each.text for each in told if isinstance(each, Notice)],
            }))

    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.ones((8, 2))
    model.fit(x, x[:, :1], epochs=5, verbose=0, callbacks=[monitor, Watch()])
"""


def test_auto_restarts_once_and_then_says_that_nothing_more_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    ended = subprocess.run(
        command(script(tmp_path, SCRIPT), tmp_path),
        capture_output=True,
        text=True,
        timeout=4 * DEADLINE_S,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr[-2000:]
    first, second = (_told(tmp_path, number) for number in (1, 2))
    assert not (tmp_path / "process3").exists()
    assert first["records"] == [["collect", True, "auto"], ["reload", True, "auto"]]
    assert second["records"] == [["restart", True, "auto"]]
    assert second["last"] == 4
    assert not first["notices"]
    [helpless] = [text for text in second["notices"] if "nothing helped" in text]
    for action in ("collect", "reload"):
        assert f"{action} skipped: it freed nothing last time" in helpless
    assert "restart skipped: the limit was exceeded again within its cooldown" in helpless
    assert first["limits"] == second["limits"] == [["functions", "ada"], ["graph", "script"]]


def _told(folder: Path, number: int) -> Any:
    return json.loads((folder / f"process{number}").read_text())
