"""An agent leaves behind which interpreter has kmonitor."""

import sys
from pathlib import Path

import pytest

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.interpreter_record import (
    Launcher,
    launcher_path,
    leave_launcher,
    read_launcher,
)

HERE = Launcher(python=sys.executable, version="1.0", host="gpu/01", wall_s=1.8e9)


def test_the_record_is_found_again_by_host(folders: Folders):
    leave_launcher(folders, HERE)

    assert read_launcher(folders, "gpu/01") == HERE
    assert read_launcher(folders, "gpu-02") is None
    assert launcher_path(folders, "gpu/01").stat().st_mode & 0o777 == 0o600


def test_the_same_interpreter_is_not_written_twice(folders: Folders):
    leave_launcher(folders, HERE)
    leave_launcher(folders, Launcher(sys.executable, "1.0", "gpu/01", wall_s=1.9e9))

    assert read_launcher(folders, "gpu/01") == HERE


def test_a_newer_version_replaces_the_record(folders: Folders):
    leave_launcher(folders, HERE)
    newer = Launcher(sys.executable, "2.0", "gpu/01", wall_s=1.9e9)
    leave_launcher(folders, newer)

    assert read_launcher(folders, "gpu/01") == newer


@pytest.mark.parametrize("text", [b"", b"{}", b"\xff", b"[" * 100_000])
def test_a_damaged_record_is_none(folders: Folders, text: bytes):
    folders.state.mkdir(parents=True)
    launcher_path(folders, "here").write_bytes(text)

    assert read_launcher(folders, "here") is None


def test_an_interpreter_that_is_gone_is_none(folders: Folders, tmp_path: Path):
    leave_launcher(folders, Launcher(str(tmp_path / "gone"), "1.0", "here", wall_s=1.8e9))

    assert read_launcher(folders, "here") is None
