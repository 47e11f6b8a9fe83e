"""Processes that a fold started: finding and ending them, if necessary by the watchdog.

The watchdog is a process that outlives the study's process by a moment and ends the folds that it
left. Standard library only, since the watchdog loads this module alone.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

MARK: Final = "KMONITOR_FOLD_MARK"
"""Environment variable that every process of a fold inherits, to find those whose parents are
gone."""

_PROC: Final = Path("/proc")
_TRACKER: Final = b"multiprocessing.resource_tracker"
"""Python's own process that removes leftover shared memory once its users are gone."""

_ROUNDS: Final = 5
"""Number of rounds: a process that forks while it is being ended is ended in the next round."""


def has_procfs() -> bool:
    """True if this system lists its processes in procfs."""
    return _PROC.is_dir()


def descendants(pid: int) -> list[int]:
    """A process and its descendants from procfs; the process alone without procfs."""
    pids = [pid]
    pending = [pid]
    while pending:
        for child in _children(pending.pop()):
            if child not in pids:
                pids.append(child)
                pending.append(child)
    return pids


def marked_processes(mark: str) -> list[int]:
    """All processes of this user that inherited a mark, even if their parents are gone.

    Args:
        mark: Unique value of the variable.
    """
    wanted = f"{MARK}={mark}".encode()
    pids: list[int] = []
    with suppress(OSError):
        for name in os.listdir(_PROC):  # noqa: PTH208 - names alone, and several times faster
            if not name.isdigit():
                continue
            with suppress(OSError):
                if wanted in (_PROC / name / "environ").read_bytes().split(b"\0"):
                    pids.append(int(name))
    return pids


def kill_process_tree(pid: int, mark: str) -> None:
    """Kill a fold with everything that it started; harmless if it is gone.

    Python's resource tracker is left alone: it ends by itself when all others are gone, and
    removes their leftover shared memory.

    Args:
        pid: Process id of the fold's process.
        mark: See `MARK`.
    """
    # Stopped first, so that it starts no other one after the search.
    _send([pid], signal.SIGSTOP)
    for _ in range(_ROUNDS):
        left = [
            each for each in {*descendants(pid), *marked_processes(mark)} if not _is_over(each)
        ]
        if not left:
            return
        _send([each for each in left if each != os.getpid()], signal.SIGKILL)


_STOPS_WITHIN_S: Final = 0.5
_STILL: Final = frozenset({b"T", b"t", b"Z", b"X", b""})


@contextmanager
def paused_process(pid: int) -> Generator[None]:
    """Stop a process for the block; without procfs it is unconfirmed that it stopped."""
    _send([pid], signal.SIGSTOP)
    end_s = time.monotonic() + _STOPS_WITHIN_S
    while _state(pid) not in _STILL and time.monotonic() < end_s:
        time.sleep(0.001)
    try:
        yield
    finally:
        _send([pid], signal.SIGCONT)


def _state(pid: int) -> bytes:
    """State of a process from procfs; empty without procfs."""
    with suppress(OSError, IndexError):
        return (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[0]
    return b""


def _is_over(pid: int) -> bool:
    if not has_procfs():
        return not _answers(pid)
    if _state(pid) in {b"Z", b"X", b""}:
        return True
    with suppress(OSError):
        return _TRACKER in (_PROC / str(pid) / "cmdline").read_bytes()
    return True


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _send(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, number)


def _children(pid: int) -> list[int]:
    pids: list[int] = []
    with suppress(OSError, ValueError):
        for task in (_PROC / str(pid) / "task").iterdir():
            pids.extend(map(int, (task / "children").read_bytes().split()))
    return pids


_STARTS: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    " from kmonitor_agent.studies.process_tree import watch; watch()"
)


class Watchdog:
    """A process that ends the folds of a study that died; owned by the thread that runs it."""

    def __init__(self) -> None:
        """Start the watchdog. Raises: OSError."""
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

    def process_started(self, pid: int, mark: str) -> None:
        self._send(f"+ {pid} {mark}\n")

    def ended(self, pid: int, mark: str) -> None:
        """Report that a fold's process is gone, with all that it started."""
        self._send(f"- {pid} {mark}\n")

    def close(self) -> None:
        """End the watchdog: the study is over, and no process is left."""
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            with self._process.stdout as end:
                end.read()  # nothing: it ends with the watchdog

    def _send(self, line: str) -> None:
        # Without a watchdog the folds still die with us (`fold_child`), but not what they started.
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()


def watch() -> None:
    """Main function of the watchdog: runs until the pipe ends.

    It detaches from the process that started it, since a Ray worker kills its children as it ends.
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
        kill_process_tree(pid, mark)


def _root() -> str:
    """Folder from which `kmonitor_agent` is imported."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
