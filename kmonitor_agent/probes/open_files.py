"""Open descriptors of this process: their number, and on demand their kinds and paths.

Kernels from 6.2 on give their number as the size of /proc/self/fd, for 3 us; before, the folder
is listed, for 0.3 ms with 700 of them. Kind and path of each cost 4 us, so they are read only
while the number rises.
"""

import os
from collections import Counter
from pathlib import Path
from typing import Final

import psutil

from kmonitor_agent.probes.held_memory import FAILURES, PROC
from kmonitor_agent.wire.messages.readings import Reading

try:
    import resource
except ImportError:  # Windows has none
    resource = None

_UNIT: Final = "files"
_SHARED_MEMORY: Final = "/dev/shm/"  # noqa: S108 - where POSIX shared memory is
_DELETED: Final = " (deleted)"
_KINDS: Final = {"socket": "socket", "pipe": "pipe", "anon_inode": "event"}
"""Kinds by the text before the colon, for targets that are not paths."""


def read_open_files(folder: Path = PROC / "self") -> Reading:
    """Number of descriptors that are open.

    Args:
        folder: Folder of this process in procfs.
    """
    path = f"{folder}/fd"
    try:
        count = os.stat(path).st_size  # noqa: PTH116 - each second, a third of the time
        if not count:  # a kernel before 6.2
            count = len(os.listdir(path)) - 1  # without the one that lists  # noqa: PTH208
        return Reading(float(count), _UNIT, f"process: {path}")
    except OSError:
        pass
    try:
        process = psutil.Process()
        read = getattr(process, "num_fds", None) or getattr(process, "num_handles", None)
        if read is None:
            return Reading.missing(
                _UNIT, "this system does not report the number of open file descriptors"
            )
        return Reading(float(read()), _UNIT, "process: psutil")
    except FAILURES as exc:
        return Reading.missing(_UNIT, f"open file descriptors cannot be counted: {exc}")


def read_open_files_limit() -> Reading:
    """Maximum number of descriptors of this process: its soft limit (`ulimit -n`)."""
    if resource is None:
        return Reading.missing(_UNIT, "this system has no limit on open file descriptors")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return Reading.missing(_UNIT, "the number of open file descriptors is not limited")
    return Reading(float(limit), _UNIT, "process: RLIMIT_NOFILE")


def describe_open_files(folder: Path = PROC / "self") -> Counter[tuple[str, str]]:
    """Number of descriptors by (kind, path); the path may be empty.

    Args:
        folder: Folder of this process in procfs.

    Raises:
        OSError: There is no procfs.
    """
    found: Counter[tuple[str, str]] = Counter()
    for number in os.listdir(folder / "fd"):  # noqa: PTH208 - names alone
        try:
            target = os.readlink(f"{folder}/fd/{number}")  # noqa: PTH115 - "socket:[7]" too
        except OSError:
            continue  # closed meanwhile
        found[_kind(target)] += 1
    return found


def _kind(target: str) -> tuple[str, str]:
    """Kind and path of a descriptor's target: "socket:[123]", "/data/a.bin"."""
    if not target.startswith("/"):
        kind, _, rest = target.partition(":")
        return _KINDS.get(kind, "other"), rest.strip("[]") if kind == "anon_inode" else ""
    if target.startswith(_SHARED_MEMORY):
        return "shared_memory", target.removesuffix(_DELETED)
    return "device" if target.startswith("/dev/") else "file", target.removesuffix(_DELETED)
