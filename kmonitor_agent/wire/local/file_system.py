"""File systems: the kind that a path lies on, and checks of a path on a disk that may hang."""

import contextlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

NETWORK_FILE_SYSTEMS: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afpfs", "webdav", "afs", "9p", "network drive"}
    | {"lustre", "gpfs", "beegfs", "beegfs_nodev", "ceph", "pvfs2", "orangefs", "panfs", "wekafs"}
    | {"virtiofs", "vboxsf", "prl_fs", "gfs2", "ocfs2", "fuse.sshfs", "fuse.s3fs", "fuse.ceph"}
    | {"fuse.glusterfs"}
    | {"fuse.juicefs", "fuse.gcsfuse", "fuse.rclone", "fuse.blobfuse2"}
)
"""File systems on which locks of other machines cannot be trusted, and sockets do not work between
machines.

Source: `/proc/self/mountinfo` (Linux), psutil's `fstype` (macOS), drive kind (Windows).
"""

_MOUNTS: Final = Path("/proc/self/mountinfo")
_OCTAL: Final = re.compile(r"\\([0-7]{3})")

Mount = tuple[str, str]
"""Mount point and kind of file system."""


def file_system_of(path: Path, mounts: Iterable[Mount] | None = None) -> str:
    """The kind of file system that a path lies on or would lie on; empty if unknown.

    Args:
        path: Need not exist.
        mounts: Mounts, the newest last; None: those of the system.
    """
    best = -1
    kind = ""
    resolved = Path(os.path.realpath(path))
    for point, its_kind in mounted() if mounts is None else mounts:
        root = Path(point)
        depth = len(root.parts)
        # A later mount hides an earlier one of the same place.
        if depth >= best and (root == resolved or root in resolved.parents):
            best = depth
            kind = its_kind
    return kind


def is_on_network_file_system(path: Path) -> bool:
    """True if a path lies on a file system that other machines see too, as far as known."""
    return file_system_of(path) in NETWORK_FILE_SYSTEMS


def mounted() -> list[Mount]:
    """All mounts of this system, the newest last; empty if the system does not list them."""
    if sys.platform == "linux":
        try:
            lines = _MOUNTS.read_text("utf-8", "surrogateescape").splitlines()
        except OSError:
            return []
        return [mount for line in lines if (mount := parse_mount(line)) is not None]
    return _mounted_elsewhere()


def parse_mount(line: str) -> Mount | None:
    """One line of `mountinfo`; None if it is not valid. Source: proc(5)."""
    before, dash, after = line.partition(" - ")
    fields = before.split(" ")
    kinds = after.split(" ")
    if not dash or len(fields) < 5 or not kinds[0]:  # noqa: PLR2004 - the mount point is the fifth
        return None
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4]), kinds[0]


def _mounted_elsewhere() -> list[Mount]:
    import psutil  # noqa: PLC0415 - not needed on Linux

    return [
        (each.mountpoint, "network drive" if "remote" in each.opts.split(",") else each.fstype)
        for each in psutil.disk_partitions(all=True)
    ]


CHECK_S: Final = 0.5
"""Time that a disk may take to answer, seconds; after a hang only an answer allows a new check."""

_NAME: Final = "kmonitor-look"


class BoundedPathCheck:
    """Checks a path within a bounded time, on a thread of its own; any thread may call it."""

    def __init__(self, within_s: float = CHECK_S) -> None:
        """Args: `within_s`: Maximum time to wait for an answer, seconds."""
        self._within_s = within_s
        self._asking: threading.Thread | None = None

    def sees(self, path: Path, check: Callable[[Path], bool]) -> bool:
        """True if `check` is true of a path; False if there is no answer in time.

        Args:
            check: `Path.is_file` or `Path.is_dir`.
        """
        if self._asking is not None and self._asking.is_alive():
            return False
        answers: list[bool] = []

        def ask() -> None:
            with contextlib.suppress(OSError, ValueError):  # may not be checked: no answer
                answers.append(check(path))

        asking = threading.Thread(target=ask, name=_NAME, daemon=True)
        try:
            asking.start()
        except RuntimeError:  # no thread can be had: nothing is checked
            return False
        self._asking = asking
        asking.join(self._within_s)
        return answers == [True]


DISK: Final = BoundedPathCheck()
"""The check that this process shares."""
