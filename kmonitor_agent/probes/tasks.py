"""Threads and processes of this process, and how many more can be started.

Each thread and each process is a task of the kernel. Three limits hold: `pids.max` of a control
group, RLIMIT_NPROC of the user (not of root), and what the kernel itself allows in all.
"""

import math
import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from kmonitor_agent.probes.held_memory import FAILURES, PROC
from kmonitor_agent.wire.local.control_groups import read_count, task_folders
from kmonitor_agent.wire.messages.fields import MAX_COUNT
from kmonitor_agent.wire.messages.readings import Reading

try:
    import resource
except ImportError:  # Windows has none
    resource = None

_REST: Final = 5000.0
"""Pause after what takes longer, as a multiple of its time."""

_NEAR: Final = 4
"""The user's own tasks are counted where the limit is below so many times those of the host."""


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """What one read of /proc/self/stat says.

    Attributes:
        threads: That the process has now.
        major_faults: Pages that it had to wait for a disk for, since it started.
        address_space_bytes: That it uses.
    """

    threads: int
    major_faults: int
    address_space_bytes: int


def read_process_stat(folder: Path = PROC / "self") -> ProcessStat | None:
    """Counters of a process; about 15 us. None where there is no procfs, or it says nonsense.

    Args:
        folder: The process's in procfs.

    Source: proc_pid_stat(5): fields 12, 20 and 23.
    """
    fields = read_stat_numbers(folder)
    if len(fields) <= _STAT_ADDRESS_SPACE:
        return None
    places = (_STAT_THREADS, _STAT_MAJOR_FAULTS, _STAT_ADDRESS_SPACE)
    threads, faults, space = (fields[place] for place in places)
    is_sound = all(0 <= value <= MAX_COUNT for value in (threads, faults, space))
    return ProcessStat(threads, faults, space) if is_sound else None


_STAT_MAJOR_FAULTS: Final = 9
_STAT_THREADS: Final = 17
_STAT_ADDRESS_SPACE: Final = 20


def read_stat_numbers(folder: Path) -> list[int]:
    """Numbers behind the name in a process's stat; empty where it is gone, or there is no procfs.

    Args:
        folder: The process's in procfs.
    """
    try:
        # pid (name with any letter) state parent ...
        fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()[1:]
        return [0, *map(int, fields)]
    except FAILURES:
        return []


def threads_by_psutil() -> Reading:
    """Threads of this process where there is no procfs."""
    try:
        return Reading(float(psutil.Process().num_threads()), "threads", "process: psutil")
    except FAILURES as exc:
        return Reading.missing("threads", f"threads cannot be counted: {exc}")


class TasksLeft:
    """How many more threads or processes can be started; owned by the agent's thread."""

    def __init__(self, proc: Path = PROC) -> None:
        """Begin with nothing read.

        Args:
            proc: procfs.
        """
        self._proc = proc
        self._newest = Reading.missing("tasks", "not read yet")
        self._reads_at_s = -math.inf

    def read(self) -> Reading:
        """The smallest of the bounds, as old as its cost requires."""
        if time.monotonic() >= self._reads_at_s:
            began_s = time.thread_time()
            bounds = list(self._bounds())
            if bounds:
                left, source = min(bounds)
                self._newest = Reading(float(max(0, left)), "tasks", source)
            else:
                self._newest = Reading.missing("tasks", "this system does not say how many")
            self._reads_at_s = time.monotonic() + _REST * (time.thread_time() - began_s)
        return self._newest

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
        """Threads of all processes of this user: 20 us a process."""
        count = 0
        user = os.getuid()
        for entry in os.scandir(self._proc):
            try:
                if entry.name.isdigit() and entry.stat().st_uid == user:
                    stat = read_process_stat(Path(entry.path))
                    count += stat.threads if stat is not None else 0
            except OSError:
                continue
        return count


def describe_threads(
    names: Mapping[int, str], folder: Path = PROC / "self"
) -> Counter[tuple[str, str]]:
    """Name of each thread, with how many are the same; 10 us a thread.

    Args:
        names: Of Python's threads, by the system's number.
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
    """Name of each child, with how many are the same; 10 us a child.

    Args:
        children: Process ids.
        zombies: Those of them that ended.
        proc: procfs.
    """
    found: Counter[tuple[str, str]] = Counter()
    for pid in children:
        kind = "zombie" if pid in zombies else "child"
        found[kind, _command(proc / str(pid))] += 1
    return found


def _command(folder: Path) -> str:
    """Name of a thread or process; empty where it is gone."""
    try:
        return (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
