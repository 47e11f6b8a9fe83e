"""Blocks of shared memory in /dev/shm that were made since this session began.

A block that nobody maps any more is in no process's memory, and stays until it is unlinked or the
host restarts. Who made it is written nowhere. So what counts is what this user made since the
session began, without what bears the process id of another living process in its name, as
PyTorch's and joblib's do.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kmonitor_agent.probes.pacing import Paced
from kmonitor_agent.wire.messages.readings import Reading

_FOLDER: Final = Path("/dev/shm")  # noqa: S108 - where POSIX shared memory is
_UNIT: Final = "bytes"
_CORE_FRACTION: Final = 0.0002
_BLOCK_BYTES: Final = 512
_PROCESS_ID: Final = re.compile(r"_(\d{2,7})(?=_|$)")
_MOST_BLOCKS: Final = 20_000


class SharedBlocks:
    """Reads them, as rarely as their number requires; owned by the agent's thread.

    Attributes:
        names: Of those counted last.
    """

    def __init__(self, folder: Path = _FOLDER, *, is_ours: Callable[[int], bool]) -> None:
        """Take those that are there for those of others.

        Args:
            folder: Where they lie.
            is_ours: Whether a process id is this process's or that of a child.
        """
        self.names: list[str] = []
        self._folder = folder
        self._is_ours = is_ours
        self._before: set[int] = set()
        self._newest = Paced(self._read_both, _CORE_FRACTION)
        self._why_not = ""
        try:
            self._before = {info.st_ino for _, info in _entries(folder)}
        except OSError as exc:
            self._why_not = f"shared memory cannot be listed: {exc.strerror}"

    def read(self) -> tuple[Reading, Reading]:
        """What they take, and what they can: the same and what is free there; bytes."""
        return self._newest.newest()

    def _read_both(self) -> tuple[Reading, Reading]:
        if self._why_not:
            missing = Reading.missing(_UNIT, self._why_not)
            return missing, missing
        try:
            used = self._read_used()
            free = os.statvfs(self._folder)
        except OSError as exc:
            missing = Reading.missing(_UNIT, f"{self._folder} cannot be read: {exc.strerror}")
            return missing, missing
        whole = (used.value or 0.0) + free.f_bavail * free.f_frsize
        return used, Reading(whole, _UNIT, f"what is held and what is free in {self._folder}")

    def _read_used(self) -> Reading:
        total = 0
        names = list[str]()
        seen = set[int]()
        for name, info in _entries(self._folder):
            seen.add(info.st_ino)
            if info.st_ino in self._before or info.st_uid != os.getuid():
                continue
            if not self._is_of_others(name):
                total += info.st_blocks * _BLOCK_BYTES
                names.append(name)
        self._before &= seen  # a number is given again once its block is gone
        self.names = names
        source = f"host: blocks in {self._folder} that this user created since the session started"
        return Reading(float(total), _UNIT, source)

    def _is_of_others(self, name: str) -> bool:
        for number in _PROCESS_ID.findall(name):
            if not self._is_ours(int(number)) and Path(f"/proc/{number}").exists():
                return True
        return False


def _entries(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Files there, and in folders right below it, as joblib makes them."""
    left = _MOST_BLOCKS
    for entry in os.scandir(folder):
        left -= 1
        if left < 0:
            return
        try:
            if entry.is_dir(follow_symlinks=False):
                inner = [(f"{entry.name}/{each.name}", each) for each in os.scandir(entry.path)]
                left -= len(inner)
            else:
                inner = [(entry.name, entry)]
            for name, each in inner:
                if each.is_file(follow_symlinks=False):
                    yield name, each.stat(follow_symlinks=False)
        except OSError:
            continue  # gone meanwhile, or another user's
