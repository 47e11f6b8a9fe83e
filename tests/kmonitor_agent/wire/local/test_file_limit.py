"""A write beyond the process's file limit raises, also where SIGXFSZ would end the process."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, resource, signal, sys
from pathlib import Path
import numpy
from kmonitor_agent.guard import FaultLog
from kmonitor_agent.reclaim.disk_file import DiskFile
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.private_files import open_new, write_all, write_private
from kmonitor_agent.wire.spool.format import SessionFacts, SpoolRecord
from kmonitor_agent.wire.spool.writer import DiskReserve, SpoolWriter
folder = Path(sys.argv[1])
facts = SessionFacts("run", "session", "host", 1, 0.0)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))

def spool():
    writer = SpoolWriter(folder / "spool", facts, SystemClock())
    writer.open()
    for number in range(1, 99):
        writer.write([SpoolRecord(number, b"x" * 500)])

def disk_file():
    with DiskFile(folder / "checkpoint") as file:
        file.write(memoryview(bytes(5000)))

def longer():
    with DiskFile(folder / "longer") as file:
        file.truncate(5000)

def log():
    faults = FaultLog(folder / "logs" / "agent.log")
    for _ in range(3):
        faults.record("x", ValueError("y" * 4000))
        faults.write_out()
    raise OSError(27, "the log lost them")

def reserve():
    held = DiskReserve(facts)
    held.hold(folder)
    raise OSError(27, "no room was held")

try:
    {call}
except OSError as exc:
    print(exc.errno)
"""

CALLS = (
    "spool()",
    "disk_file()",
    "longer()",
    "log()",
    "reserve()",
    "write_private(folder / 'small', bytes(5000))",
    "write_all(open_new(folder / 'new'), bytes(5000))",
)


@pytest.mark.parametrize("call", CALLS)
def test_a_write_of_ours_raises_where_the_limit_is(call: str, tmp_path: Path):
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("{call}", call), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stdout) == (0, "27\n"), ran.stderr
