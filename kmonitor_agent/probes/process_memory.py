"""Memory of this process, its children and its host; cheap readings and expensive ones."""

import math
import os
import sys
import time
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Final

import psutil

from kmonitor_agent.probes.compiled_code import read_code_regions
from kmonitor_agent.probes.held_memory import (
    FAILURES,
    PROC,
    REST,
    FamilyMemory,
    ProcessPages,
    read_own_pages,
)
from kmonitor_agent.probes.memory_left import nearest_bound, read_host, what_can_be_had
from kmonitor_agent.probes.pacing import Paced
from kmonitor_agent.wire.local.control_groups import LimitingCgroup, read_whole
from kmonitor_agent.wire.messages.fields import MAX_COUNT
from kmonitor_agent.wire.messages.readings import Reading

_NOT_YET: Final = "not read yet"
_NO_LIMIT: Final = Reading.missing("bytes", "the process's address space has no limit")

_AGES_S: Final = ((10, "10 s"), (30, "30 s"), (60, "1 min"), (300, "5 min"), (1800, "30 min"))
"""Steps (seconds, text) in which the age of proportional sets is reported."""

_REST_ALONE: Final = 10_000.0
"""Pause after a slow reading without children, as a multiple of its time."""

_REST_STARTING: Final = 300.0
"""Pause after a search that found started or ended children, as a multiple of its time.

A search that finds none doubles it.
"""

_REST_LOOKING: Final = 20_000.0
"""Longest pause between searches for children, as a multiple of their time."""

_TICK_S: Final = 10.0
"""Time between calls of `read_slowly`, seconds."""

_CODE_FRACTION: Final = 0.0002
"""Part of a core for counting compiled code while the number stays the same.

A count takes milliseconds.
"""

_SAME_CODE_FRACTION: Final = 0.00004
"""The same fraction if the kernel reports the size of code, which is read for each sample: only
pages that are both writable and executable are missing from it."""


@dataclass(frozen=True, slots=True)
class MemoryReadings:
    """Memory at one moment, bytes except `code`. The kernel cannot take *held* memory back.

    Attributes:
        process: Held by this process.
        peak: Peak resident set of this process since it started, file-backed pages included.
        total: Held by this process and its children: the metric `ram`.
        file: File-backed pages of this process and its children that are in RAM.
        swapped: Swapped-out part of `process`.
        left: Memory that this process can still get; its source names the nearest bound.
        bound: Sum of `total` and `left`.
        host_available: Available memory of the host, without swap.
        unique: Unique set, from the last `read_slowly`.
        children: Memory that the children add to `process`.
        cgroup: Limit of the cgroup, from the last `read_slowly`.
        cgroup_used: Usage reported by the cgroup, less inactive file-backed pages.
        cgroup_left: Limit of the cgroup less the memory that the kernel cannot take back.
        code: Number of regions of compiled code, as old as their cost requires.
    """

    process: Reading
    peak: Reading
    total: Reading
    file: Reading
    swapped: Reading
    left: Reading
    bound: Reading
    host_available: Reading
    swap_free: Reading
    unique: Reading
    children: Reading
    cgroup: Reading
    cgroup_used: Reading
    cgroup_left: Reading
    code: Reading


_NAMES: Final = tuple(each.name for each in fields(MemoryReadings))


class ProcessMemory:
    """Reads memory; owned by the agent's thread."""

    def __init__(self, proc: Path = PROC) -> None:
        self._proc = proc
        self._folder = proc / "self"
        self._family = FamilyMemory(proc=proc)
        self._unique = Reading.missing("bytes", _NOT_YET)
        pages = read_own_pages(self._folder)
        self._code_bytes = pages.code_bytes if isinstance(pages, ProcessPages) else None
        self._code = Paced(
            partial(read_code_regions, self._folder),
            _CODE_FRACTION if self._code_bytes is None else _SAME_CODE_FRACTION,
            while_changing=1.0 / REST,
        )
        self._children: set[int] = set()
        self._direct: set[int] = set()
        self._why_no_children = _NOT_YET
        self._cgroup = LimitingCgroup(self._folder)
        self._slowly_at_s = self._looks_at_s = -math.inf
        self._rest_looking = _REST_LOOKING
        self._slowly_took_s = 0.0
        self._age_s = _TICK_S

    def read_slowly(self) -> None:
        """Read values that cost milliseconds, unless the pause after the last time is not over.

        Source: measured: 16 ms for the shares of 1.5 GB, and more with more; psutil's `children()`
            reads each process of the host.
        """
        rest = REST if self._children else _REST_ALONE
        if time.monotonic() < self._slowly_at_s + rest * self._slowly_took_s:
            return
        began_s = time.thread_time()
        self._list_children()
        self._family.read_slowly(self._children)
        self._unique = self._read_unique()
        self._cgroup.find()
        self._slowly_took_s = time.thread_time() - began_s
        self._slowly_at_s = time.monotonic()
        rest_s = REST * self._slowly_took_s
        # Never less than before: each new source is an event, and this one would go to and fro.
        self._age_s = max(self._age_s, math.ceil(rest_s / _TICK_S) * _TICK_S)

    @property
    def n_children(self) -> int | None:
        """Number of descendants as last listed, zombies included; None: unknown."""
        return None if self._why_no_children else len(self._children)

    def children(self) -> tuple[frozenset[int], frozenset[int]]:
        """Process ids of descendants as last listed, and of the zombies among them."""
        return frozenset(self._children), frozenset(self._family.zombies & self._children)

    def by_child(self) -> dict[int, int]:
        """Memory of each child beside what it shares, as last read, bytes by process id."""
        return self._family.by_child

    def read(self, address_space_left: Reading = _NO_LIMIT) -> MemoryReadings:
        """Read values that cost microseconds; the others are from the last slow reading.

        Args:
            address_space_left: Remainder of the limit on address space.
        """
        pages = read_own_pages(self._folder)
        self._hasten_code(pages)
        host_available, swap_free = read_host(self._proc)
        process = _process_reading(pages)
        children = self._read_children(pages)
        total = _total(process, children)
        cgroup_left = self._cgroup.left()
        left = nearest_bound(host_available, swap_free, cgroup_left, address_space_left)
        readings = MemoryReadings(
            process=process,
            peak=_peak_reading(pages, self._folder),
            total=total,
            file=self._file_reading(pages, has_children=bool(children.value)),
            swapped=_swapped(pages, self._folder),
            left=left,
            bound=what_can_be_had(total, left),
            host_available=host_available,
            swap_free=swap_free,
            unique=self._unique,
            children=children,
            cgroup=self._cgroup.limit,
            cgroup_used=self._cgroup.used(),
            cgroup_left=cgroup_left,
            code=self._code.newest(),
        )
        return MemoryReadings(*[_sized(getattr(readings, name)) for name in _NAMES])

    def _hasten_code(self, pages: ProcessPages | Reading) -> None:
        code_bytes = pages.code_bytes if isinstance(pages, ProcessPages) else None
        if code_bytes != self._code_bytes:
            self._code_bytes = code_bytes
            self._code.hasten()

    def _read_unique(self) -> Reading:
        unique = self._family.unique_bytes
        if unique is not None:
            return Reading(float(unique), "bytes", f"process: {self._folder}/smaps_rollup")
        try:
            unique = psutil.Process().memory_full_info().uss
        except FAILURES as exc:
            return Reading.missing("bytes", f"the unique set size (USS) cannot be read: {exc}")
        return Reading(float(unique), "bytes", "process: unique set size (USS, psutil)")

    def _list_children(self) -> None:
        try:
            children = _descendants(self._proc)
            if children is None:
                children = {child.pid for child in psutil.Process().children(recursive=True)}
            self._children = children
        except FAILURES as exc:
            self._why_no_children = f"the child processes cannot be listed: {exc}"
            return
        self._why_no_children = ""

    def _read_children(self, pages: ProcessPages | Reading) -> Reading:
        if self._why_no_children:
            return Reading.missing("bytes", self._why_no_children)
        started = self._started()
        if started:
            self._children |= started
            self.read_slowly()  # what they share is known at once, if the pause is over
        if isinstance(pages, Reading):
            return _children_by_psutil(self._children)
        added = self._family.children_bytes(self._children, pages)
        why = self._family.why_no_shares
        source = (
            "children: RssAnon + VmSwap of each process; pages shared by forks may be counted "
            f"twice: {why}"
            if why
            else (
                "children: proportional set sizes (PSS, smaps_rollup), up to "
                f"{_age_text(self._age_s)} old, plus what each process has allocated since"
            )
        )
        return Reading(float(added), "bytes", source)

    def _started(self) -> set[int]:
        """Children started since the last listing; a rare search if the process has many threads.

        While children start and end, the search is frequent, so that the children of each epoch
        are counted.
        """
        if time.monotonic() < self._looks_at_s:
            return set()
        began_s = time.thread_time()
        now = set(read_children(self._folder) or ())
        started = now - self._children
        ended = self._direct - now
        self._children -= ended
        self._direct = now
        took_s = time.thread_time() - began_s
        has_changed = bool(started or ended)
        longer = min(2 * self._rest_looking, _REST_LOOKING)
        self._rest_looking = _REST_STARTING if has_changed else longer
        self._looks_at_s = time.monotonic() + self._rest_looking * took_s
        return started

    def _file_reading(self, pages: ProcessPages | Reading, *, has_children: bool) -> Reading:
        if isinstance(pages, Reading) or pages.file_bytes is None:
            return Reading.missing("bytes", "this system does not report file-backed pages")
        together = self._family.file_bytes_with(pages)
        if has_children and together is not None:
            source = (
                f"process and children: Pss_File (smaps_rollup), up to {_age_text(self._age_s)}"
                " old, plus what the process has mapped since"
            )
            return Reading(float(together), "bytes", source)
        return Reading(float(pages.file_bytes), "bytes", f"process: {self._folder}/status RssFile")


def _sized(reading: Reading) -> Reading:
    """The reading, or an absence with a reason if the text is not a size in bytes."""
    value = reading.value
    if value is None or 0 <= value <= MAX_COUNT:
        return reading
    return Reading.missing("bytes", f"{reading.source}: {value:g} bytes is not a valid size")


def _process_reading(pages: ProcessPages | Reading) -> Reading:
    if isinstance(pages, Reading):
        return pages
    return Reading(float(pages.held_bytes), "bytes", f"process: {pages.source}")


def _total(process: Reading, children: Reading) -> Reading:
    if process.value is None or not children.value:
        return process
    source = f"{process.source}; {children.source}"
    return Reading(process.value + children.value, "bytes", source)


def _age_text(age_s: float) -> str:
    return next((text for most_s, text in _AGES_S if age_s <= most_s), "hours")


def _children_by_psutil(pids: set[int]) -> Reading:
    """Nearest number without procfs; removes children that ended from the set."""
    held = 0.0
    name = "private" if sys.platform == "win32" else "rss"
    for pid in tuple(pids):
        try:
            held += float(getattr(psutil.Process(pid).memory_info(), name))
        except FAILURES:
            pids.discard(pid)
    kind = "private bytes (psutil)" if name == "private" else "resident set sizes (RSS, psutil)"
    return Reading(held, "bytes", f"children: {kind}")


def _descendants(proc: Path) -> set[int] | None:
    """Process ids of all descendants of this process; None if procfs does not list them."""
    pending = read_children(proc / "self")
    if pending is None:
        return None
    found: set[int] = set()
    while pending:
        pid = pending.pop()
        if pid not in found:
            found.add(pid)
            pending += read_children(proc / str(pid)) or ()
    return found


def read_children(folder: Path) -> list[int] | None:
    """Process ids of a process's children now; None if procfs does not list them.

    Source: proc(5), /proc/pid/task/tid/children; measured: 0.15 ms with 40 threads, half of what
        `Path` takes.
    """
    children: list[int] | None = None
    try:
        for task in os.listdir(f"{folder}/task"):  # noqa: PTH208 - names alone
            started = read_whole(f"{folder}/task/{task}/children").split()
            children = [*(children or ()), *map(int, started)]
    except (OSError, ValueError):
        pass
    return children


def _swapped(pages: ProcessPages | Reading, folder: Path) -> Reading:
    if isinstance(pages, Reading):
        return Reading.missing("bytes", "this system does not report swapped memory")
    return Reading(float(pages.swapped_bytes), "bytes", f"process: {folder}/status VmSwap")


def _peak_reading(pages: ProcessPages | Reading, folder: Path) -> Reading:
    # Not getrusage: its maximum is inherited from the parent across fork and exec.
    if isinstance(pages, ProcessPages) and pages.peak_bytes is not None:
        return Reading(float(pages.peak_bytes), "bytes", f"process: {folder}/status VmHWM")
    if sys.platform == "win32":
        peak = float(psutil.Process().memory_info().peak_wset)
        return Reading(peak, "bytes", "process: peak working set")
    return Reading.missing("bytes", f"the peak is not available on {sys.platform}")
