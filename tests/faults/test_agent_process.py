"""However the training process ends or forks: the spool is whole and nothing hangs or prints."""

import os
import signal
import threading
from pathlib import Path

import psutil
import pytest

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path
from kmonitor_agent.wire.messages.events import EpochEnded
from kmonitor_agent.wire.messages.unions import Bye
from kmonitor_agent.wire.spool.folder import RunSpool
from kmonitor_agent.wire.spool.format import encode_record, segments_in
from tests.support.agent_process import run_agent, start_agent
from tests.support.fake_hub import FakeHub
from tests.support.links import LinkUnderTest, body, spooled, spooled_events
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

EMIT_FOREVER = """
link.emit(epoch(0)); spooled(2)
n = 1
while True:
    link.emit(epoch(n))
    sys.stdout.write(f"{n} {link.status().last_seq}\\n"); sys.stdout.flush()
    n += 1
    now = time.process_time()
    while time.process_time() < now + 0.001:
        zlib.crc32(STEP)
"""
"""Prints of each event its number, and how many are said to be spooled.

Its steps count outside of Python's lock, as a framework's do. A loop that only ever lets go of it
for a moment (a print each millisecond) can keep it from every other thread for a second and more:
CPython forces a hand-over only after 5 ms in which it was never let go.
"""

DRAINS = 5


def test_kill_9_loses_nothing_that_was_said_to_be_spooled(folders: Folders):
    with start_agent(EMIT_FOREVER) as process:
        assert process.stdout is not None
        told, drains = [process.stdout.readline()], 0
        while drains < DRAINS:
            told.append(process.stdout.readline())
            drains += told[-1].split()[1] != told[-2].split()[1]
        process.kill()
        told += process.stdout.read().splitlines()
    spooled_then = int([line.split() for line in told if len(line.split()) == 2][-1][1])
    kept = [e.epoch for e in spooled_events(folders) if isinstance(e, EpochEnded)]

    assert kept == list(range(len(kept)))
    assert len(kept) >= spooled_then - 1  # the session's own event is the first


def test_a_torn_tail_is_cut_by_the_runs_next_process(folders: Folders):
    run_agent("link.emit(epoch(1)); spooled(2)")
    (path,) = segments_in(folders.spool / "run1")
    with path.open("ab") as segment:
        segment.write(encode_record(3, body(3))[:-5])
    run_agent("link.emit(epoch(2)); spooled(4)")

    assert [e.seq for e in spooled(folders)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("pass", 0),
        ("sys.exit(3)", 3),
        ("raise ZeroDivisionError", 1),
        ("spooled(2001); os._exit(4)", 4),
        ("spooled(2001); os.kill(os.getpid(), 15)", -signal.SIGTERM),
        ("spooled(2001); os.abort()", -signal.SIGABRT),
    ],
)
def test_no_end_loses_events_hangs_or_prints(folders: Folders, how: str, status: int):
    done = run_agent(f"for n in range(2000): link.emit(epoch(n))\n{how}")

    assert done.returncode == status
    assert done.stdout == ""
    assert "kmonitor" not in done.stderr
    assert len(spooled(folders)) == 2001


def test_with_no_hub_the_end_does_not_wait_for_one(folders: Folders):
    script = """
for n in range(2000): link.emit(epoch(n))
link.close(timeout_s=1e6)
print("ended")
"""

    done = run_agent(script)

    assert (done.stdout, done.stderr) == ("ended\n", "")
    assert len(spooled(folders)) == 2001


def test_an_end_delivers_to_a_hub_that_is_there(folders: Folders):
    with FakeHub(ingest_socket_path(folders)) as hub:
        with start_agent("spooled(1); sys.stdin.readline(); link.emit(epoch(1))") as process:
            hub.serve_until(lambda: hub.acked == 1)
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
            hub.serve_until(lambda: hub.count(Bye))
            process.stdin.close()

        assert hub.acked == 2


@pytest.mark.exposed
def test_a_hub_that_does_not_answer_does_not_keep_the_process(folders: Folders):
    script = """
sys.stdin.readline()
link.emit(epoch(1))
link.close()
print("ended")
"""
    with FakeHub(ingest_socket_path(folders)) as hub, start_agent(script) as process:
        hub.serve_until(lambda: hub.acked == 1)
        hub.is_silent = True
        out, err = process.communicate("go\n", timeout=DEADLINE_S)

    assert out == "ended\n"
    assert err == ""
    assert len(spooled(folders)) == 2


def test_a_forked_child_emits_nothing_and_leaves_the_parents_link_alone(folders: Folders):
    script = """
spooled(1)
for how in ("_exit", "exit"):
    pid = os.fork()
    if pid == 0:
        for n in range(1000, 2000): link.emit(epoch(n))
        link.close()
        os._exit(0) if how == "_exit" else sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
link.emit(epoch(1))
spooled(2)
"""
    with FakeHub(ingest_socket_path(folders)) as hub, start_agent(script) as process:
        hub.serve_until(lambda: process.poll() is not None)
        out, err = process.communicate()

        assert (process.returncode, out, err) == (0, "", "")
        assert hub.kinds() == ["SessionStarted", "EpochEnded"]


def test_a_child_that_outlives_its_parent_does_not_hold_the_lock(folders: Folders):
    script = """
spooled(1)
pid = os.fork()
if pid == 0:
    # Told by the child: only then has it let go of what it was forked with.
    print(os.getpid(), flush=True)
    sys.stdin.readline()
    os._exit(0)
threading.Event().wait()
"""
    with start_agent(script) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert RunSpool.acquire(folders.spool / "run1") is None
        process.kill()
        process.wait(DEADLINE_S)
        assert Path(f"/proc/{child}").exists()

        assert len(spooled(folders)) == 1
        os.kill(child, signal.SIGKILL)


def test_a_child_may_begin_a_run_of_its_own(folders: Folders):
    script = """
spooled(1)
pid = os.fork()
if pid == 0:
    with LinkUnderTest(find_folders(), run="run2", session="session2") as own:
        own.link.emit(epoch(5))
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
    done = run_agent(script)

    assert (done.returncode, done.stderr) == (0, "")
    assert len(spooled(folders, "run1")) == 1
    assert len(spooled(folders, "run2")) == 2


def test_worker_processes_of_a_data_loader_do_not_disturb(folders: Folders):
    script = """
import multiprocessing
def work(n):
    link.emit(epoch(n))
    return n
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(work, range(20)) == list(range(20))
"""
    done = run_agent(script)

    assert (done.returncode, done.stderr) == (0, "")
    assert len(spooled(folders)) == 1


@pytest.mark.exposed
def test_a_stopped_process_goes_on_where_it_was(folders: Folders):
    with FakeHub(ingest_socket_path(folders)) as hub, start_agent(EMIT_FOREVER) as process:
        hub.serve_until(lambda: hub.acked > 50)
        os.kill(process.pid, signal.SIGSTOP)
        stopped = hub.acked
        stopping = psutil.Process(process.pid)
        wait_until(lambda: stopping.status() == psutil.STATUS_STOPPED, what="it is stopped")
        os.kill(process.pid, signal.SIGCONT)
        hub.serve_until(lambda: hub.acked > stopped + 50)
        process.kill()
        process.communicate()

        assert sorted(hub.bodies) == list(range(1, hub.acked + 1))


def test_a_thread_held_up_by_a_slow_task_does_not_hold_up_the_training(folders: Folders):
    held_up, goes_on, ends = threading.Event(), threading.Event(), list[bool]()

    def slow() -> None:
        held_up.set()
        ends.append(goes_on.wait(DEADLINE_S))

    with LinkUnderTest(folders) as test:
        test.link.every(60.0, slow)
        assert held_up.wait(DEADLINE_S)
        for _ in range(1000):
            test.link.emit(EpochEnded(t_s=0.0, fit=1, epoch=1, seconds=1.0))
        assert ends == []
        goes_on.set()
        wait_until(lambda: test.link.status().last_seq == 1001)
