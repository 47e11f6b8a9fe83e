"""The death of a process, in words, and appended to the run that it belonged to."""

import os
import signal
from pathlib import Path

import pytest

from kmonitor_agent.reclaim.restart.child_process import ScriptExit
from kmonitor_agent.reclaim.restart.crash_diagnosis import (
    ProcessDeath,
    diagnose_exit,
    record_death,
)
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.control_groups import OomKillCounts, read_oom_kills
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.events import Event, SessionDied, SessionEnded, SessionStarted
from kmonitor_agent.wire.spool.format import SessionFacts, SpoolRecord
from kmonitor_agent.wire.spool.writer import SpoolWriter
from tests.support.spooled import spooled_events

RUN = "a" * 32
KILLED = ProcessDeath("signal", "SIGKILL", why="SIGKILL: killed")


def _spooled(folders: Folders, *events: Event) -> None:
    facts = SessionFacts(RUN, "session", "host", os.getpid(), 1000.0)
    writer = SpoolWriter(folders.spool, facts, SystemClock())
    writer.open()
    started = SessionStarted(
        t_s=0.0, session="session", name="run", host="host", pid=1, started_wall_s=1000.0
    )
    writer.write(
        [SpoolRecord(n, encode_event(each)) for n, each in enumerate((started, *events), 1)]
    )
    writer.close()


def _last(folders: Folders) -> object:
    return spooled_events(folders, RUN)[-1]


def test_a_killed_process_is_told_of_behind_its_last_event(folders: Folders):
    _spooled(folders)

    assert record_death(folders, RUN, KILLED, is_requested=False, supervisor=0)

    told = _last(folders)
    assert isinstance(told, SessionDied)
    assert (told.session, told.how, told.signal, told.supervisor) == (
        "session",
        "signal",
        "SIGKILL",
        0,
    )
    assert told.t_s > 0


def test_a_process_that_told_its_good_end_is_not_told_of_again(folders: Folders):
    _spooled(folders, SessionEnded(t_s=1.0, why="finished"))

    good = ProcessDeath("status", status=0, why="it exited with status 0")

    assert not record_death(folders, RUN, good, is_requested=False, supervisor=0)
    assert isinstance(_last(folders), SessionEnded)


@pytest.mark.parametrize(("why", "told"), [("finished", True), ("failed", False)])
def test_an_exit_status_is_told_unless_an_exception_says_more(
    folders: Folders, *, why: str, told: bool
):
    _spooled(folders, SessionEnded(t_s=1.0, why=why))  # pyright: ignore[reportArgumentType]

    failed = ProcessDeath("status", status=3, why="it exited with status 3")

    assert record_death(folders, RUN, failed, is_requested=False, supervisor=0) is told


@pytest.mark.parametrize(("name", "told"), [("SIGINT", False), ("SIGKILL", True)])
def test_ctrl_c_that_the_process_told_of_is_told_once(folders: Folders, *, name: str, told: bool):
    _spooled(folders, SessionEnded(t_s=1.0, why="interrupted"))

    death = ProcessDeath("signal", name, why=name)

    assert record_death(folders, RUN, death, is_requested=False, supervisor=0) is told


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGTERM, "asked to terminate"),
        (signal.SIGINT, "Ctrl+C"),
        (signal.SIGHUP, "terminal"),
    ],
)
def test_signals_that_ask_to_end_are_told_in_words(number: signal.Signals, words: str):
    nothing = OomKillCounts()

    assert words in diagnose_exit(ScriptExit(signal=number), nothing, nothing).why


def test_an_announced_restart_that_nothing_follows_is_told(folders: Folders):
    _spooled(folders, SessionEnded(t_s=1.0, why="restart", supervisor=7))

    nothing = ProcessDeath("status", status=0, why="it exited with status 0")

    assert not record_death(folders, RUN, nothing, is_requested=False, supervisor=os.getpid())
    assert record_death(folders, RUN, nothing, is_requested=False, supervisor=0)


def test_a_run_that_never_told_anything_is_left_alone(folders: Folders):
    assert not record_death(folders, RUN, KILLED, is_requested=False, supervisor=0)


def test_a_kill_counts_as_want_of_memory_when_a_counter_rose():
    killed = ScriptExit(signal=signal.SIGKILL)
    before = OomKillCounts(group=2, group_source="memory.events", host=5)

    in_group = diagnose_exit(killed, before, OomKillCounts(3, "memory.events", 6))
    on_host = diagnose_exit(killed, OomKillCounts(host=5), OomKillCounts(host=6))
    elsewhere = diagnose_exit(killed, before, OomKillCounts(2, "memory.events", 6))
    by_hand = diagnose_exit(killed, before, before)
    unknown = diagnose_exit(killed, OomKillCounts(), OomKillCounts())

    assert [each.how for each in (in_group, on_host, elsewhere, by_hand, unknown)] == [
        "memory",
        "memory",
        "signal",
        "signal",
        "signal",
    ]
    assert "no out-of-memory kill in its control group (memory.events)" in elsewhere.why
    assert "memory.events" in in_group.why
    assert "not for lack of memory" in by_hand.why
    assert "cannot tell whether it ran out of memory" in unknown.why


@pytest.mark.parametrize(
    ("groups", "mount", "file", "text"),
    [
        ("0::/job", "cgroup2 cgroup2 rw", "memory.events", "low 0\noom 1\noom_kill 4\n"),
        ("3:memory:/job", "cgroup cgroup rw,memory", "memory.oom_control", "oom_kill 4\n"),
    ],
)
def test_kills_are_read_from_both_versions_of_control_groups(
    tmp_path: Path, groups: str, mount: str, file: str, text: str
):
    proc, mounted = tmp_path / "proc", tmp_path / "mounted"
    (proc / "self").mkdir(parents=True)
    (mounted / "job").mkdir(parents=True)
    (proc / "self" / "cgroup").write_text(groups + "\n")
    (proc / "self" / "mountinfo").write_text(f"1 2 0:3 / {mounted} rw - {mount}\n")
    (proc / "vmstat").write_text("pgfault 3\noom_kill 9\n")
    (mounted / "job" / file).write_text(text)

    found = read_oom_kills(proc)

    assert (found.group, found.host) == (4, 9)
    assert found.group_source == str(mounted / "job" / file)
