"""One owner per run; the lock ends with its process and is never taken on a deleted file."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Never

import pytest

from kmonitor_agent.wire.local.folder_lock import LOCK_NAME, FolderLock

HOLD = """
import sys, pathlib
from kmonitor_agent.wire.local.folder_lock import FolderLock as FolderLock
lock = FolderLock.acquire(pathlib.Path(sys.argv[1]))
print("held" if lock else "refused", flush=True)
sys.stdin.read()
"""


def _taken(folder: Path) -> FolderLock:
    lock = FolderLock.acquire(folder)
    assert lock is not None
    return lock


def test_a_second_owner_is_refused_until_the_first_lets_go(tmp_path: Path):
    first = _taken(tmp_path)

    assert FolderLock.acquire(tmp_path) is None

    first.release()
    first.release()
    _taken(tmp_path).release()


@pytest.mark.slow
def test_the_lock_ends_with_a_killed_process(tmp_path: Path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert FolderLock.acquire(tmp_path) is None
        holder.kill()

    _taken(tmp_path).release()


def test_a_deleted_lock_file_is_not_mistaken_for_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    opened = []
    real_open = os.open

    def open_then_lose(path: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = real_open(path, flags, mode)
        if not opened:
            (tmp_path / LOCK_NAME).unlink()
        opened.append(path)
        return descriptor

    monkeypatch.setattr(os, "open", open_then_lose)

    lock = _taken(tmp_path)

    assert len(opened) == 2
    assert FolderLock.acquire(tmp_path) is None
    lock.release()


def test_a_forked_child_can_let_go_of_its_copy_without_freeing_the_lock(tmp_path: Path):
    lock = _taken(tmp_path)
    pid = os.fork()
    if pid == 0:
        lock.forget_in_child()
        os._exit(0)
    os.waitpid(pid, 0)

    assert FolderLock.acquire(tmp_path) is None
    lock.release()


def test_no_folder_no_lock(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        FolderLock.acquire(tmp_path / "gone")


def test_a_file_system_without_locks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> Never:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", refuse)

    with pytest.raises(OSError, match="not supported"):
        FolderLock.acquire(tmp_path)
