"""Threads and processes of this process, and how many more can be started.

Each thread and each process is a task of the kernel. Three limits hold: `pids.max` of a control
group, RLIMIT_NPROC of the user (not of root), and the kernel's own total.
"""

import os
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from kmonitor_agent.probes.held_memory import FAILURES, PROC, read_proc_file
from kmonitor_agent.probes.pacing import Paced
from kmonitor_agent.wire.local.control_groups import read_count, task_folders
from kmonitor_agent.wire.messages.fields import MAX_COUNT
from kmonitor_agent.wire.messages.readings import NamedResource, Reading

try:
    import resource
except ImportError:  # Windows has none
    resource = None

_CORE_FRACTION: Final = 0.00002
"""Maximum part of a core for reading the bounds."""

_NEAR: Final = 4
"""The user's own tasks are counted if the limit is below this multiple of the host's tasks."""


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """Values of one read of /proc/self/stat.

    Attributes:
        threads: Current number of threads.
        major_faults: Number of page faults that had to wait for a disk, since the process started.
        processor_ticks: Time that the process spent on processors, clock ticks.
        processor: Processor that its main thread ran on last; None: unknown.
        block_io_ticks: Time that its main thread waited for disks, clock ticks; None: unknown.
    """

    threads: int
    major_faults: int
    address_space_bytes: int
    processor_ticks: int
    processor: int | None = None
    block_io_ticks: int | None = None


def read_process_stat(folder: Path | str = PROC / "self") -> ProcessStat | None:
    """Counters of a process; about 10 us. None without procfs, or if its contents are invalid.

    Args:
        folder: Folder of the process in procfs.

    Source: proc_pid_stat(5): fields 12, 14, 15, 20, 23, 39 and 42.
    """
    try:
        # pid (name with any letter) state parent ...
        fields = read_proc_file(f"{folder}/stat").rpartition(b")")[2].split()
        numbers = [int(fields[place]) for place in _STAT_PLACES]
        later = [int(fields[place]) for place in _STAT_LATER if place < len(fields)]
    except FAILURES:
        return None
    if not all(0 <= value <= MAX_COUNT for value in numbers):
        return None
    threads, faults, space, user, system = numbers
    return ProcessStat(threads, faults, space, user + system, *later)


_STAT_PLACES: Final = (17, 9, 20, 11, 12)
_STAT_LATER: Final = (36, 39)
"""Indices behind the name: `_STAT_PLACES` are num_threads, majflt, vsize, utime, stime.

`_STAT_LATER` are processor and delayacct_blkio_ticks, which old kernels do not have.
"""


def threads_by_psutil() -> Reading:
    """Number of threads of this process, for systems without procfs."""
    try:
        return Reading(float(psutil.Process().num_threads()), "threads", "process: psutil")
    except FAILURES as exc:
        return Reading.missing("threads", f"threads cannot be counted: {exc}")


class TasksLeft:
    """Number of threads or processes that can still be started; owned by the agent's thread."""

    def __init__(self, proc: Path = PROC) -> None:
        self._proc = proc
        self._left = Paced(self._read, _CORE_FRACTION)
        self._in_use: Hashable = None

    def read(self, in_use: Hashable) -> Reading:
        """Smallest of the bounds, as old as its cost requires.

        Args:
            in_use: Current counts of this process; a change means that the result is outdated.
        """
        if in_use != self._in_use:
            self._in_use = in_use
            self._left.expire()
        return self._left.newest()

    def _read(self) -> Reading:
        bounds = list(self._bounds())
        if not bounds:
            return Reading.missing("tasks", "this system does not report a limit")
        left, source = min(bounds)
        return Reading(float(max(0, left)), "tasks", source)

    def _bounds(self) -> Iterator[tuple[int, str]]:
        for folder in task_folders(self._proc / "self"):
            limit = read_count(folder / "pids.max")
            used = read_count(folder / "pids.current")
            if limit is not None and used is not None:
                yield limit - used, f"cgroup: {folder / 'pids.max'}"
        try:
            # 0.00 0.01 0.05 running/all newest
            of_host = int((self._proc / "loadavg").read_bytes().split()[3].partition(b"/")[2])
        except FAILURES:
            return
        kernel = self._proc / "sys" / "kernel"
        for name in ("threads-max", "pid_max"):
            limit = read_count(kernel / name)
            if limit is not None:
                yield limit - of_host, f"host: {kernel / name}"
        yield from self._of_user(of_host)

    def _of_user(self, of_host: int) -> Iterator[tuple[int, str]]:
        if resource is None or not hasattr(resource, "RLIMIT_NPROC") or os.geteuid() == 0:
            return
        limit = resource.getrlimit(resource.RLIMIT_NPROC)[0]
        if limit == resource.RLIM_INFINITY:
            return
        used = of_host if limit > _NEAR * of_host else self._count_of_user()
        yield limit - used, "user: RLIMIT_NPROC"

    def _count_of_user(self) -> int:
        """Number of threads of all processes of this user; 20 us per process."""
        count = 0
        user = os.getuid()
        for entry in os.scandir(self._proc):
            try:
                if entry.name.isdigit() and entry.stat().st_uid == user:
                    stat = read_process_stat(entry.path)
                    count += stat.threads if stat is not None else 0
            except OSError:
                continue
        return count


def describe_threads(
    names: Mapping[int, str], folder: Path = PROC / "self"
) -> Counter[tuple[str, str]]:
    """Number of threads by name; 10 us per thread.

    Args:
        names: Names of Python's threads, by the system's thread id.
        folder: This process's in procfs.

    Raises:
        OSError: There is no procfs.
    """
    found: Counter[tuple[str, str]] = Counter()
    for number in os.listdir(folder / "task"):  # noqa: PTH208 - names alone
        name = names.get(int(number)) or _command(folder / "task" / number)
        found["thread", name] += 1
    return found


def describe_processes(
    children: Iterable[int], zombies: Collection[int], proc: Path = PROC
) -> Counter[tuple[str, str]]:
    """Number of children by name; 10 us per child.

    Args:
        children: Process ids.
    """
    found: Counter[tuple[str, str]] = Counter()
    for pid in children:
        kind = "zombie" if pid in zombies else "child"
        found[kind, _command(proc / str(pid))] += 1
    return found


def memory_by_name(
    by_child: Mapping[int, int], names: Mapping[int, str], proc: Path = PROC
) -> list[NamedResource]:
    """Memory of children by name, most first: a pool's together, others with their process id.

    Args:
        by_child: Bytes by process id.
        names: Names that Python gave to processes that it started, by process id.
    """
    alike: dict[str, list[tuple[str, int]]] = {}
    for pid, n_bytes in by_child.items():
        name = names.get(pid) or _command(proc / str(pid))
        alike.setdefault(_NUMBERS.sub("*", name), []).append((f"{name} (pid {pid})", n_bytes))
    found: Counter[str] = Counter()
    for pattern, children in alike.items():
        (name, _), *others = children
        found[pattern if others else name] = sum(n_bytes for _, n_bytes in children)
    return [
        NamedResource("child", name, n_bytes) for name, n_bytes in found.most_common(_MOST_NAMED)
    ]


_NUMBERS: Final = re.compile(r"[0-9]+")
_MOST_NAMED: Final = 32


def _command(folder: Path) -> str:
    """Name of a thread or process; empty if it is gone."""
    try:
        return (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
