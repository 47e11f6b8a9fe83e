"""The kernel really kills a script for want of memory, and the supervisor knows it."""

import subprocess
from pathlib import Path

import pytest

from tests.support.memory_group import memory_group
from tests.support.supervised import command, script
from tests.support.waiting import DEADLINE_S

pytestmark = [pytest.mark.slow]

MIB = 2**20

TAKES_TOO_MUCH = """
    taken = []
    commit()
    while n == 0 or sys.argv[2:]:
        taken.append(b"x" * (8 << 20))
    print("end", n)
"""


def test_a_kill_for_want_of_memory_is_told_as_that(tmp_path: Path):
    path = script(tmp_path, TAKES_TOO_MUCH, asks=True)

    with memory_group(160 * MIB) as within:
        ran = subprocess.run(
            [*within, *command(path, tmp_path / "starts", "always")],
            capture_output=True,
            check=False,
            timeout=DEADLINE_S,
        )

    assert ran.returncode == -9
    assert b"kmonitor: the script was killed. Out of memory: the kernel killed it" in ran.stderr
    assert b"oom_kill" in ran.stderr


def test_a_script_that_was_killed_for_want_of_memory_is_started_again(tmp_path: Path):
    path = script(tmp_path, TAKES_TOO_MUCH, asks=True)
    again = command(path, tmp_path / "starts", options=("--resume-after-crash", "1"))

    with memory_group(160 * MIB) as within:
        ran = subprocess.run(
            [*within, *again], capture_output=True, check=False, timeout=DEADLINE_S
        )

    assert (ran.returncode, ran.stdout) == (0, b"end 1\n")
    assert b"kmonitor: the script crashed: out of memory: the kernel killed it" in ran.stderr
    assert b"Restarting it; 0 of 1 restarts left." in ran.stderr
