"""A script that leaves to be started again really leaves, whatever it does about it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.supervised import script, supervised
from tests.support.waiting import DEADLINE_S

pytestmark = [pytest.mark.slow]

LEAVES = """
    from kmonitor_agent.recording.supervised_fits import SupervisorClient as Restarting
    import atexit, threading, time
    restarting = Restarting("made up")
    if n > 0:
        print("again")
        sys.exit(0)
    commit()
    restarting.announce("script")
"""


def _run(folder: Path, text: str) -> "subprocess.CompletedProcess[bytes]":
    head = "\n".join(line[4:] for line in LEAVES.splitlines())
    path = script(folder, f"{head}\n{text}", asks=True)
    return supervised(path, folder / "starts")


def test_finally_blocks_and_exit_functions_run(tmp_path: Path):
    ran = _run(
        tmp_path,
        "atexit.register(print, 'exit function')\n"
        "try:\n    restarting.leave()\nfinally:\n    print('finally')",
    )

    assert (ran.returncode, ran.stdout) == (0, b"finally\nexit function\nagain\n")


def test_the_next_process_knows_how_often_it_was_in_vain(tmp_path: Path):
    path = script(
        tmp_path,
        """
    from types import SimpleNamespace
    from kmonitor_agent.recording.supervised_fits import SupervisorClient as Restarting
    restarting = Restarting("made up")
    print(restarting.started_by, restarting.in_vain, restarting.futile)
    if n < 2:
        commit()
        levels = SimpleNamespace(remembered=["collect other"])
        watch = SimpleNamespace(restarts_in_vain=restarting.in_vain + 1, escalation=levels)
        restarting.announce("limit graph 100", watch)
        restarting.leave()
    """,
        asks=True,
    )

    ran = supervised(path, tmp_path / "starts")

    first, second, third = ran.stdout.decode().splitlines()
    assert first == " 0 []"
    assert second == "limit graph 100 1 ['collect other']"
    assert third == "limit graph 100 2 ['collect other']"


def test_a_script_that_catches_it_ends_at_its_next_fit(tmp_path: Path):
    ran = _run(
        tmp_path,
        "try:\n    restarting.leave()\nexcept BaseException:\n    print('caught')\n"
        "restarting.end_if_leaving()\nprint('went on')",
    )

    assert (ran.returncode, ran.stdout) == (0, b"caught\nagain\n")


def test_a_fit_in_a_thread_of_its_own_takes_the_process_along(tmp_path: Path):
    ran = _run(
        tmp_path,
        "print('printed')\nthreading.Thread(target=restarting.leave).start()\ntime.sleep(3600)",
    )

    assert (ran.returncode, ran.stdout) == (0, b"printed\nagain\n")


def test_a_thread_that_does_not_end_is_not_waited_for_long(tmp_path: Path):
    head = "\n".join(line[4:] for line in LEAVES.splitlines())
    text = f"{head}\nthreading.Thread(target=time.sleep, args=(3600,)).start()\nrestarting.leave()"
    path = script(tmp_path, text, asks=True)
    supervise = f"""
import os, sys
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.reclaim.restart.supervisor import Supervisor, SupervisorOptions as Wanted
wanted = Wanted([sys.executable, {str(path)!r}, {str(tmp_path / "starts")!r}], leave_within_s=0.2)
folders = find_folders()
print(Supervisor(wanted, folders=folders, environ=os.environ, print_line=print).run().status)
"""

    ran = subprocess.run(
        [sys.executable, "-c", supervise], capture_output=True, check=False, timeout=DEADLINE_S
    )

    assert ran.stdout.splitlines()[-1:] == [b"0"], ran.stderr
    assert b"again" in ran.stdout
