"""The study's side of one fold's process: its start, messages, output, end, and memory cgroup."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from kmonitor_agent.studies.fold_child import SHOW_STACKS
from kmonitor_agent.studies.fold_messages import FoldAnswer, FoldConnection, FoldJob, FoldMessage
from kmonitor_agent.studies.process_tree import (
    MARK,
    descendants,
    has_procfs,
    kill_process_tree,
    marked_processes,
    paused_process,
)
from kmonitor_agent.wire.local.control_groups import group_folders
from kmonitor_agent.wire.local.private_files import open_private

_STARTS: Final = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[2]);"
    " from kmonitor_agent.studies.fold_child import main; main(int(sys.argv[1]))"
)
_MOST_OUTPUT_BYTES: Final = 16 * 2**20
_KEPT_OUTPUT_BYTES: Final = 2**20
_TAIL_BYTES: Final = 4096
_CUT: Final = b"\n... kmonitor: what was printed before is cut off ...\n"


class FoldProcess:
    """The process of a fold; owned by the thread that started it, with which it dies.

    Attributes:
        mark: Mark of the fold in the environment of all its processes.
    """

    def __init__(
        self, job: FoldJob, function: bytes, environ: Mapping[str, str], output: Path
    ) -> None:
        """Start the process; it loads its function and waits for `go`.

        Args:
            output: File for the text that the process prints.

        Raises:
            OSError: The process cannot be started.
        """
        self.mark = uuid4().hex
        self._output = output
        own_end, child_end = socket.socketpair()
        try:
            with child_end, open_private(output, "ab") as printed:
                self._process = subprocess.Popen(  # noqa: S603 - our own Python and our own text
                    [sys.executable, "-c", _STARTS, str(child_end.fileno()), json.dumps(sys.path)],
                    pass_fds=(child_end.fileno(),),
                    stdin=subprocess.DEVNULL,
                    stdout=printed,
                    stderr=subprocess.STDOUT,
                    env={**environ, MARK: self.mark},
                    # In its own group: Ctrl+C reaches only the study, which then ends its folds.
                    process_group=0,
                )
        except BaseException:
            own_end.close()
            raise
        self.pid = self._process.pid
        self._fold_connection = FoldConnection(own_end)
        self._fold_connection.job(job, function)

    def receive(self) -> list[FoldMessage]:
        return self._fold_connection.receive()

    @property
    def connection(self) -> FoldConnection:
        return self._fold_connection

    def go(self) -> bool:
        """Start the function; False if the process is gone."""
        return self._fold_connection.go()

    def answer(self, answer: FoldAnswer) -> bool:
        """Answer the fold's question; False if the process does not take the answer."""
        return self._fold_connection.answer(answer)

    def exit_code(self) -> int | None:
        """Exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def processes(self) -> list[int]:
        """Process ids of the process and its descendants."""
        return descendants(self.pid)

    def show_stacks(self) -> None:
        """Make the process write its threads' stacks to its output, if it still can."""
        if SHOW_STACKS is not None and self.exit_code() is None:
            with suppress(OSError):
                os.kill(self.pid, SHOW_STACKS)

    def end(self) -> None:
        """End the process and all that it started; returns when they are gone."""
        if self.exit_code() is None or marked_processes(self.mark):
            kill_process_tree(self.pid, self.mark)
        if not has_procfs():
            # Without procfs its group is all that is known. With it the group is left alone: the
            # resource tracker is of it, and must live to remove shared memory.
            with suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._fold_connection.close()

    def tail(self) -> str:
        """Last part of the printed text."""
        with suppress(OSError), open_private(self._output, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return file.read(_TAIL_BYTES).decode("utf-8", "replace")
        return ""

    def bound_output(self) -> None:
        """Cut the output of a fold that prints endlessly to its last part."""
        with suppress(OSError):
            if self._output.lstat().st_size <= _MOST_OUTPUT_BYTES:
                return
            # Paused, since what it printed between our read and the cut would be lost.
            with paused_process(self.pid), open_private(self._output, "r+b") as file:
                file.seek(-_KEPT_OUTPUT_BYTES, os.SEEK_END)
                tail = file.read()
                # It appends, so that what it prints next goes behind this.
                file.truncate(0)
                file.seek(0)
                file.write(_CUT + tail)


_LIMIT: Final = {1: "memory.limit_in_bytes", 2: "memory.max"}
_SWAP: Final = {1: "memory.memsw.limit_in_bytes", 2: "memory.swap.max"}
_KILLS: Final = {1: "memory.oom_control", 2: "memory.events"}
_PEAK: Final = {1: "memory.max_usage_in_bytes", 2: "memory.peak"}
_PREFIX: Final = "kmonitor-fold-"
_EMPTY_WITHIN_S: Final = 2.0


class MemoryCgroup:
    """The control group of one fold's processes; owned by the thread that runs the study."""

    def __init__(self, version: int, folder: Path) -> None:
        self._version = version
        self._folder = folder

    @classmethod
    def create(cls, bound_bytes: int, name: str) -> "MemoryCgroup | None":
        """Create a group with this bound; None if not allowed, as is usual for plain users.

        Args:
            bound_bytes: Maximum memory of its processes together, bytes.
            name: Unique name.
        """
        for version, above in group_folders():
            folder = above / f"{_PREFIX}{name}"
            group = cls(version, folder)
            try:
                folder.mkdir()
                (folder / _LIMIT[version]).write_text(str(bound_bytes))
            except OSError:
                group.remove()
                continue
            with suppress(OSError):  # a kernel that does not count swap
                (folder / _SWAP[version]).write_text(str(bound_bytes if version == 1 else 0))
            with suppress(OSError):  # version 2: all of it goes, or nothing
                if version != 1:
                    (folder / "memory.oom.group").write_text("1")
            return group
        return None

    def join(self, pid: int) -> bool:
        """Move a process, with those it starts later, into the group.

        False if that is not allowed.
        """
        try:
            (self._folder / "cgroup.procs").write_text(str(pid))
        except OSError:
            return False
        return True

    def kills(self) -> int:
        """Number of processes of the group that the kernel killed for lack of memory."""
        with suppress(OSError, ValueError):
            for line in (self._folder / _KILLS[self._version]).read_text().splitlines():
                name, _, count = line.partition(" ")
                if name == "oom_kill":
                    return int(count)
        return 0

    @property
    def peak_name(self) -> str:
        """Name of the kernel's file with the peak."""
        return _PEAK[self._version]

    def peak_bytes(self) -> int:
        """Peak memory of the group, bytes, file-backed pages included.

        0 if the kernel does not report it.
        """
        with suppress(OSError, ValueError):
            return int((self._folder / self.peak_name).read_text())
        return 0

    def remove(self) -> bool:
        """Remove the group; False while a process is in it."""
        try:
            self._folder.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def remove_soon(self) -> None:
        """Remove the group; waits at most two seconds for processes that are ending."""
        end_s = time.monotonic() + _EMPTY_WITHIN_S
        while not self.remove() and time.monotonic() < end_s:
            time.sleep(0.02)
