"""An agent without Keras in a process that runs out of something; `python -m` this, driven by
lines.

Its arguments: what is short (descriptors, tasks, memory), the amount that is left, and when it
becomes short (before the link starts, or after it is connected). For each line of its input it
lets the agent's thread work for some turns and says "turned"; at the end of the input it closes
the link.
"""

import contextlib
import mmap
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import zmq  # as a notebook has it already: importing it would fail first, and harmlessly

from kmonitor_agent.wire.local.folders import find_folders
from tests.support.links import LinkUnderTest, epoch
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
PIDS: Final = Path("/sys/fs/cgroup/pids")
KINDS: Final = ("descriptors", "tasks", "memory")
TURNS: Final = 12
MIB: Final = 2**20
LIBRARY: Final = zmq.zmq_version()


class Turns:
    """Counts turns of the agent's thread."""

    def __init__(self, test: LinkUnderTest) -> None:
        self._test = test
        self._count = 0
        test.link.every(0.01, self._tick)

    def wait(self) -> None:
        """Until it has worked for some more; at once where it could not be started."""
        until = self._count + TURNS
        self._test.link.start()
        if self._test.link.is_started:
            wait_until(lambda: self._count >= until)

    def _tick(self) -> None:
        self._count += 1


def leave_only(kind: str, left: int, group: str) -> list[int]:
    """Make it short; what is returned must be kept."""
    if kind == "descriptors":
        return _leave_descriptors(left)
    if kind == "tasks":
        folder = Path(group)
        (folder / "cgroup.procs").write_text(str(os.getpid()))
        used = int((folder / "pids.current").read_text())
        (folder / "pids.max").write_text(str(used + left))
    else:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        bound = pages * mmap.PAGESIZE + left * MIB
        resource.setrlimit(resource.RLIMIT_AS, (bound, resource.RLIM_INFINITY))
    return []


def _leave_descriptors(left: int) -> list[int]:
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    held: list[int] = []
    with contextlib.suppress(OSError):
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    for descriptor in held[len(held) - left :]:
        os.close(descriptor)
    return held


def main() -> None:
    """Be that process."""
    kind, left, when, group = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    test = LinkUnderTest(find_folders())
    turns = Turns(test)
    held: list[int] = []
    if when == "before":
        held += leave_only(kind, left, group)
    test.link.start()
    for number, _ in enumerate(sys.stdin, 1):
        test.link.emit(epoch(number))
        turns.wait()
        if when == "after" and number == 1:
            wait_until(lambda: test.link.status().connected)
            held += leave_only(kind, left, group)
        sys.stdout.write("turned\n")
        sys.stdout.flush()
    test.link.close(timeout_s=0.2)


class ScarceAgent:
    """Such a process from the outside.

    Attributes:
        process: The process.
        turned: Times that it said that its thread has worked.
    """

    def __init__(self, kind: str, left: int, when: str, group: Path | None) -> None:
        self.turned = 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, kind, str(left), when, str(group or "-")],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,))
        self._reader.start()

    def go(self) -> None:
        """Have it work on; it may be dead."""
        with contextlib.suppress(OSError):
            assert self.process.stdin is not None
            self.process.stdin.write("go\n")
            self.process.stdin.flush()

    def has_turned(self, times: int) -> bool:
        """True if it said so this often, or has died."""
        return self.turned >= times or self.process.poll() is not None

    def end(self) -> str:
        """Have it end on its own; returns its error stream."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            assert self.process.stderr is not None
            text = self.process.stderr.read()
            self.process.wait(120)
        finally:
            self.process.kill()
            self._reader.join(60)
            for pipe in (self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()
        return text

    def _read(self, lines: IO[str] | None) -> None:
        for _ in lines or ():
            self.turned += 1


def why_no_group() -> str:
    """Why tasks cannot be made short here; empty if they can."""
    if not PIDS.is_dir():
        return "no cgroup with the pids controller (version 1) is mounted"
    return "" if os.access(PIDS, os.W_OK) else "this user may not make a cgroup"


@contextlib.contextmanager
def task_group(name: str) -> Iterator[Path]:
    """A cgroup for one process, whose tasks can be bounded."""
    folder = PIDS / f"kmonitor-test-{os.getpid()}-{name}"
    folder.mkdir()
    try:
        yield folder
    finally:
        wait_until(lambda: not (folder / "cgroup.procs").read_text().strip())
        folder.rmdir()


if __name__ == "__main__":
    main()
