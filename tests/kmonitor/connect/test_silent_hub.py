"""A hub that holds its place but does not respond is reported, and ended only as what it is."""

import os
import signal
import subprocess
import sys
from functools import partial

import psutil
import pytest

from kmonitor.cli.doctor import command
from kmonitor.cli.doctor.command import examine
from kmonitor.cli.hub import command as cli_hub
from kmonitor.cli.main import main
from kmonitor.connect.local_hub import (
    HubSilent,
    end_silent_hub,
    ensure_hub,
    lock_holder,
    request_local_hub,
)
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import hub_lock_path
from tests.support.live_hub import LiveHub
from tests.support.waiting import DEADLINE_S

STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(sys.argv[1], "w") as lock:
    lock.write(str(os.getpid()))
    lock.flush()
    print("holds", flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
def test_a_stopped_hub_is_named_everywhere_and_ended_by_hub_stop(
    live_hub: LiveHub,
    folders: Folders,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    for module in (cli_hub, command):
        monkeypatch.setattr(module, "request_local_hub", partial(request_local_hub, timeout_s=0.2))
    pid = live_hub.process.pid
    os.kill(pid, signal.SIGSTOP)
    why = f"The hub (process {pid}) holds {hub_lock_path(folders)} but is not responding"

    with pytest.raises(HubSilent, match="kmonitor hub stop") as caught:
        ensure_hub(folders, timeout_s=0.5)
    assert why in caught.value.what
    assert main(["hub", "status"]) == 1
    assert why in capsys.readouterr().err
    finding = next(each for each in examine(folders) if each.subject == "hub")
    assert (finding.state, why in finding.found) == ("bad", True)

    assert main(["hub", "stop"]) == 0
    assert f"process {pid}) did not respond; it was killed" in capsys.readouterr().out
    assert live_hub.process.wait(DEADLINE_S) == 0, "it could still commit"
    assert main(["hub", "stop"]) == 0
    assert "No hub is running" in capsys.readouterr().out


def test_a_hub_that_does_not_hear_sigterm_is_killed(folders: Folders):
    folders.runtime.mkdir(parents=True)
    with _holding(folders) as process:
        assert lock_holder(folders) == process.pid

        assert end_silent_hub(folders, term_s=0.1) == process.pid

        assert process.wait(DEADLINE_S) == -signal.SIGKILL
    assert lock_holder(folders) is None


def test_a_process_that_the_lock_only_names_is_no_hub_and_is_left_alone(folders: Folders):
    folders.runtime.mkdir(parents=True)
    hub_lock_path(folders).write_text(str(os.getpid()))

    assert lock_holder(folders) is None
    assert end_silent_hub(folders) is None


def test_a_hub_that_cannot_be_ended_is_told_with_the_line(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    folders.runtime.mkdir(parents=True)
    monkeypatch.setattr("kmonitor.connect.local_hub._KILL_S", 0.05)
    with _holding(folders) as process:
        with monkeypatch.context() as patched:
            patched.setattr("kmonitor.connect.local_hub._signal", _deaf)
            with pytest.raises(HubSilent, match=f"kill -9 {process.pid}"):
                end_silent_hub(folders, term_s=0.05)
        assert psutil.pid_exists(process.pid)
        process.kill()


def _deaf(_pid: int, _number: int) -> None: ...


def _holding(folders: Folders) -> "subprocess.Popen[str]":
    """A process that holds the place of the hub, as far as can be seen."""
    arguments = [sys.executable, "-c", STUBBORN, str(hub_lock_path(folders))]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process
