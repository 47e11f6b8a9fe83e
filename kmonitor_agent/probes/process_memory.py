"""Memory of this process, its children and its host; the cheap readings and the dear ones."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from kmonitor_agent.probes.cgroup import cgroup_limit
from kmonitor_agent.reading import Reading

_STATM: Final = Path("/proc/self/statm")
_STATUS: Final = Path("/proc/self/status")
_NOT_YET: Final = "not read yet"


@dataclass(frozen=True, slots=True)
class MemoryReadings:
    """One look at memory; all in bytes.

    Attributes:
        process: Resident set of this process.
        peak: Highest resident set of this process since it started.
        total: Resident set of this process and its children: the metric `ram`.
        bound: The smaller of host memory and cgroup limit.
        host_available: What the host could still give.
        unique: Unique set, as old as the last `read_slowly`.
        children: Resident set of the children, as old as the last `read_slowly`.
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
        self._process = psutil.Process()
        self._unique = Reading.missing("bytes", _NOT_YET)
        self._children = Reading.missing("bytes", _NOT_YET)
        self._cgroup = cgroup_limit()

    def read_slowly(self) -> None:
        """Read what costs milliseconds; call it at most every 10 s.

        Source: measured: 16 ms for the unique set at 1.5 GB, `children()` likewise.
        """
        self._unique = self._read_unique()
        self._children = self._read_children()
        self._cgroup = cgroup_limit()

    def read(self) -> MemoryReadings:
        """Read what costs microseconds; the rest as it was last read slowly."""
        process = resident_bytes()
        host = psutil.virtual_memory()
        children = self._children.value
        total = Reading(
            (process.value or 0.0) + (children or 0.0),
            "bytes",
            f"{process.source}; children: psutil" if children else process.source,
        )
        return MemoryReadings(
            process=process,
            peak=_peak_bytes(self._process),
            total=total if process.value is not None else process,
            bound=_bound(float(host.total), self._cgroup),
            host_available=Reading(float(host.available), "bytes", "host: available memory"),
            unique=self._unique,
            children=self._children,
            cgroup=self._cgroup,
        )

    def _read_unique(self) -> Reading:
        try:
            unique = float(self._process.memory_full_info().uss)
        except (psutil.Error, OSError) as exc:
            return Reading.missing("bytes", f"the unique set cannot be read: {exc}")
        return Reading(unique, "bytes", "process: unique set (psutil)")

    def _read_children(self) -> Reading:
        try:
            children = self._process.children(recursive=True)
        except (psutil.Error, OSError) as exc:
            return Reading.missing("bytes", f"the children cannot be listed: {exc}")
        resident = 0
        for child in children:
            try:
                resident += child.memory_info().rss
            except psutil.Error:
                continue  # it ended meanwhile
        return Reading(float(resident), "bytes", "children: resident sets (psutil)")


def resident_bytes() -> Reading:
    """Resident set of this process, bytes; any thread, about 10 us."""
    try:
        pages = int(_STATM.read_bytes().split()[1])
    except (OSError, ValueError, IndexError):
        return Reading(
            float(psutil.Process().memory_info().rss), "bytes", "process: psutil resident set"
        )
    return Reading(float(pages * os.sysconf("SC_PAGE_SIZE")), "bytes", f"process: {_STATM}")


def _peak_bytes(process: psutil.Process) -> Reading:
    # Not getrusage: its maximum is inherited from the parent across fork and exec.
    try:
        for line in _STATUS.read_bytes().splitlines():
            if line.startswith(b"VmHWM:"):
                return Reading(float(line.split()[1]) * 1024, "bytes", f"process: {_STATUS} VmHWM")
    except (OSError, ValueError, IndexError):
        pass
    if sys.platform == "win32":
        peak = float(process.memory_info().peak_wset)
        return Reading(peak, "bytes", "process: peak working set")
    return Reading.missing("bytes", f"the peak is not known on {sys.platform}")


def _bound(host_total: float, cgroup: Reading) -> Reading:
    if cgroup.value is not None and cgroup.value < host_total:
        return cgroup
    return Reading(host_total, "bytes", "host: total memory")
