"""The journeys of ARCHITECTURE.md, followed through all processes and threads."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from kmonitor_agent.wire.local.folders import Folders
from tests.support.live_hub import LiveHub
from tests.support.running_tests import LONG
from tests.support.value_tracer import ROOT, HandOver, Origin, followed, modules_at
from tests.support.waiting import DEADLINE_S

pytestmark = [LONG, pytest.mark.gui, pytest.mark.keras, pytest.mark.slow]

LOGGED: Final = 0.7316283968513

MOST_MODULES: Final = 25

IF_STORED_BEFORE: Final = {"kmonitor/hub/loop.py"}
"""Sends the answer with rows stored before the window requested it, if it came late."""

HAND_OVERS: Final = [
    HandOver("kmonitor_agent/link/run_stream.py", "EventQueue.put"),
    HandOver("kmonitor_agent/wire/spool/writer.py", "SpoolWriter._append"),
    HandOver("kmonitor_agent/link/hub_socket.py", "HubSocket.send"),
    HandOver("kmonitor/hub/runs/hub_event_log.py", "HubEventLog.append"),
    HandOver("kmonitor/hub/store/database.py", "SqliteDatabase._transaction"),
    HandOver("kmonitor/hub/access/sockets.py", "RouterSocket.send"),
    HandOver("kmonitor/connect/follower.py", "HubFollower._put"),
    HandOver("kmonitor/ui/charts/series_store.py", "_append_epoch"),
    HandOver("kmonitor/ui/charts/extra_charts.py", "ExtraCharts._drawn"),
    HandOver("kmonitor/ui/plots/qt/chart_view.py", "RunCurve._set_points"),
]

MOST_MODULES_OF_RELOAD: Final = 24

COMMAND_ID: Final = Origin(
    HandOver("kmonitor_agent/wire/messages/fields.py", "new_id"),
    caller="kmonitor/ui/runs/sent_commands.py",
)

COMMAND_HAND_OVERS: Final = [
    HandOver("kmonitor/connect/follower.py", "OpenRequests.add"),
    HandOver("kmonitor/connect/hub_socket.py", "_HubSocket.send"),
    HandOver("kmonitor/hub/runs/command_queue.py", "CommandQueue.add"),
    HandOver("kmonitor/hub/store/database.py", "SqliteDatabase._transaction"),
    HandOver("kmonitor/hub/access/sockets.py", "RouterSocket.send"),
    HandOver("kmonitor_agent/link/delivery.py", "SeenCommands.add"),
    HandOver("kmonitor_agent/recording/action_requests.py", "RequestQueue.put"),
    HandOver("kmonitor_agent/link/run_stream.py", "EventQueue.put"),
    HandOver("kmonitor_agent/wire/spool/writer.py", "SpoolWriter._append"),
    HandOver("kmonitor_agent/link/hub_socket.py", "HubSocket.send"),
    HandOver("kmonitor/hub/runs/hub_event_log.py", "HubEventLog.append"),
    HandOver("kmonitor/connect/follower.py", "HubFollower._put"),
    HandOver("kmonitor/ui/runs/sent_commands.py", "CommandStore.apply_reply"),
    HandOver("kmonitor/ui/events/event_log.py", "EventLogState.add"),
]


def test_logged_value_passes_the_modules_that_architecture_names(
    folders: Folders, idle_hub: LiveHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    trace = tmp_path / "trace"
    for name, value in followed(trace, LOGGED, HAND_OVERS).items():
        monkeypatch.setenv(name, value)

    travel(folders, idle_hub, "drawing")

    found = modules_at(trace)
    assert set(found) == {each.function for each in HAND_OVERS}
    passed = set().union(*found.values())
    assert len(passed) <= MOST_MODULES
    assert passed - IF_STORED_BEFORE == named_modules("A logged value passes")


def test_reload_passes_the_modules_that_architecture_names(
    folders: Folders, idle_hub: LiveHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    trace = tmp_path / "trace"
    for name, value in followed(trace, COMMAND_ID, COMMAND_HAND_OVERS).items():
        monkeypatch.setenv(name, value)

    travel(folders, idle_hub, "reloading")

    found = modules_at(trace)
    functions = {COMMAND_ID.maker.function, *(each.function for each in COMMAND_HAND_OVERS)}
    assert set(found) == functions
    passed = set().union(*found.values())
    assert len(passed) <= MOST_MODULES_OF_RELOAD
    assert passed == named_modules("A reload passes")


def travel(folders: Folders, hub: LiveHub, what: str) -> None:
    """Start a hub, a training that logs the value, and a window that does this and ends."""
    hub.start()
    training = [sys.executable, "-m", "tests.support.journey", "training", str(LOGGED)]
    environ = {**os.environ, "KMONITOR_HOME": str(folders.state), "CUDA_VISIBLE_DEVICES": "-1"}
    with subprocess.Popen(training, cwd=ROOT, env=environ, stdin=subprocess.PIPE) as trained:
        window = subprocess.run(
            [sys.executable, "-m", "tests.support.journey", what],
            cwd=ROOT,
            env={**environ, "QT_QPA_PLATFORM": "offscreen"},
            capture_output=True,
            text=True,
            timeout=4 * DEADLINE_S,
            check=False,
        )
        trained.communicate(timeout=DEADLINE_S)
    assert window.returncode == 0, window.stderr[-4000:]


def named_modules(begin: str) -> set[str]:
    """Paths in the paragraph of ARCHITECTURE.md that begins so."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    paragraph = text[text.index(begin) :].split("\n\n")[0]
    return {
        next(str(path.relative_to(ROOT)) for path in ROOT.glob(f"kmonitor*/{name}"))
        for name in re.findall(r"`([\w/]+\.py)`", paragraph)
        if not name.startswith("tests/")
    }
