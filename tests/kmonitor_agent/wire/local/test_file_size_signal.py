"""A write beyond the process's file limit raises, also where SIGXFSZ would end the process."""

import subprocess
import sys

SCRIPT = """
import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
from kmonitor_agent.wire.local.file_size_signal import {name}
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
{write}
print(signal.SIGXFSZ in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
"""

TRIES = """
    try:
        while os.write(file, b"x" * 4096):
            pass
    except OSError as exc:
        print(exc.errno)
"""


def run(name: str, write: str, path: object) -> list[str]:
    script = SCRIPT.format(name=name, write=write)
    ran = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran
    return ran.stdout.split()


def test_a_block_survives_its_writes_and_leaves_the_signal_as_it_was(tmp_path: object):
    write = f"with file_size_signal_blocked():{TRIES}"

    assert run("file_size_signal_blocked", write, f"{tmp_path}/file") == ["27", "False"]


def test_a_thread_may_block_it_for_good(tmp_path: object):
    write = f"block_file_size_signal()\nif True:{TRIES}"

    assert run("block_file_size_signal", write, f"{tmp_path}/file") == ["27", "True"]
