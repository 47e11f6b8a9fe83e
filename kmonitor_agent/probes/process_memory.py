"""Memory of this process, its children and its host; cheap readings and expensive ones."""

import contextlib
import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from kmonitor_agent.wire.local.control_groups import cgroup_limit
from kmonitor_agent.wire.messages.readings import Reading

_STATM: Final = Path("/proc/self/statm")
_STATUS: Final = Path("/proc/self/status")
_TASKS: Final = Path("/proc/self/task")
_NOT_YET: Final = "not read yet"

_FAILURES: Final = (psutil.Error, OSError, ValueError, IndexError, KeyError, RuntimeError)
"""Raised where `/proc` is another file system, or is mounted over."""

_REST: Final = 1000.0
"""Pause after the expensive readings, as a multiple of their time: a thousandth of a core."""


@dataclass(frozen=True, slots=True)
class MemoryReadings:
    """Memory at one moment; all in bytes.

    Attributes:
        process: Resident set of this process.
        peak: Highest resident set of this process since it started.
        total: Resident set of this process and its children: the metric `ram`.
        bound: The smaller of host memory and cgroup limit.
        host_available: What the host could still give.
        unique: Unique set, as old as the last `read_slowly`.
        children: Resident set of the children; of those that children of theirs started, and where
            procfs does not list children, of those that the last `read_slowly` found.
        cgroup: The cgroup's limit, as old as the last `read_slowly`.
    """

    process: Reading
    peak: Reading
    total: Reading
    bound: Reading
    host_available: Reading
    unique: Reading
    children: Reading
    cgroup: Reading


class ProcessMemory:
    """Reads memory; owned by the agent's thread, but for `resident_bytes`."""

    def __init__(self) -> None:
        self._known_process: psutil.Process | None = None
        self._unique = Reading.missing("bytes", _NOT_YET)
        self._children: dict[int, psutil.Process] = {}
        self._why_no_children = _NOT_YET
        self._cgroup = cgroup_limit()
        self._rests_until_s = -math.inf

    def read_slowly(self) -> None:
        """Read what costs milliseconds, unless the pause after the last time is not over.

        Source: measured: 16 ms for the unique set at 1.5 GB, and more with more; `children()`
            reads each process of the host.
        """
        if time.monotonic() < self._rests_until_s:
            return
        began_s = time.thread_time()
        self._unique = self._read_unique()
        self._list_children()
        self._cgroup = cgroup_limit()
        self._rests_until_s = time.monotonic() + _REST * (time.thread_time() - began_s)

    def read(self) -> MemoryReadings:
        """Read what costs microseconds; the rest as it was last read slowly."""
        process = read_resident_set()
        host_total, host_available = _host_memory()
        children = self._read_children()
        total = Reading(
            (process.value or 0.0) + (children.value or 0.0),
            "bytes",
            f"{process.source}; children: psutil" if children.value else process.source,
        )
        return MemoryReadings(
            process=process,
            peak=_peak_bytes(),
            total=total if process.value is not None else process,
            bound=_bound(host_total, self._cgroup),
            host_available=host_available,
            unique=self._unique,
            children=children,
            cgroup=self._cgroup,
        )

    def _process(self) -> psutil.Process:
        if self._known_process is None:
            self._known_process = psutil.Process()
        return self._known_process

    def _read_unique(self) -> Reading:
        try:
            unique = float(self._process().memory_full_info().uss)
        except _FAILURES as exc:
            return Reading.missing("bytes", f"the unique set cannot be read: {exc}")
        return Reading(unique, "bytes", "process: unique set (psutil)")

    def _list_children(self) -> None:
        try:
            children = self._process().children(recursive=True)
        except _FAILURES as exc:
            self._why_no_children = f"the children cannot be listed: {exc}"
            return
        self._why_no_children = ""
        self._children = {child.pid: child for child in children}

    def _read_children(self) -> Reading:
        if self._why_no_children:
            return Reading.missing("bytes", self._why_no_children)
        resident = 0
        for pid in _direct_children() - self._children.keys():
            with contextlib.suppress(*_FAILURES):
                self._children[pid] = psutil.Process(pid)
        for pid, child in tuple(self._children.items()):
            try:
                resident += child.memory_info().rss
            except _FAILURES:
                del self._children[pid]  # it ended meanwhile
        return Reading(float(resident), "bytes", "children: resident sets (psutil)")


def _direct_children() -> set[int]:
    """Process ids of this process's children now; none where the system does not list them.

    Source: proc(5), /proc/pid/task/tid/children; measured: 0.3 ms with 40 threads.
    """
    children: set[int] = set()
    try:
        for task in _TASKS.iterdir():
            children.update(map(int, (task / "children").read_bytes().split()))
    except (OSError, ValueError):
        pass
    return children


def read_resident_set() -> Reading:
    """Resident set of this process, bytes; any thread, about 10 us."""
    try:
        pages = int(_STATM.read_bytes().split()[1])
    except (OSError, ValueError, IndexError):
        return _read_by_psutil()
    return Reading(float(pages * os.sysconf("SC_PAGE_SIZE")), "bytes", f"process: {_STATM}")


def _read_by_psutil() -> Reading:
    try:
        resident = float(psutil.Process().memory_info().rss)
    except _FAILURES as exc:
        return Reading.missing("bytes", f"the resident set cannot be read: {exc}")
    return Reading(resident, "bytes", "process: psutil resident set")


def _host_memory() -> tuple[Reading, Reading]:
    """All of the host's memory, and what it could still give."""
    try:
        host = psutil.virtual_memory()
    except _FAILURES as exc:
        missing = Reading.missing("bytes", f"the host's memory cannot be read: {exc}")
        return missing, missing
    available = Reading(float(host.available), "bytes", "host: available memory")
    return Reading(float(host.total), "bytes", "host: total memory"), available


def _peak_bytes() -> Reading:
    # Not getrusage: its maximum is inherited from the parent across fork and exec.
    try:
        for line in _STATUS.read_bytes().splitlines():
            if line.startswith(b"VmHWM:"):
                return Reading(float(line.split()[1]) * 1024, "bytes", f"process: {_STATUS} VmHWM")
    except (OSError, ValueError, IndexError):
        pass
    if sys.platform == "win32":
        peak = float(psutil.Process().memory_info().peak_wset)
        return Reading(peak, "bytes", "process: peak working set")
    return Reading.missing("bytes", f"the peak is not known on {sys.platform}")


def _bound(host_total: Reading, cgroup: Reading) -> Reading:
    if cgroup.value is not None and cgroup.value < (host_total.value or math.inf):
        return cgroup
    return host_total
