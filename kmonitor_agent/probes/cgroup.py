"""The memory limit of this process's control group, version 1 and 2, nested groups included."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from kmonitor_agent.reading import Reading

_UNLIMITED_BYTES: Final = 1 << 60
"""Version 1 writes "no limit" as the largest multiple of a page, just below 2**63."""


@dataclass(frozen=True, slots=True)
class _Mount:
    """Where a hierarchy is mounted, and which of its groups stands at the mount point."""

    at: Path
    root: PurePosixPath


def cgroup_limit(proc: Path = Path("/proc/self")) -> Reading:
    """The smallest memory limit of this process's group and all groups above it, bytes.

    Args:
        proc: The process's folder in procfs.

    Source: https://docs.kernel.org/admin-guide/cgroup-v2.html and cgroup-v1/memory.html.
    """
    try:
        groups = (proc / "cgroup").read_text()
        mounts = (proc / "mountinfo").read_text()
    except OSError:
        return Reading.missing("bytes", "control groups are a Linux feature")
    found = [limit for limit in _limits(groups, mounts) if limit[0] < _UNLIMITED_BYTES]
    if not found:
        return Reading.missing("bytes", "no cgroup limits this process's memory")
    limit, path = min(found)
    return Reading(float(limit), "bytes", f"cgroup: {path}")


def group_folders(proc: Path = Path("/proc/self")) -> Iterator[tuple[int, Path]]:
    """Version and folder of the memory groups of this process, each before the one above it.

    Args:
        proc: The process's folder in procfs.
    """
    try:
        groups = (proc / "cgroup").read_text()
        mounts = (proc / "mountinfo").read_text()
    except OSError:
        return
    for line in groups.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            yield from ((2, each) for each in _folders(_mounts_of(mounts, "cgroup2", ""), path))
        elif "memory" in controllers.split(","):
            mounted = _mounts_of(mounts, "cgroup", "memory")
            yield from ((1, each) for each in _folders(mounted, path))


def _limits(groups: str, mounts: str) -> Iterator[tuple[int, str]]:
    for line in groups.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            yield from _walk(_mounts_of(mounts, "cgroup2", ""), path, "memory.max")
        elif "memory" in controllers.split(","):
            mounted = _mounts_of(mounts, "cgroup", "memory")
            yield from _walk(mounted, path, "memory.limit_in_bytes")


def _mounts_of(mounts: str, kind: str, option: str) -> list[_Mount]:
    found: list[_Mount] = []
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, tail = before.split(), after.split()
        if len(fields) < 5 or len(tail) < 3 or tail[0] != kind:  # noqa: PLR2004 - proc(5)
            continue
        if not option or option in tail[2].split(","):
            found.append(_Mount(Path(fields[4]), PurePosixPath(fields[3])))
    return found


def _walk(mounts: list[_Mount], group: str, file: str) -> Iterator[tuple[int, str]]:
    """Limits from the process's group up to the mount point."""
    for folder in _folders(mounts, group):
        limit = _read_limit(folder / file)
        if limit is not None:
            yield limit, str(folder / file)


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


def _read_limit(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
