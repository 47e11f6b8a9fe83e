"""How often the kernel killed for want of memory: in this control group, and on this host."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.local.control_groups import group_folders

COUNTED_ALONE: Final = "memory.oom_control"
"""This file (version 1) counts its group's own kills; that of version 2 those below it too."""


@dataclass(frozen=True, slots=True)
class MemoryKills:
    """Two counters that only rise; None where there is none to read.

    Attributes:
        group: Of this process's control group, or the nearest above it that counts.
        group_source: The file.
        host: Of the whole host.
    """

    group: int | None = None
    group_source: str = ""
    host: int | None = None


def memory_kills(proc: Path = Path("/proc")) -> MemoryKills:
    """Read both counters.

    Args:
        proc: procfs.

    Source: https://docs.kernel.org/admin-guide/cgroup-v2.html (memory.events),
        cgroup-v1/memory.html (memory.oom_control), /proc/vmstat.
    """
    host = kills_in(proc / "vmstat")
    for path in kill_counters(proc / "self"):
        count = kills_in(path)
        if count is not None:
            return MemoryKills(count, str(path), host)
    return MemoryKills(host=host)


def kill_counters(process: Path) -> Iterator[Path]:
    """Where kills in a process's control group are counted, and in each group above it.

    Args:
        process: Its folder in procfs.
    """
    for version, folder in group_folders(process):
        yield folder / (COUNTED_ALONE if version == 1 else "memory.events")


def kills_in(path: Path) -> int | None:
    """What such a file, or /proc/vmstat, counts; None where it cannot be read."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, count = line.partition(" ")
        if name == "oom_kill" and count.strip().isdigit():
            return int(count)
    return None
