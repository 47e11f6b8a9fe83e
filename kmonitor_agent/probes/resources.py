"""Resources beside memory that a training can run out of, each with its bound.

Each field is read as often as its cost allows: counters for each sample, listings after a pause
that is a multiple of the time they took.
"""

import math
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kmonitor_agent.probes.held_memory import PROC
from kmonitor_agent.probes.open_files import read_open_files, read_open_files_limit
from kmonitor_agent.probes.pressure import Pressure
from kmonitor_agent.probes.process_memory import ProcessMemory
from kmonitor_agent.probes.shared_blocks import SharedBlocks
from kmonitor_agent.probes.tasks import (
    ProcessStat,
    TasksLeft,
    threads_by_psutil,
)
from kmonitor_agent.wire.messages.readings import Reading

_REST: Final = 1000.0
_LONGEST_REST_S: Final = 60.0
"""Longest pause after reading a disk, seconds: a server's disk may be slow."""

Fields = Iterator[tuple[str, Reading]]


class Resources:
    """Reads resources; owned by the agent's thread.

    Attributes:
        shared_blocks: Blocks of shared memory that the run created.
    """

    def __init__(self, memory: ProcessMemory, proc: Path = PROC) -> None:
        """Args: `memory`: Source of the children's process ids."""
        self._folder = proc / "self"
        self._memory = memory
        self._tasks = TasksLeft(proc)
        self._pressure = Pressure(proc)
        self._disks = {"disk": _Disk(), "temp_disk": _Disk()}
        self.shared_blocks = SharedBlocks(children=lambda: memory.children()[0])

    def find(self) -> None:
        """Find control groups and disks again: the process may have moved, a folder may be new."""
        self._pressure.find()
        for disk in self._disks.values():
            disk.find()

    def read(self, stat: ProcessStat | None, disk: Path | None) -> Fields:
        """Fields of a sample.

        Args:
            stat: Counters of this process; None without procfs.
            disk: Folder in which the fit writes its checkpoints; None: it writes none.
        """
        yield "open_files", read_open_files(self._folder)
        yield "open_files_of", read_open_files_limit()
        yield from self._tasks_fields(stat)
        used, whole = self.shared_blocks.read()
        yield "shared_memory_bytes", used
        yield "shared_memory_of_bytes", whole
        folders = {"disk": str(disk) if disk else working_folder(), "temp_disk": temp_folder()}
        for name, folder in folders.items():
            used, whole = self._disks[name].read(folder)
            yield f"{name}_used_bytes", used
            yield f"{name}_of_bytes", whole
        faults = Reading.missing("1", "this system does not count them")
        if stat is not None:
            source = f"process: {self._folder}/stat majflt"
            faults = Reading(float(stat.major_faults), "1", source)
        yield "major_faults", faults
        memory, io, high = self._pressure.read()
        yield "memory_pressure_fraction", memory
        yield "io_pressure_fraction", io
        yield "cgroup_high_events", high

    def _tasks_fields(self, stat: ProcessStat | None) -> Fields:
        children = self._memory.n_children
        left = self._tasks.read((None if stat is None else stat.threads, children))
        if stat is None:
            threads = threads_by_psutil()
        else:
            source = f"process: {self._folder}/stat num_threads"
            threads = Reading(float(stat.threads), "threads", source)
        yield "threads", threads
        yield "threads_of", _whole(threads, left)
        if children is None:
            processes = zombies = Reading.missing("processes", "children are not listed yet")
        else:
            source = "process: all descendants, including zombies; the list is up to 10 s old"
            processes = Reading(float(children), "processes", source)
            zombies = Reading(
                float(len(self._memory.children()[1])),
                "processes",
                "children that have exited but were never waited for (zombies)",
            )
        yield "processes", processes
        yield "processes_of", _whole(processes, left)
        yield "zombies", zombies


def _whole(used: Reading, left: Reading) -> Reading:
    """Total that is possible: the current number plus the number that can still be started."""
    if used.value is None or left.value is None:
        return Reading.missing(used.unit, used.absent or left.absent)
    return Reading(used.value + left.value, used.unit, f"{left.source}, of the total")


class _Disk:
    """Space on the disk of a folder, read as often as its speed allows."""

    def __init__(self) -> None:
        self._folder: str | None = None
        self._existing = Path()
        self._reads_at_s = -math.inf
        self._newest = Reading.missing("bytes", "not read yet"), Reading.missing("bytes", "")

    def find(self) -> None:
        """Find the folder again: it may be new, or a disk may have been mounted."""
        self._folder = None

    def read(self, folder: str | None) -> tuple[Reading, Reading]:
        """Used and total space of all users, without the space reserved for root."""
        if folder is None:
            missing = Reading.missing("bytes", "no such folder")
            return missing, missing
        if folder != self._folder or time.monotonic() >= self._reads_at_s:
            began_s = time.monotonic()
            if folder != self._folder:
                self._folder = folder
                self._existing = _nearest(Path(folder))
            self._newest = _room(self._existing)
            took_s = time.monotonic() - began_s
            self._reads_at_s = time.monotonic() + min(_LONGEST_REST_S, _REST * took_s)
        return self._newest


def _nearest(folder: Path) -> Path:
    """The folder, or the one above it that exists."""
    return next((each for each in (folder, *folder.parents) if each.exists()), folder)


def _room(existing: Path) -> tuple[Reading, Reading]:
    try:
        usage = shutil.disk_usage(existing)
    except OSError as exc:
        missing = Reading.missing(
            "bytes", f"disk usage cannot be read: {exc.strerror}: {existing}"
        )
        return missing, missing
    source = f"disk: {existing}"
    return (
        Reading(float(usage.used), "bytes", source),
        Reading(float(usage.used + usage.free), "bytes", source),
    )


def working_folder() -> str | None:
    """Working folder of the process; None if it no longer exists."""
    try:
        return os.getcwd()  # noqa: PTH109 - each second, for a fifth of the time
    except OSError:
        return None


def temp_folder() -> str:
    """Folder for temporary files, found without `tempfile`, which writes files to choose one."""
    chosen = getattr(sys.modules.get("tempfile"), "tempdir", None)
    if type(chosen) is str:
        return chosen
    named = (os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return next(filter(None, named), "/tmp")  # noqa: S108 - as `tempfile` has it
