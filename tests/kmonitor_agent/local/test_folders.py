"""Every file of ours below one home, sockets where their path fits."""

import os
import tempfile
from pathlib import Path

import pytest

from kmonitor_agent.local import folders as module
from kmonitor_agent.local.clock import SystemClock
from kmonitor_agent.local.folders import SOCKET_PATH_LIMIT_BYTES, find_folders
from kmonitor_agent.local.sockets import ingest_socket, view_socket


def test_a_named_home_holds_everything(tmp_path: Path):
    found = find_folders({"KMONITOR_HOME": "/k"})

    assert found.state == Path("/k")
    places = (found.runtime, found.database, found.spool, found.checkpoints, found.logs)
    assert all(place.parent == Path("/k") for place in (*places, found.settings))
    assert find_folders({"KMONITOR_HOME": str(tmp_path)}).state == tmp_path


def test_the_environment_is_read_when_none_is_given(kmonitor_home: Path):
    assert find_folders().state == kmonitor_home


def test_sockets_of_a_deep_home_lie_in_the_temporary_folder():
    deep = find_folders({"KMONITOR_HOME": "/" + "x" * 120})
    other = find_folders({"KMONITOR_HOME": "/" + "y" * 120})

    assert deep.runtime.parent == Path(tempfile.gettempdir())
    assert deep.runtime != other.runtime
    for path in (ingest_socket(deep), view_socket(deep)):
        assert len(os.fsencode(path)) <= SOCKET_PATH_LIMIT_BYTES


def test_a_runtime_folder_that_ends_with_the_login_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    environ = {"XDG_RUNTIME_DIR": str(tmp_path)}

    monkeypatch.setattr(module, "_lingers", lambda: False)
    passing = find_folders(environ).runtime
    monkeypatch.setattr(module, "_lingers", lambda: True)
    lasting = find_folders(environ).runtime

    assert passing == Path(tempfile.gettempdir()) / f"kmonitor-{os.getuid()}"
    assert lasting == tmp_path / "kmonitor"


def test_the_system_clock_goes_forward():
    clock = SystemClock()

    assert clock.monotonic_s() <= clock.monotonic_s()
    assert clock.wall_s() > 1.7e9
