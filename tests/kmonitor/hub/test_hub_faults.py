"""The hub's own faults are counted, and logged at a bounded rate."""

import errno
import logging
import os
import socket
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import SimpleNamespace

import pytest

from kmonitor.base.wakeup import WakeupPipe
from kmonitor.hub.faults import HubFaults
from kmonitor.hub.ingest.connections import (
    MAX_CONNECTIONS,
    MAX_RUNS_PER_SOCKET,
    AgentConnection,
    AgentConnections,
)
from kmonitor.hub.lock import AnotherHub, HubLock
from kmonitor.hub.log import LOG, close_log, open_log
from kmonitor.hub.loop import LoopSchedule


@pytest.fixture
def log() -> logging.Logger:
    log = logging.getLogger("kmonitor.test-faults")
    log.addHandler(logging.NullHandler())
    return log


def test_what_is_raised_is_counted_and_goes_no_further(log: logging.Logger):
    faults = HubFaults(log)

    for _ in range(3):
        with faults.guarded("view"):
            raise ValueError("x")

    assert faults.fault_counts() == {"view": 3}


def test_a_flood_of_faults_fills_neither_log_nor_memory(log: logging.Logger, tmp_path: Path):
    handler = logging.FileHandler(tmp_path / "log")
    log.addHandler(handler)
    faults = HubFaults(log)

    for _ in range(5000):
        faults.record("ingest", "rubbish")
    for number in range(500):
        faults.record(f"place {number}", "rubbish")
    handler.close()

    lines = (tmp_path / "log").read_text().splitlines()
    assert len([line for line in lines if line.startswith("ingest ")]) == 13
    assert len(faults.fault_counts()) <= 65
    assert sum(faults.fault_counts().values()) == 5500


def test_the_log_is_rotated(tmp_path: Path):
    handler = open_log(tmp_path)
    assert isinstance(handler, RotatingFileHandler)
    assert (handler.maxBytes, handler.backupCount) == (2_000_000, 4)
    LOG.info("hello")
    close_log(handler)

    assert "hello" in (tmp_path / "hub.log").read_text()


def test_a_task_that_fails_does_not_keep_others_from_running(log: logging.Logger):
    faults, ran = HubFaults(log), []
    schedule = LoopSchedule(faults)
    schedule.every(1.0, "bad", lambda: ran[0])
    schedule.every(2.0, "good", lambda: ran.append(1))

    for now_s in (10.0, 10.5, 11.0, 12.0):
        schedule.run_due(now_s)

    assert ran == [1, 1]
    assert faults.fault_counts() == {"bad": 1}
    assert schedule.wait_s(12.25) == 0.75


def test_a_lock_is_held_by_one_and_names_its_holder(tmp_path: Path):
    first = HubLock(tmp_path / "hub.lock")

    with pytest.raises(AnotherHub) as caught:
        HubLock(tmp_path / "hub.lock")
    assert caught.value.pid
    assert first.is_in_place()
    (tmp_path / "hub.lock").unlink()
    assert not first.is_in_place()
    first.release()
    HubLock(tmp_path / "hub.lock").release()


def test_on_windows_the_lock_is_one_byte_that_the_holders_name_leaves_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    held: list[int] = []

    def locking(fd: int, mode: int, n_bytes: int) -> None:
        at = os.lseek(fd, 0, os.SEEK_CUR)
        assert (mode, n_bytes) == (2, 1)
        if at in held:
            raise PermissionError(errno.EACCES, "held")
        held.append(at)

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    first = HubLock(tmp_path / "hub.lock")

    assert (tmp_path / "hub.lock").read_text() == str(os.getpid())
    assert held[0] > 100
    with pytest.raises(AnotherHub):
        HubLock(tmp_path / "hub.lock")
    first.release()


def test_wakes_before_the_loop_looks_count_once_and_never_block():
    wake = WakeupPipe()
    for _ in range(100_000):
        wake.wake()
    wake.clear()
    reader = socket.socket(fileno=wake.fileno())
    reader.settimeout(0)

    with pytest.raises(BlockingIOError):
        reader.recv(1)
    reader.detach()
    wake.close()
    wake.wake()


def test_sessions_are_bounded_and_the_least_heard_goes():
    sessions = AgentConnections()
    for number in range(MAX_CONNECTIONS + 1):
        identity = str(number).encode()
        sessions.add(
            AgentConnection(identity, f"run{number}", "b", 0.0, last_heard_s=float(number))
        )

    assert len(sessions) == MAX_CONNECTIONS
    assert sessions.of_run("run0") is None
    assert sessions.of_run("run1") is not None


def test_one_socket_carries_several_runs():
    sessions = AgentConnections()
    one = AgentConnection(b"a", "one", "b", 0.0, 1.0)
    two = AgentConnection(b"a", "two", "b", 0.0, 2.0)
    sessions.add(one)
    sessions.add(two)
    sessions.note_socket_message(b"a", 5.0)

    assert len(sessions) == 2
    assert (sessions.last_heard_s("one"), sessions.last_heard_s("two")) == (5.0, 5.0)
    sessions.drop(two)
    assert sessions.on_socket(b"a", "one") is one
    assert sessions.on_socket(b"a", "two") is None


def test_a_run_that_moves_to_another_socket_leaves_the_others_of_the_first():
    sessions = AgentConnections()
    for run in ("one", "two"):
        sessions.add(AgentConnection(b"a", run, "b", 0.0, 1.0))
    sessions.add(AgentConnection(b"b", "two", "b", 0.0, 2.0))

    assert sessions.on_socket(b"a", "one") is not None
    assert sessions.on_socket(b"a", "two") is None
    assert sessions.on_socket(b"b", "two") is not None


def test_one_socket_has_room_for_so_many_runs():
    sessions = AgentConnections()
    for number in range(MAX_RUNS_PER_SOCKET):
        assert sessions.has_room(b"a", str(number))
        sessions.add(AgentConnection(b"a", str(number), "b", 0.0, 1.0))

    assert not sessions.has_room(b"a", "one more")
    assert sessions.has_room(b"a", "0")
    assert sessions.has_room(b"b", "one more")


def test_what_was_heard_is_forgotten_with_the_run():
    sessions = AgentConnections()
    sessions.add(AgentConnection(b"a", "one", "b", 0.0, 1.0))
    sessions.add(AgentConnection(b"b", "two", "b", 0.0, 1.0))

    sessions.expire(100.0, live={"two"})

    assert len(sessions) == 0
    assert sessions.last_heard_s("one") is None
    assert sessions.last_heard_s("two") == 1.0
