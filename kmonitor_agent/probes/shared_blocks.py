"""Blocks of shared memory in /dev/shm that the run created, among those of everybody.

A block that nobody maps any more is in no process's memory, and stays until it is unlinked or the
host restarts. Its creator is recorded nowhere. So a block that appears is attributed by evidence,
the best first:

- This process or a descendant has it mapped or open, or has its process id in the block's name,
  as PyTorch and joblib write it. From then on it is the run's, also once it is closed: the blocks
  that are closed and left behind are the leak to find.
- Another process of this user has it mapped, or has its process id in the name: it is not the
  run's.
- No process has it: it was created and closed between two readings. Only its name can say more. It
  counts if the run is known to create blocks whose names begin like this one ("psm_" once Python's
  `multiprocessing.shared_memory` is loaded, others once one was seen with the run), and no other
  process was seen with such a block. Else it is not counted.

Two trainings of one user that both close Python's blocks at once, without unlinking them, cannot
be told apart: each counts those of both.

The processes are read only when a block has appeared, and for what nobody of the run has again
after pauses that double. Measured: 1 ms for a process with 2000 maps, 2 ms to find those of 80
other processes that have shared memory; /proc/PID/map_files needs a capability, and the targets of
1000 descriptors take 4 ms.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final

from kmonitor_agent.probes.held_memory import PROC
from kmonitor_agent.probes.pacing import Paced
from kmonitor_agent.wire.local.control_groups import read_whole
from kmonitor_agent.wire.messages.readings import Reading

_SHARED_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - where POSIX shared memory is
_UNIT: Final = "bytes"
_LISTING_CORE_FRACTION: Final = 0.0002
_SEARCH_CORE_FRACTION: Final = 0.002
_AGAIN_S: Final = 2.0
"""First pause before blocks that nobody of the run has are searched for again, seconds."""

_BLOCK_BYTES: Final = 512
_MOST_BLOCKS: Final = 20_000
_MOST_PROCESSES: Final = 300
_MOST_DESCRIPTORS: Final = 200
_MOST_ANCESTORS: Final = 32

_FIELDS_BEFORE_PATH: Final = 5

_PROCESS_ID: Final = re.compile(r"_(\d{2,7})(?=_|$)")
_KIND: Final = re.compile(r"[^\d_-]+[_-]?")
_PYTHON_KIND: Final = "psm_"
_PYTHON_MODULE: Final = "_posixshmem"


class SharedBlocks:
    """Reads blocks of shared memory, as rarely as their number requires; agent's thread.

    Attributes:
        names: Names of the blocks counted last.
    """

    def __init__(
        self,
        folder: Path = _SHARED_MEMORY,
        *,
        children: Callable[[], Collection[int]],
        proc: Path = PROC,
    ) -> None:
        """Blocks that exist already count as those of other processes.

        Args:
            children: Returns the process ids of this process's descendants, as last listed.
        """
        self.names: list[str] = []
        self._folder = folder
        self._before: set[int] = set()
        self._owners = BlockOwners(folder, children, proc)
        self._listing = Paced(self._list, _LISTING_CORE_FRACTION)
        self._newest = Reading.missing(_UNIT, ""), Reading.missing(_UNIT, "")
        self._why_not = ""
        try:
            self._before = {info.st_ino for _, info in _entries(folder)}
        except OSError as exc:
            self._why_not = f"shared memory cannot be listed: {exc.strerror}"

    def read(self) -> tuple[Reading, Reading]:
        """Memory that the blocks take, and the same plus the free space there, bytes."""
        if self._why_not:
            missing = Reading.missing(_UNIT, self._why_not)
            return missing, missing
        is_listed = self._listing.is_due
        try:
            blocks = self._listing.newest()
            if self._owners.search(blocks) or is_listed:
                self._newest = self._count(blocks)
        except OSError as exc:
            missing = Reading.missing(_UNIT, f"{self._folder} cannot be read: {exc.strerror}")
            self._newest = missing, missing
        return self._newest

    def _list(self) -> "_Blocks":
        """Inodes of the blocks that this user created since the start, with name and bytes."""
        blocks: _Blocks = {}
        seen = set[int]()
        for name, info in _entries(self._folder):
            seen.add(info.st_ino)
            if info.st_ino not in self._before and info.st_uid == os.getuid():
                blocks[info.st_ino] = name, info.st_blocks * _BLOCK_BYTES
        self._before &= seen  # a number is given again once its block is gone
        return blocks

    def _count(self, blocks: "_Blocks") -> tuple[Reading, Reading]:
        total = 0
        names = list[str]()
        for inode, (name, n_bytes) in blocks.items():
            if self._owners.is_of_run(inode, name):
                total += n_bytes
                names.append(name)
        self.names = names
        free = os.statvfs(self._folder)
        source = (
            f"host: blocks in {self._folder}, created since the session started, that this process"
            " or its children had open at a reading; a block that was closed before counts if the"
            " run creates blocks with such names, and no other process was seen with one"
        )
        used = Reading(float(total), _UNIT, source)
        whole = total + free.f_bavail * free.f_frsize
        return used, Reading(float(whole), _UNIT, f"used plus free space in {self._folder}")


_Blocks = dict[int, tuple[str, int]]
"""Name and bytes by inode."""


class BlockOwners:
    """Attributes blocks to the run or to others; agent's thread."""

    def __init__(self, folder: Path, children: Callable[[], Collection[int]], proc: Path) -> None:
        self._marker = os.fsencode(os.path.realpath(folder)) + b"/"
        self._children = children
        self._proc = proc
        self._of_run: set[int] = set()
        self._of_others: set[int] = set()
        self._searched: set[int] = set()
        self._run_kinds: set[str] = set()
        self._other_kinds: set[str] = set()
        self._family: set[int] = set()
        self._not_before_s = self._again_s = 0.0
        self._pause_s = _AGAIN_S

    def is_of_run(self, inode: int, name: str) -> bool:
        """True if a block counts as the run's."""
        if inode in self._of_run:
            return True
        # At once, not only after the next search: an even growth is to be seen as such.
        kind = _kind(name)
        is_like_run = kind in self._run_kinds and kind not in self._other_kinds
        return is_like_run and inode not in self._of_others

    def search(self, blocks: _Blocks) -> bool:
        """Search the processes for blocks that are not the run's yet; False if none are due."""
        for known in (self._of_run, self._of_others, self._searched):
            known.intersection_update(blocks)
        pending = blocks.keys() - self._of_run
        is_new = not pending <= self._searched
        now_s = time.monotonic()
        if not pending or now_s < (self._not_before_s if is_new else self._again_s):
            return False
        began_s = time.thread_time()
        self._family.update(self._children())
        if _PYTHON_MODULE in sys.modules:
            self._run_kinds.add(_PYTHON_KIND)
        self._attribute(blocks, pending)
        self._searched |= pending
        took_s = time.thread_time() - began_s
        self._pause_s = _AGAIN_S if is_new else 2 * self._pause_s
        self._not_before_s = now_s + took_s / _SEARCH_CORE_FRACTION
        self._again_s = max(self._not_before_s, now_s + self._pause_s)
        return True

    def _attribute(self, blocks: _Blocks, pending: set[int]) -> None:
        """Find the owners of blocks; what belongs to the run leaves `pending`."""
        self._apply_names(blocks, pending)
        run = ["self", *map(str, self._children())]
        for find in (self._mapped_by_run, self._opened):
            for pid in run:
                if not pending:
                    return
                self._add_to_run(find(pid), blocks, pending)
        # Once another process has such blocks, one that nobody of the run has cannot count.
        if any(_kind(blocks[inode][0]) not in self._other_kinds for inode in pending):
            self._search_others(blocks, pending)

    def _add_to_run(self, found: set[int], blocks: _Blocks, pending: set[int]) -> None:
        found &= pending
        self._run_kinds.update(_kind(blocks[inode][0]) for inode in found)
        self._of_run |= found
        pending -= found

    def _apply_names(self, blocks: _Blocks, pending: set[int]) -> None:
        by_pid: dict[int, bool | None] = {}
        for inode in tuple(pending):
            for number in map(int, _PROCESS_ID.findall(blocks[inode][0])):
                if number not in by_pid:
                    by_pid[number] = self._is_in_run(number)
                if by_pid[number]:
                    self._of_run.add(inode)
                    pending.discard(inode)
                elif by_pid[number] is False:
                    self._of_others.add(inode)

    def _is_in_run(self, pid: int) -> bool | None:
        """True if a process is this one or a descendant; None if it is unknown and ended."""
        if pid == os.getpid() or pid in self._family:
            return True
        if not (self._proc / str(pid)).exists():
            return None
        parent = pid
        for _ in range(_MOST_ANCESTORS):
            parent = _number_of(self._status(parent), b"PPid:")
            if parent == os.getpid():
                return True
            if parent <= 1:
                break
        return False

    def _search_others(self, blocks: _Blocks, pending: set[int]) -> None:
        for pid in self._processes():
            # A process that has a block has written to it or read it, all but always.
            if pid in self._family or not _number_of(self._status(pid), b"RssShmem:"):
                continue
            if self._is_in_run(pid):  # started since the children were listed
                self._family.add(pid)
                self._add_to_run(self._mapped_by_run(str(pid)), blocks, pending)
                continue
            mapped = _mapped(self._read(str(pid), "maps"), self._marker)
            self._other_kinds.update(map(_kind, mapped.values()))
            self._of_others |= mapped.keys() & pending

    def _processes(self) -> list[int]:
        """This user's processes without this one."""
        found = list[int]()
        for name in os.listdir(self._proc):  # noqa: PTH208 - names alone
            if not name.isdecimal() or int(name) == os.getpid():
                continue
            try:
                is_users = os.stat(self._proc / name).st_uid == os.getuid()  # noqa: PTH116
            except OSError:
                continue  # ended meanwhile
            if is_users:
                found.append(int(name))
            if len(found) >= _MOST_PROCESSES:
                break
        return found

    def _mapped_by_run(self, pid: str) -> set[int]:
        text = self._read(pid, "maps")
        if f"/{_PYTHON_MODULE}.".encode() in text:
            self._run_kinds.add(_PYTHON_KIND)
        return set(_mapped(text, self._marker))

    def _opened(self, pid: str) -> set[int]:
        """Inodes of the files of the folder that a process has open."""
        folder = f"{self._proc}/{pid}/fd"
        marker = os.fsdecode(self._marker)
        found = set[int]()
        try:
            numbers = os.listdir(folder)  # noqa: PTH208 - names alone
        except OSError:
            return found
        for number in numbers[-_MOST_DESCRIPTORS:]:
            path = f"{folder}/{number}"
            try:
                if os.readlink(path).startswith(marker):  # noqa: PTH115 - "socket:[7]" too
                    found.add(os.stat(path).st_ino)  # noqa: PTH116
            except OSError:
                continue  # closed meanwhile
        return found

    def _status(self, pid: int) -> bytes:
        return self._read(str(pid), "status")

    def _read(self, pid: str, name: str) -> bytes:
        try:
            return read_whole(f"{self._proc}/{pid}/{name}")
        except OSError:
            return b""  # ended meanwhile, or another user's


def _kind(name: str) -> str:
    """Begin of a block's name up to the first digit or separator: "psm_"; may be empty."""
    found = _KIND.match(name)
    return "" if found is None else found.group()


def _mapped(text: bytes, marker: bytes) -> dict[int, str]:
    """Names of mapped files of a folder by inode. Source: proc_pid_maps(5)."""
    found: dict[int, str] = {}
    at = text.find(marker)
    while at >= 0:
        end = text.find(b"\n", at)
        end = len(text) if end < 0 else end
        fields = text[text.rfind(b"\n", 0, at) + 1 : at].split()
        if len(fields) == _FIELDS_BEFORE_PATH and fields[4].isdigit():
            found[int(fields[4])] = os.fsdecode(text[at + len(marker) : end])
        at = text.find(marker, end)
    return found


def _number_of(status: bytes, field: bytes) -> int:
    """Number of a field of /proc/PID/status; 0 if it is absent."""
    _, _, rest = status.partition(b"\n" + field)
    first = rest[:32].split(maxsplit=1)
    return int(first[0]) if first and first[0].isdigit() else 0


def _entries(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Files in the folder, and in folders directly below it, as joblib creates them."""
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
