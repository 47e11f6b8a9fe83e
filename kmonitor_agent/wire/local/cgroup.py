"""The memory limit of this process's control group, version 1 and 2, nested groups included."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.local.control_groups import group_folders
from kmonitor_agent.wire.messages.reading import Reading

_LIMIT: Final = {1: "memory.limit_in_bytes", 2: "memory.max"}
_UNLIMITED_BYTES: Final = 1 << 60
"""Version 1 writes "no limit" as the largest multiple of a page, just below 2**63."""


def cgroup_limit(proc: Path = Path("/proc/self")) -> Reading:
    """The smallest memory limit of this process's group and all groups above it, bytes.

    Args:
        proc: The process's folder in procfs.

    Source: https://docs.kernel.org/admin-guide/cgroup-v2.html and cgroup-v1/memory.html.
    """
    if not (proc / "cgroup").is_file():
        return Reading.missing("bytes", "control groups are a Linux feature")
    found = [limit for limit in _limits(proc) if limit[0] < _UNLIMITED_BYTES]
    if not found:
        return Reading.missing("bytes", "no cgroup limits this process's memory")
    limit, path = min(found)
    return Reading(float(limit), "bytes", f"cgroup: {path}")


def _limits(proc: Path) -> Iterator[tuple[int, str]]:
    """Limits from the process's group up to the mount point."""
    for version, folder in group_folders(proc):
        path = folder / _LIMIT[version]
        limit = _read_limit(path)
        if limit is not None:
            yield limit, str(path)


def _read_limit(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
