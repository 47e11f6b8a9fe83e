"""An agent leaves behind which interpreter has kmonitor."""

import sys
from pathlib import Path

import pytest

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.interpreter_record import (
    InterpreterRecord,
    interpreter_record_path,
    read_interpreter_record,
    write_interpreter_record,
)

HERE = InterpreterRecord(python=sys.executable, version="1.0", host="gpu/01", wall_s=1.8e9)


def test_the_record_is_found_again_by_host(folders: Folders):
    write_interpreter_record(folders, HERE)

    assert read_interpreter_record(folders, "gpu/01") == HERE
    assert read_interpreter_record(folders, "gpu-02") is None
    assert interpreter_record_path(folders, "gpu/01").stat().st_mode & 0o777 == 0o600


def test_the_same_interpreter_is_not_written_twice(folders: Folders):
    write_interpreter_record(folders, HERE)
    write_interpreter_record(
        folders, InterpreterRecord(sys.executable, "1.0", "gpu/01", wall_s=1.9e9)
    )

    assert read_interpreter_record(folders, "gpu/01") == HERE


def test_a_newer_version_replaces_the_record(folders: Folders):
    write_interpreter_record(folders, HERE)
    newer = InterpreterRecord(sys.executable, "2.0", "gpu/01", wall_s=1.9e9)
    write_interpreter_record(folders, newer)

    assert read_interpreter_record(folders, "gpu/01") == newer


@pytest.mark.parametrize("text", [b"", b"{}", b"\xff", b"[" * 100_000])
def test_a_damaged_record_is_none(folders: Folders, text: bytes):
    folders.state.mkdir(parents=True)
    interpreter_record_path(folders, "here").write_bytes(text)

    assert read_interpreter_record(folders, "here") is None


def test_an_interpreter_that_is_gone_is_none(folders: Folders, tmp_path: Path):
    write_interpreter_record(
        folders, InterpreterRecord(str(tmp_path / "gone"), "1.0", "here", wall_s=1.8e9)
    )

    assert read_interpreter_record(folders, "here") is None
