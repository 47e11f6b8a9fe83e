"""Memory that the kernel cannot take back, of one process and of a process with its children.

*Held* are anonymous pages, shared memory and the swapped-out part of both. File-backed pages
(memory maps, HDF5, libraries) are not: under pressure the kernel drops them and reads them again,
so that a data set in `np.memmap` fills the resident set without taking memory from other
processes.

A process alone holds `RssAnon + RssShmem + VmSwap` of /proc/PID/status, even if other processes
share part of it. Children count with the memory that they add: the proportional sets of all
(/proc/PID/smaps_rollup) less the memory that the process itself holds, so that memory shared by
forks counts once. The kernel walks all pages for such a set, about 1 ms for 100 MiB, so it is read
rarely. In between, each child counts with its private pages as last read and with the growth of
its anonymous pages since. Growth of shared memory is left out until the next reading: each child
that touches the same segment would add it again. A shared page that was copied on write is left
out too: no counter changes. A child whose shares were not read yet counts with all its memory if
it is another program than its parent, else (a fork) with its memory beyond its parent's.

Source: proc(5); https://docs.kernel.org/filesystems/proc.html (smaps_rollup).
"""

import math
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from kmonitor_agent.wire.messages.readings import Reading

try:
    import resource
except ImportError:  # Windows has none
    resource = None

PROC: Final = Path("/proc")

FAILURES: Final = (Exception,)
"""Exceptions of a failed reading.

If `/proc` is another file system or is mounted over, psutil and this code raise anything,
depending on the text there; only that reading is lost.
"""

_SELF: Final = "/proc/self"

_WHOSE_PEAK: Final = (
    resource.RUSAGE_THREAD
    if resource is not None and sys.platform == "linux"
    else 0  # RUSAGE_SELF
)
"""Argument of `getrusage`.

For a thread, Linux returns the peak of the whole process too, and need not add up the times of all
threads.
"""

REST: Final = 1000.0
"""Pause after an expensive reading, as a multiple of its time: a thousandth of a core."""

_STATUS_FIELDS: Final = "RssAnon + RssShmem + VmSwap"
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True, slots=True)
class ProcessPages:
    """Pages of one process, bytes.

    Attributes:
        anonymous_bytes: Anonymous pages, including those that a fork still shares.
        shared_bytes: Shared memory: /dev/shm, shared anonymous maps.
        file_bytes: File-backed pages; None: not known separately.
        peak_bytes: Peak resident set, file-backed pages included; None: unknown.
        code_bytes: Address space of code beside the program's own: of libraries, and of compilers
            that write-protect their output; None: unknown.
        threads: Number of threads; None: unknown.
        source: Source of the numbers.
    """

    anonymous_bytes: int
    shared_bytes: int = 0
    swapped_bytes: int = 0
    file_bytes: int | None = None
    peak_bytes: int | None = None
    code_bytes: int | None = None
    threads: int | None = None
    source: str = ""

    @property
    def held_bytes(self) -> int:
        """Memory that the kernel cannot take back."""
        return self.anonymous_bytes + self.shared_bytes + self.swapped_bytes

    @property
    def peak_held_bytes(self) -> int:
        """Approximate peak of held memory: the peak less current file-backed pages; 0: unknown."""
        return max(0, (self.peak_bytes or 0) - (self.file_bytes or 0))

    @property
    def own_bytes(self) -> int:
        """`held_bytes` without shared memory."""
        return self.anonymous_bytes + self.swapped_bytes


@dataclass(frozen=True, slots=True)
class ProportionalSet:
    """Pages of one process, each divided by the processes that share it, bytes.

    Attributes:
        held_bytes: Memory that the kernel cannot take back.
        file_bytes: File-backed pages.
        private_bytes: Part of `held_bytes` that no other process shares.
        unique_bytes: All pages that no other process shares, file-backed ones included.
    """

    held_bytes: int
    file_bytes: int
    private_bytes: int
    unique_bytes: int


def read_pages(folder: Path | str) -> ProcessPages:
    """Pages of a process from its status file; about 15 us.

    Args:
        folder: Folder of the process in procfs.

    Raises:
        OSError: The process is gone, or there is no procfs.
        ValueError: The files have unexpected contents.
        IndexError: The file has unexpected contents.
    """
    path = f"{folder}/status"
    status = read_proc_file(path)
    anonymous = _size(status, b"RssAnon:")
    peak = _size(status, b"VmHWM:")
    if anonymous is None:  # a zombie, a kernel before 4.5, or an emulated procfs
        return _pages_by_statm(folder, peak)
    return ProcessPages(
        anonymous,
        _size(status, b"RssShmem:") or 0,
        _size(status, b"VmSwap:") or 0,
        _size(status, b"RssFile:"),
        peak,
        _size(status, b"VmLib:"),
        _number(status, b"Threads:"),
        f"{path} {_STATUS_FIELDS}",
    )


def _pages_by_statm(folder: Path | str, peak: int | None) -> ProcessPages:
    path = f"{folder}/statm"
    resident, shared = map(int, read_proc_file(path).split()[1:3])
    own = max(0, resident - shared) * _PAGE_BYTES
    return ProcessPages(own, peak_bytes=peak, source=f"{path} resident minus shared")


def read_proportional_set(folder: Path | str) -> ProportionalSet | None:
    """Proportional set of a process; None if the kernel (before 5.4) has none.

    Args:
        folder: Folder of the process in procfs.

    Raises:
        OSError: The process is gone, the file may not be read, or the kernel has no such file.
        ValueError: The file has unexpected contents.
        IndexError: The file has unexpected contents.
    """
    rollup = read_proc_file(f"{folder}/smaps_rollup")
    anonymous, shared, swapped = (
        _size(rollup, name) for name in (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:")
    )
    if anonymous is None or shared is None:
        return None
    clean, dirty = (_size(rollup, name) or 0 for name in (b"Private_Clean:", b"Private_Dirty:"))
    resident = anonymous + shared
    return ProportionalSet(
        held_bytes=resident + (swapped or 0),
        file_bytes=_size(rollup, b"Pss_File:") or 0,
        private_bytes=min(dirty, resident) + (swapped or 0),
        unique_bytes=clean + dirty,
    )


def read_proc_file(path: str) -> bytes:
    """Contents of a small file of procfs; measured: 8 us less than `Path.read_bytes`.

    Raises:
        OSError: The file is gone, or may not be read.
    """
    number = os.open(path, os.O_RDONLY)
    try:
        return os.read(number, 1 << 16)
    finally:
        os.close(number)


def _size(text: bytes, name: bytes) -> int | None:
    """Bytes in a line "RssAnon: 148 kB"; None if there is no such line."""
    kib = _number(text, name)
    return None if kib is None else kib * 1024


def _number(text: bytes, name: bytes) -> int | None:
    start = text.find(b"\n" + name)
    if start < 0:
        return None
    return int(text[start + 1 + len(name) :].split(None, 1)[0])


def read_sizes(path: str, *names: str) -> list[int | None]:
    """Sizes in a file of procfs with lines "SwapFree:  148 kB", bytes; None without such a line.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file has unexpected contents.
    """
    text = b"\n" + read_proc_file(path)
    return [_size(text, f"{name}:".encode()) for name in names]


def read_held() -> Reading:
    """Memory that this process holds, bytes; any thread, about 15 us."""
    pages = read_own_pages()
    if isinstance(pages, Reading):
        return pages
    return Reading(float(pages.held_bytes), "bytes", f"process: {pages.source}")


def read_anonymous_bytes() -> float | None:
    """Anonymous pages of this process in RAM, without swap and shared memory; any thread.

    For frequent checks of growth alone: 8 us, half of `read_held`.
    """
    try:
        return float(_pages_by_statm(_SELF, None).anonymous_bytes)
    except FAILURES:
        return read_held().value


def read_peak_resident_bytes() -> float | None:
    """Peak resident set of this process, file-backed pages included; any thread, below 1 us.

    A program starts with the peak of the one that started it, unlike `ProcessPages.peak_bytes`.

    Source: getrusage(2), ru_maxrss; kilobytes, on macOS bytes.
    """
    if resource is None:
        return None
    peak = resource.getrusage(_WHOSE_PEAK).ru_maxrss
    return float(peak if sys.platform == "darwin" else peak * 1024)


def peak_held_bytes() -> int:
    """Approximate peak of memory that this process held, bytes; 0 if unknown."""
    pages = read_own_pages()
    return pages.peak_held_bytes if isinstance(pages, ProcessPages) else 0


def read_own_pages(folder: Path = PROC / "self") -> ProcessPages | Reading:
    """Pages of this process; without procfs, the nearest number to held memory.

    Args:
        folder: Folder of this process in procfs.

    Returns:
        A `Reading` if there is only one number, or none.
    """
    try:
        return read_pages(folder)
    except FAILURES:
        return _OTHER_SYSTEM.read()


class OtherSystem:
    """Memory held by this process without procfs; any thread, the last one that reads wins."""

    def __init__(self) -> None:
        self._unique: tuple[float, float, float] | None = None

    def read(self) -> Reading:
        try:
            process = psutil.Process()
            memory: Any = process.memory_info()
            if sys.platform == "win32":
                return Reading(float(memory.private), "bytes", "process: private bytes (psutil)")
            if sys.platform != "darwin":
                return Reading(
                    float(memory.rss), "bytes", "process: resident set size (RSS, psutil)"
                )
            unique = self._read_unique(process, float(memory.rss))
        except FAILURES as exc:
            return Reading.missing("bytes", f"the process's memory cannot be read: {exc}")
        source = (
            "process: unique set size (USS, psutil), extrapolated from the resident set size"
            " (RSS) between readings"
        )
        return Reading(unique, "bytes", source)

    def _read_unique(self, process: psutil.Process, resident: float) -> float:
        """Unique set of the process (macOS), a walk of all regions; read rarely for its cost."""
        began_s = time.thread_time()
        if self._unique is None or time.monotonic() >= self._unique[2]:
            unique = float(process.memory_full_info().uss)
            rests_until_s = time.monotonic() + REST * (time.thread_time() - began_s)
            self._unique = (unique, resident, rests_until_s)
        unique, resident_then, _ = self._unique
        return max(0.0, unique + resident - resident_then)


_OTHER_SYSTEM: Final = OtherSystem()


@dataclass(slots=True)
class _Child:
    """A child as last read: its private pages, and its anonymous and swapped pages then."""

    private_bytes: int
    own_bytes: int


class FamilyMemory:
    """Memory held by a process and its children together; owned by the thread that reads it.

    Attributes:
        unique_bytes: Unique set of the process from the last slow reading; None: unknown.
        why_no_shares: Reason why the kernel's proportional sets are unknown; empty if they are
            known.
        by_child: Memory of each child beside what it shares, as last read, bytes by process id.
        zombies: Ended children that were not waited for, as last read; known ones are not read
            again before the next slow reading.
    """

    def __init__(self, pid: int | str = "self", proc: Path = PROC) -> None:
        self.unique_bytes: int | None = None
        self.why_no_shares = "not read yet"
        self.by_child: dict[int, int] = {}
        self.zombies: set[int] = set()
        self._proc = str(proc)
        self._folder = f"{proc}/{pid}"
        self._children: dict[int, _Child] = {}
        self._divided_bytes = 0
        self._file_bytes_beyond: int | None = None
        self._rests_until_s = -math.inf

    @property
    def is_due(self) -> bool:
        """True if the pause after the last slow reading is over."""
        return time.monotonic() >= self._rests_until_s

    def read_slowly(self, children: Iterable[int]) -> None:
        """Read proportional sets, then pause for as long as their cost requires.

        Args:
            children: Process ids.
        """
        began_s = time.thread_time()
        self.zombies.clear()
        try:
            self._read_shares(children)
        except FAILURES as exc:
            self.why_no_shares = f"the proportional set sizes (PSS) cannot be read: {exc}"
        self._rests_until_s = time.monotonic() + REST * (time.thread_time() - began_s)

    def _read_shares(self, children: Iterable[int]) -> None:
        self._file_bytes_beyond = self.unique_bytes = None
        pages_now = read_pages(self._folder)
        process = read_proportional_set(self._folder)
        if process is None:
            self.why_no_shares = "this kernel does not report proportional set sizes (PSS)"
            return
        self.why_no_shares = ""
        together = process.held_bytes
        private = 0
        file_bytes = process.file_bytes
        for pid in children:
            try:
                pages = read_pages(f"{self._proc}/{pid}")
                share = read_proportional_set(f"{self._proc}/{pid}")
            except FAILURES:
                continue  # it ended meanwhile, or is another user's: counted as before
            if share is not None:
                self._children[pid] = _Child(share.private_bytes, pages.own_bytes)
                together += share.held_bytes
                private += share.private_bytes
                file_bytes += share.file_bytes
        self._divided_bytes = max(0, together - pages_now.held_bytes - private)
        self._file_bytes_beyond = file_bytes - (pages_now.file_bytes or 0)
        self.unique_bytes = process.unique_bytes

    def file_bytes_with(self, process: ProcessPages) -> int | None:
        """File-backed pages of all: the last slow reading plus the process's growth since.

        Returns:
            Bytes; None: unknown.
        """
        if self._file_bytes_beyond is None:
            return None
        return max(0, self._file_bytes_beyond + (process.file_bytes or 0))

    def children_bytes(self, children: set[int], process: ProcessPages) -> int:
        """Memory that children hold beside the process, bytes.

        Args:
            children: Process ids; those of ended processes are removed from the set.
        """
        own: dict[int, int] = {}
        shared = process.shared_bytes
        for pid in tuple(children - self.zombies):
            try:
                pages = read_pages(f"{self._proc}/{pid}")
            except FAILURES:
                children.discard(pid)
                continue
            if not (pages.held_bytes or pages.file_bytes):
                self.zombies.add(pid)
                continue
            child = self._children.get(pid)
            if child is None:
                child = self._children[pid] = self._first_seen(pid, pages)
            own[pid] = max(0, child.private_bytes + pages.own_bytes - child.own_bytes)
            shared = max(shared, pages.shared_bytes)
        for pid in self._children.keys() - own.keys():
            del self._children[pid]
        self.by_child = own
        if not own:
            return 0
        total = sum(own.values())
        if not self.why_no_shares:
            return total + self._divided_bytes
        return total + shared - process.shared_bytes  # as if all shared one segment

    def _first_seen(self, pid: int, pages: ProcessPages) -> _Child:
        """Record for a child whose shares were not read yet."""
        own = pages.own_bytes
        parent = self._parent(pid)
        if parent is not None and _command(f"{self._proc}/{pid}") == _command(parent):
            try:
                return _Child(max(0, own - read_pages(parent).own_bytes), own)
            except FAILURES:
                pass
        return _Child(own, own)

    def _parent(self, pid: int) -> str | None:
        try:
            # pid (name with any letter) state parent ...
            stat = read_proc_file(f"{self._proc}/{pid}/stat")
            return f"{self._proc}/{int(stat.rpartition(b')')[2].split()[1])}"
        except FAILURES:
            return None


def _command(folder: str) -> bytes:
    """Arguments of a process, which a fork inherits; empty if they cannot be read."""
    try:
        return read_proc_file(f"{folder}/cmdline")
    except OSError:
        return b""
