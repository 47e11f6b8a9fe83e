"""Control groups of a process, version 1 and 2: their folders, limits, accounts, OOM kills."""

import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Final

from kmonitor_agent.wire.messages.readings import Reading

_LIMIT: Final = {1: "memory.limit_in_bytes", 2: "memory.max"}
_USED: Final = {1: "memory.usage_in_bytes", 2: "memory.current"}
_HIGH: Final = "memory.high"
"""Version 2 only: above it the kernel throttles all of the group, whatever its `memory.max`."""

_GIVEN: Final = {1: "total_inactive_file", 2: "inactive_file"}
_TAKEN_BACK: Final = {
    1: ("total_inactive_file", "total_active_file"),
    2: ("inactive_file", "active_file", "slab_reclaimable"),
}
"""Lines of `memory.stat` with memory that the kernel can take back."""

_REST: Final = 1000.0
_UNLIMITED_BYTES: Final = 1 << 60
"""Version 1 writes "no limit" as the largest multiple of a page, just below 2**63."""

_MOST_DIGITS: Final = 20
"""Digits of a number of 64 bits."""


def cgroup_limit(proc: Path = Path("/proc/self")) -> Reading:
    """The smallest memory limit of this process's group and all groups above it, bytes.

    Args:
        proc: The process's folder in procfs.

    Source: https://docs.kernel.org/admin-guide/cgroup-v2.html and cgroup-v1/memory.html.
    """
    return _find_limit(proc)[0]


def _find_limit(proc: Path) -> tuple[Reading, int, Path | None]:
    """The smallest limit with its group's version and folder."""
    try:
        groups, mounts = _read_texts(proc)
    except FileNotFoundError:
        return Reading.missing("bytes", "cgroups are a Linux feature"), 2, None
    except OSError as exc:
        why = f"the cgroups cannot be read: {exc}"
        return Reading.missing("bytes", why), 2, None
    limits = [limit for limit in _limits(groups, mounts) if limit[0] < _UNLIMITED_BYTES]
    if not limits:
        return Reading.missing("bytes", "no cgroup limits this process's memory"), 2, None
    limit, version, path = min(limits)
    return Reading(float(limit), "bytes", f"cgroup: {path}"), version, path.parent


def _limits(groups: str, mounts: str) -> Iterator[tuple[int, int, Path]]:
    """Limit, version and file from the process's group up to the mount point."""
    for version, folder in _memory_folders(groups, mounts):
        for name in (_LIMIT[version], *((_HIGH,) if version == 2 else ())):  # noqa: PLR2004
            limit = read_count(folder / name)
            if limit is not None:
                yield limit, version, folder / name


class LimitingCgroup:
    """The control group whose memory limit is the smallest, with its account; one thread's.

    At its limit the kernel first drops inactive pages of files, then kills: what the group uses is
    its account less those, with whatever else runs in it (the *working set* of Kubernetes). Pages
    of files that were read again of late are *active* and stay in it, though the kernel takes them
    in the end: so the account is compared with the limit alone, and growth is judged without it.

    Attributes:
        limit: Limit as of the last `find`, bytes.
    """

    def __init__(self, proc: Path = Path("/proc/self")) -> None:
        """Find the group.

        Args:
            proc: The process's folder in procfs.
        """
        self._proc = proc
        self._inactive_bytes: int | None = None
        self._taken_back_bytes = 0
        self._rests_until_s = -math.inf
        self.find()

    def find(self) -> None:
        """Find the group again: limits change, and processes are moved."""
        self.limit, self._version, self._folder = _find_limit(self._proc)

    def used(self) -> Reading:
        """Memory that counts against the limit, bytes; takes about 10 us.

        The kernel adds up `memory.stat` over all processors, and may take milliseconds: it is read
        as often as a thousandth of a core allows.
        """
        if self._folder is None:
            return Reading.missing("bytes", self.limit.absent)
        path = self._folder / _USED[self._version]
        used = read_count(path)
        if used is None:
            return Reading.missing("bytes", f"{path} cannot be read")
        if time.monotonic() >= self._rests_until_s:
            began_s = time.thread_time()
            self._read_kinds(self._folder / "memory.stat")
            rest_s = _REST * (time.thread_time() - began_s)
            self._rests_until_s = time.monotonic() + rest_s
        if self._inactive_bytes is None:
            return Reading(float(used), "bytes", f"cgroup: {path}, including file-backed pages")
        value = float(max(0, used - self._inactive_bytes))
        return Reading(value, "bytes", f"cgroup: {path} less inactive_file")

    def left(self) -> Reading:
        """Rest of the limit, bytes; pages that the kernel can take back do not count as used."""
        used = self.used()  # reads the kinds of pages
        if self._folder is None or used.value is None or self.limit.value is None:
            return Reading.missing("bytes", used.absent)
        total = read_count(self._folder / _USED[self._version]) or 0
        held = max(0, total - self._taken_back_bytes)
        source = f"{self.limit.source} less what cannot be reclaimed"
        return Reading(max(0.0, self.limit.value - held), "bytes", source)

    def _read_kinds(self, path: Path) -> None:
        kinds = {name: read_line_count(path, name) for name in _TAKEN_BACK[self._version]}
        self._inactive_bytes = kinds[_GIVEN[self._version]]
        self._taken_back_bytes = sum(filter(None, kinds.values()))


def read_count(path: Path) -> int | None:
    """The number that is the whole content of a file; None: there is no number, or it is "max"."""
    try:
        text = read_whole(path).strip()
    except (OSError, ValueError):  # ValueError: a path with a zero byte
        return None
    return int(text) if text.isdigit() and len(text) <= _MOST_DIGITS else None


COUNTED_ALONE: Final = "memory.oom_control"
"""This file (version 1) counts its group's own kills; that of version 2 those below it too."""


@dataclass(frozen=True, slots=True)
class OomKillCounts:
    """Two counters that only rise; None where a counter cannot be read.

    Attributes:
        group: Kills in this process's control group, or the nearest above it that counts.
        group_source: File of that counter.
        host: Kills on the whole host.
    """

    group: int | None = None
    group_source: str = ""
    host: int | None = None


def read_oom_kills(proc: Path = Path("/proc")) -> OomKillCounts:
    """Read both counters.

    Args:
        proc: procfs.

    Source: https://docs.kernel.org/admin-guide/cgroup-v2.html (memory.events),
        cgroup-v1/memory.html (memory.oom_control), /proc/vmstat.
    """
    host = read_oom_kill_count(proc / "vmstat")
    for path in oom_counter_files(proc / "self"):
        count = read_oom_kill_count(path)
        if count is not None:
            return OomKillCounts(count, str(path), host)
    return OomKillCounts(host=host)


def oom_counter_files(process: Path) -> Iterator[Path]:
    """Files that count kills in a process's control group, and in each group above it.

    Args:
        process: Its folder in procfs.
    """
    for version, folder in group_folders(process):
        yield folder / (COUNTED_ALONE if version == 1 else "memory.events")


def read_oom_kill_count(path: Path) -> int | None:
    """Number of kills in such a file, or in /proc/vmstat; None if it cannot be read."""
    return read_line_count(path, "oom_kill")


def read_line_count(path: Path, wanted: str) -> int | None:
    """The number in a line "name number"; None where there is none."""
    try:
        text = b"\n" + read_whole(path)
    except (OSError, ValueError):  # ValueError: a path with a zero byte
        return None
    count = text.partition(f"\n{wanted} ".encode())[2].partition(b"\n")[0].strip()
    return int(count) if count.isdigit() and len(count) <= _MOST_DIGITS else None


def read_whole(path: Path | str) -> bytes:
    """All of a kernel file, which comes a page at a time; half the time of `Path.read_bytes`."""
    number = os.open(path, os.O_RDONLY)
    try:
        parts = list[bytes]()
        while part := os.read(number, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(number)


@dataclass(frozen=True, slots=True)
class _Mount:
    """Mount point of a hierarchy, and the group at that point."""

    at: Path
    root: PurePosixPath


def group_folders(proc: Path = Path("/proc/self")) -> Iterator[tuple[int, Path]]:
    """Version and folder of the memory groups of this process, each before the one above it.

    Args:
        proc: The process's folder in procfs.
    """
    try:
        groups, mounts = _read_texts(proc)
    except OSError:
        return
    yield from _memory_folders(groups, mounts)


def task_folders(proc: Path = Path("/proc/self")) -> Iterator[Path]:
    """Folders of this process's groups that may count tasks, each before the one above it.

    Args:
        proc: The process's folder in procfs.
    """
    try:
        groups, mounts = _read_texts(proc)
    except OSError:
        return
    yield from (folder for _, folder in _group_folders(groups, mounts, "pids"))


def _read_texts(proc: Path) -> tuple[str, str]:
    """The process's groups and mounts; a mount point may have a name in any encoding."""
    groups, mounts = [(proc / name).read_bytes() for name in ("cgroup", "mountinfo")]
    return os.fsdecode(groups), os.fsdecode(mounts)


def _memory_folders(groups: str, mounts: str) -> Iterator[tuple[int, Path]]:
    yield from _group_folders(groups, mounts, "memory")


@lru_cache(maxsize=8)
def _group_folders(groups: str, mounts: str, controller: str) -> tuple[tuple[int, Path], ...]:
    """Version and folder of the process's group and those above it, for one controller.

    Looked up every ten seconds, in mounts that stay: finding them takes 0.3 ms.
    """
    return tuple(_find_folders(groups, mounts, controller))


def _find_folders(groups: str, mounts: str, controller: str) -> Iterator[tuple[int, Path]]:
    for line in groups.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            yield from ((2, each) for each in _folders(_mounts_of(mounts, "cgroup2", ""), path))
        elif controller in controllers.split(","):
            mounted = _mounts_of(mounts, "cgroup", controller)
            yield from ((1, each) for each in _folders(mounted, path))


def _mounts_of(mounts: str, kind: str, option: str) -> list[_Mount]:
    matching: list[_Mount] = []
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split()
        tail = after.split()
        if len(fields) < 5 or len(tail) < 3 or tail[0] != kind:  # noqa: PLR2004 - proc(5)
            continue
        if not option or option in tail[2].split(","):
            matching.append(_Mount(Path(fields[4]), PurePosixPath(fields[3])))
    return matching


def _folders(mounts: list[_Mount], group: str) -> Iterator[Path]:
    for mount in mounts:
        folder = mount.at / _below(mount.root, PurePosixPath(group))
        while True:
            yield folder
            if folder == mount.at:
                break
            folder = folder.parent


def _below(root: PurePosixPath, group: PurePosixPath) -> PurePosixPath:
    # A container sees its own group mounted as the root, or paths of the host that lead nowhere.
    if ".." in group.parts or not group.is_relative_to(root):
        return PurePosixPath()
    return group.relative_to(root)


@dataclass(frozen=True, slots=True)
class ThrottlingCounter:
    """Counter of the time for which a group was kept from the processors.

    Attributes:
        path: The file; None: there is none.
        name: Name of its line.
        unit_s: Seconds of one count.
        absent: Why there is no counter.
    """

    path: Path | None = None
    name: str = ""
    unit_s: float = 1.0
    absent: str = ""

    @classmethod
    def find(cls, proc: Path = Path("/proc/self")) -> "ThrottlingCounter":
        """The counter of a process's group, or of the nearest above it that counts.

        Args:
            proc: The process's folder in procfs.
        """
        try:
            groups, mounts = _read_texts(proc)
        except OSError as exc:
            return cls(absent=f"the cgroups cannot be read: {exc}")
        for version, folder in _group_folders(groups, mounts, "cpu"):
            name, unit_s = ("throttled_usec", 1e-6) if version == 2 else ("throttled_time", 1e-9)  # noqa: PLR2004
            if read_line_count(folder / "cpu.stat", name) is not None:
                return cls(folder / "cpu.stat", name, unit_s)
        return cls(absent="no cgroup limits this process's CPU time")

    def read_s(self) -> float | None:
        """Throttled time since the group was created, seconds; None: unknown."""
        count = None if self.path is None else read_line_count(self.path, self.name)
        return None if count is None else self.unit_s * count
