"""A small process beside a study that ends its folds when the study's own process is killed.

Nothing can be done in a process that is killed. The warden reads a pipe from it: one line for each
fold that began or ended. When the pipe ends without a goodbye, it ends the folds that are left.
"""

import os
import subprocess
import sys
from contextlib import suppress
from typing import Final

from kmonitor_agent.studies.process_tree import end_group

_STARTS: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); from kmonitor_agent.studies.warden import watch;"
    " watch()"
)


class Warden:
    """Started once for a study; owned by the thread that runs it."""

    def __init__(self) -> None:
        """Start it. Raises: OSError."""
        root = str(_root())
        # -I -S: nothing of the user's is imported, and it is up in 20 ms with 10 MB.
        self._process = subprocess.Popen(  # noqa: S603 - our own Python and our own text
            [sys.executable, "-I", "-S", "-c", _STARTS, root],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={},
        )

    def began(self, pid: int, mark: str) -> None:
        """A fold's process was started."""
        self._say(f"+ {pid} {mark}\n")

    def ended(self, pid: int, mark: str) -> None:
        """It is gone, and so is all that it started."""
        self._say(f"- {pid} {mark}\n")

    def close(self) -> None:
        """The study is over: nothing is left to end."""
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            with self._process.stdout as end:
                end.read()  # nothing: it ends with the warden

    def _say(self, line: str) -> None:
        # Without a warden the folds still die with us (`child`); only what they started does not.
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()


def watch() -> None:
    """The warden's own life: until the pipe ends.

    It leaves the process that started it, since a worker of Ray's, as it ends, kills its children.
    """
    if hasattr(os, "fork") and os.fork():
        os._exit(0)
    left: dict[tuple[int, str], None] = {}
    for line in sys.stdin:
        sign, pid, mark = line.split()
        if sign == "+":
            left[int(pid), mark] = None
        else:
            left.pop((int(pid), mark), None)
    for pid, mark in left:
        end_group(pid, mark)


def _root() -> str:
    """The folder that `kmonitor_agent` is imported from."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
