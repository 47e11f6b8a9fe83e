"""The lock on a run's spool: whoever holds it knows that no other process writes there."""

import os
import sys
from pathlib import Path

from kmonitor_agent.wire.local.own_descriptor import OwnDescriptor
from kmonitor_agent.wire.local.private_files import KEY_BYTES, open_plain

LOCK_NAME = "lock"
"""File name of the lock in a run's folder; it may lie there unheld."""


class FolderLock:
    """An advisory lock that ends with its process, however that dies.

    `flock` and not `lockf`: the latter is lost as soon as any descriptor of the file is closed in
    the process, and does not hold between two owners in one process. A forked child shares the
    lock until it calls `forget_in_child`.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = OwnDescriptor(descriptor)

    @classmethod
    def acquire(cls, folder: Path, name: str = LOCK_NAME) -> "FolderLock | None":
        """The lock of a folder, of a run's or of that name; None while another process holds it.

        Raises:
            OSError: The folder is gone, read-only, or its file system knows no locks.
        """
        path = folder / name
        while True:
            descriptor = open_plain(path, os.O_RDWR | os.O_CREAT, limit_bytes=KEY_BYTES)
            try:
                if not _lock(descriptor):
                    os.close(descriptor)
                    return None
                if _is_still(path, descriptor):
                    return cls(descriptor)
            except OSError:
                os.close(descriptor)
                raise
            # Its last owner deleted the file between our open and our lock: take the new one.
            os.close(descriptor)

    def release(self) -> None:
        """Release the lock; again is harmless."""
        self._descriptor.close()

    def is_held(self) -> bool:
        """False once it was released, or the script closed its descriptor."""
        return self._descriptor.is_ours()

    def forget_in_child(self) -> None:
        """Close a forked child's copy; the parent's lock stays."""
        self.release()


def is_locked(folder: Path) -> bool:
    """True if a process holds a folder's lock, or if that is unknown.

    The check takes the lock for some microseconds, shared with other checks.
    """
    if sys.platform == "win32":
        return True
    try:
        descriptor = open_plain(folder / LOCK_NAME, os.O_RDONLY, limit_bytes=KEY_BYTES)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
