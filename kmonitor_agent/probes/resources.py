"""Resources beside memory that a training can run out of, with what bounds each of them.

Each field is read as often as its cost allows: counters for each sample, listings after a pause
that is a multiple of the time which they took.
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
from kmonitor_agent.probes.memory_left import read_address_space_left
from kmonitor_agent.probes.open_files import read_open_files, read_open_files_limit
from kmonitor_agent.probes.pressure import Pressure
from kmonitor_agent.probes.process_memory import ProcessMemory
from kmonitor_agent.probes.shared_blocks import SharedBlocks
from kmonitor_agent.probes.tasks import (
    ProcessStat,
    TasksLeft,
    read_process_stat,
    threads_by_psutil,
)
from kmonitor_agent.wire.messages.readings import Reading

_REST: Final = 1000.0
_LONGEST_REST_S: Final = 60.0
"""Pause after looking at a disk, as a multiple of the time: one of a server's may be slow."""

Fields = Iterator[tuple[str, Reading]]


class Resources:
    """Reads resources; owned by the agent's thread.

    Attributes:
        shared_blocks: Blocks of shared memory that were made since.
    """

    def __init__(self, memory: ProcessMemory, proc: Path = PROC) -> None:
        """Begin with nothing read.

        Args:
            memory: Knows the children.
            proc: procfs.
        """
        self._proc = proc
        self._memory = memory
        self._tasks = TasksLeft(proc)
        self._pressure = Pressure(proc)
        self._disks = {"disk": _Disk(), "temp_disk": _Disk()}
        self.shared_blocks = SharedBlocks(is_ours=memory.is_ours)
        self._stat: ProcessStat | None = None

    def find(self) -> None:
        """Find control groups again: a process may be moved."""
        self._pressure.find()

    def read_stat(self) -> Reading:
        """Read the process's counters, for this sample; what is left of its address space."""
        self._stat = read_process_stat(self._proc / "self")
        used = None if self._stat is None else self._stat.address_space_bytes
        return read_address_space_left(used)

    def read(self, disk: Path | None) -> Fields:
        """Fields of a sample, after `read_stat`.

        Args:
            disk: Folder in which the fit writes its checkpoints; None: it writes none.
        """
        yield from _files(self._proc / "self")
        yield from self._tasks_fields()
        shared = self.shared_blocks.read()
        yield "shared_memory_bytes", shared
        yield "shared_memory_of_bytes", self.shared_blocks.read_whole(shared)
        folders = {"disk": disk or working_folder(), "temp_disk": temp_folder()}
        for name, folder in folders.items():
            used, whole = self._disks[name].read(folder)
            yield f"{name}_used_bytes", used
            yield f"{name}_of_bytes", whole
        faults = Reading.missing("1", "this system does not count them")
        if self._stat is not None:
            source = f"process: {self._proc}/self/stat majflt"
            faults = Reading(float(self._stat.major_faults), "1", source)
        yield "major_faults", faults
        yield "memory_pressure_fraction", self._pressure.read("memory")
        yield "io_pressure_fraction", self._pressure.read("io")
        yield "cgroup_high_events", self._pressure.read_high_events()

    def _tasks_fields(self) -> Fields:
        left = self._tasks.read()
        threads = threads_by_psutil()
        if self._stat is not None:
            source = f"process: {self._proc}/self/stat num_threads"
            threads = Reading(float(self._stat.threads), "threads", source)
        yield "threads", threads
        yield "threads_of", _whole(threads, left)
        children = self._memory.n_children
        if children is None:
            processes = zombies = Reading.missing("processes", "children are not listed yet")
        else:
            source = "process: children and theirs, zombies among them, up to 10 s old"
            processes = Reading(float(children), "processes", source)
            zombies = Reading(
                float(len(self._memory.children()[1])),
                "processes",
                "children that ended and that nobody waited for",
            )
        yield "processes", processes
        yield "processes_of", _whole(processes, left)
        yield "zombies", zombies


def _files(folder: Path) -> Fields:
    yield "open_files", read_open_files(folder)
    yield "open_files_of", read_open_files_limit()


def _whole(used: Reading, left: Reading) -> Reading:
    """What there can be: what there is, and as many more as can be started."""
    if used.value is None or left.value is None:
        return Reading.missing(used.unit, used.absent or left.absent)
    return Reading(used.value + left.value, used.unit, f"{left.source}, beside what there is")


class _Disk:
    """Room on the disk of a folder, read as often as it answers quickly."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._reads_at_s = -math.inf
        self._newest = Reading.missing("bytes", "not read yet"), Reading.missing("bytes", "")

    def read(self, folder: Path | None) -> tuple[Reading, Reading]:
        """What is used by everybody, and what can be; without what is kept for root."""
        if folder is None:
            missing = Reading.missing("bytes", "there is no such folder")
            return missing, missing
        if folder != self._folder or time.monotonic() >= self._reads_at_s:
            self._folder = folder
            began_s = time.monotonic()
            self._newest = _room(folder)
            took_s = time.monotonic() - began_s
            self._reads_at_s = time.monotonic() + min(_LONGEST_REST_S, _REST * took_s)
        return self._newest


def _room(folder: Path) -> tuple[Reading, Reading]:
    existing = next((each for each in (folder, *folder.parents) if each.exists()), folder)
    try:
        usage = shutil.disk_usage(existing)
    except OSError as exc:
        missing = Reading.missing("bytes", f"the disk cannot be read: {exc.strerror}: {existing}")
        return missing, missing
    source = f"disk: {existing}"
    return (
        Reading(float(usage.used), "bytes", source),
        Reading(float(usage.used + usage.free), "bytes", source),
    )


def working_folder() -> Path | None:
    """The folder in which the process is; None: it is gone."""
    try:
        return Path.cwd()
    except OSError:
        return None


def temp_folder() -> Path:
    """The folder for temporary files; `tempfile` would choose one, by writing there."""
    chosen = getattr(sys.modules.get("tempfile"), "tempdir", None)
    if type(chosen) is str:
        return Path(chosen)
    named = (os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return Path(next(filter(None, named), "/tmp"))  # noqa: S108 - as `tempfile` has it
