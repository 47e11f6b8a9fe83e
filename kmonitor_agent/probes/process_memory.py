"""Memory of this process, its children and its host; cheap readings and expensive ones."""

import contextlib
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from kmonitor_agent.guard import describe_exception
from kmonitor_agent.wire.local.control_groups import cgroup_limit
from kmonitor_agent.wire.messages.fields import MAX_COUNT
from kmonitor_agent.wire.messages.readings import Reading

_STATM: Final = Path("/proc/self/statm")
_STATUS: Final = Path("/proc/self/status")
_TASKS: Final = Path("/proc/self/task")
_NOT_YET: Final = "not read yet"

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
        return _attempt(
            "the unique set",
            "process: unique set (psutil)",
            lambda: self._process().memory_full_info().uss,
        )

    def _list_children(self) -> None:
        try:
            children = self._process().children(recursive=True)
        except Exception as exc:  # noqa: BLE001 - see `_attempt`
            self._why_no_children = f"the children cannot be listed: {describe_exception(exc)}"
            return
        self._why_no_children = ""
        self._children = {child.pid: child for child in children}

    def _read_children(self) -> Reading:
        if self._why_no_children:
            return Reading.missing("bytes", self._why_no_children)
        resident = 0
        for pid in _direct_children() - self._children.keys():
            with contextlib.suppress(Exception):  # it ended meanwhile, or never was
                self._children[pid] = psutil.Process(pid)
        for pid, child in tuple(self._children.items()):
            try:
                resident += child.memory_info().rss
            except Exception:  # noqa: BLE001 - see `_attempt`
                del self._children[pid]  # it ended meanwhile
        return _attempt(
            "the children's memory", "children: resident sets (psutil)", lambda: resident
        )


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
    reading = _attempt("the resident set", f"process: {_STATM}", _resident_bytes)
    if reading.value is not None:
        return reading
    return _attempt(
        "the resident set",
        "process: psutil resident set",
        lambda: psutil.Process().memory_info().rss,
    )


def _resident_bytes() -> int:
    return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _host_memory() -> tuple[Reading, Reading]:
    """All of the host's memory, and what it could still give."""
    try:
        host = psutil.virtual_memory()
    except Exception as exc:  # noqa: BLE001 - see `_attempt`
        why = f"the host's memory cannot be read: {describe_exception(exc)}"
        return Reading.missing("bytes", why), Reading.missing("bytes", why)
    total = _attempt("the host's memory", "host: total memory", lambda: host.total)
    return total, _attempt(
        "the host's available memory", "host: available memory", lambda: host.available
    )


def _peak_bytes() -> Reading:
    if sys.platform == "win32":
        return _attempt(
            "the peak",
            "process: peak working set",
            lambda: psutil.Process().memory_info().peak_wset,
        )
    if sys.platform != "linux":
        return Reading.missing("bytes", f"the peak is not known on {sys.platform}")
    return _attempt("the peak", f"process: {_STATUS} VmHWM", _high_water_bytes)


def _high_water_bytes() -> int:
    # Not getrusage: its maximum is inherited from the parent across fork and exec.
    for line in _STATUS.read_bytes().splitlines():
        if line.startswith(b"VmHWM:"):
            return int(line.split()[1]) * 1024
    raise LookupError(f"{_STATUS} has no VmHWM")


def _attempt(name: str, source: str, read: Callable[[], int]) -> Reading:
    """A reading in bytes; one that fails, or is no size in bytes, is absent with the reason.

    Where `/proc` is another file system or is mounted over, psutil raises whatever the text there
    leads to: KeyError, ValueError, OverflowError, or a warning that the script made an error.
    """
    try:
        value = float(read())
    except Exception as exc:  # noqa: BLE001 - one probe costs nothing but itself
        return Reading.missing("bytes", f"{name} cannot be read: {describe_exception(exc)}")
    if not 0 <= value <= MAX_COUNT:
        return Reading.missing("bytes", f"{name} cannot be read: {value:g} bytes is no size")
    return Reading(value, "bytes", source)


def _bound(host_total: Reading, cgroup: Reading) -> Reading:
    if cgroup.value is not None and cgroup.value < (host_total.value or math.inf):
        return cgroup
    return host_total
