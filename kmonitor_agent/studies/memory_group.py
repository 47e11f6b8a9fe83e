"""A control group for one fold, where this user may make one: the kernel keeps the bound."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.local.control_groups import group_folders

_LIMIT: Final = {1: "memory.limit_in_bytes", 2: "memory.max"}
_SWAP: Final = {1: "memory.memsw.limit_in_bytes", 2: "memory.swap.max"}
_KILLS: Final = {1: "memory.oom_control", 2: "memory.events"}
_PEAK: Final = {1: "memory.max_usage_in_bytes", 2: "memory.peak"}
_PREFIX: Final = "kmonitor-fold-"
_EMPTY_WITHIN_S: Final = 2.0


class MemoryGroup:
    """The group of one fold's processes; owned by the thread that runs the study."""

    def __init__(self, version: int, folder: Path) -> None:
        """Keep the place of a group that exists."""
        self._version = version
        self._folder = folder

    @classmethod
    def made(cls, bound_bytes: int, name: str) -> "MemoryGroup | None":
        """A group with this bound; None where none can be made, as is usual for plain users.

        Args:
            bound_bytes: Most memory that its processes together may have.
            name: Unlike any other.
        """
        for version, above in group_folders():
            folder = above / f"{_PREFIX}{name}"
            group = cls(version, folder)
            try:
                folder.mkdir()
                (folder / _LIMIT[version]).write_text(str(bound_bytes))
            except OSError:
                group.remove()
                continue
            with suppress(OSError):  # a kernel that does not count swap
                (folder / _SWAP[version]).write_text(str(bound_bytes if version == 1 else 0))
            with suppress(OSError):  # version 2: all of it goes, or nothing
                if version != 1:
                    (folder / "memory.oom.group").write_text("1")
            return group
        return None

    def join(self, pid: int) -> bool:
        """Have a process and what it starts later in it; False when that is not allowed."""
        try:
            (self._folder / "cgroup.procs").write_text(str(pid))
        except OSError:
            return False
        return True

    def kills(self) -> int:
        """How often the kernel killed in it for want of memory."""
        with suppress(OSError, ValueError):
            for line in (self._folder / _KILLS[self._version]).read_text().splitlines():
                name, _, count = line.partition(" ")
                if name == "oom_kill":
                    return int(count)
        return 0

    @property
    def peak_name(self) -> str:
        """The kernel's file that tells `peak_bytes`."""
        return _PEAK[self._version]

    def peak_bytes(self) -> int:
        """Most that it held, pages of files read included; 0 where the kernel does not tell."""
        with suppress(OSError, ValueError):
            return int((self._folder / self.peak_name).read_text())
        return 0

    def remove(self) -> bool:
        """Take it away; False while somebody is still in it."""
        try:
            self._folder.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def remove_soon(self) -> None:
        """Take it away; waits for those who tidy up, for two seconds at most."""
        end_s = time.monotonic() + _EMPTY_WITHIN_S
        while not self.remove() and time.monotonic() < end_s:
            time.sleep(0.02)
