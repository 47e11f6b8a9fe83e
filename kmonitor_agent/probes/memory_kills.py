"""How often the kernel killed for want of memory: in this control group, and on this host."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kmonitor_agent.probes.cgroup import group_folders


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
    host = _count_in(proc / "vmstat")
    for path in _counters(proc / "self"):
        count = _count_in(path)
        if count is not None:
            return MemoryKills(count, str(path), host)
    return MemoryKills(host=host)


def _counters(process: Path) -> Iterator[Path]:
    for version, folder in group_folders(process):
        yield folder / ("memory.oom_control" if version == 1 else "memory.events")


def _count_in(path: Path) -> int | None:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, count = line.partition(" ")
        if name == "oom_kill" and count.strip().isdigit():
            return int(count)
    return None
