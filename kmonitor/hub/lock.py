"""One hub per runtime folder and per database: a lock that dies with its process."""

import errno
import os
from pathlib import Path
from typing import Any

from kmonitor.base.errors import UserError
from kmonitor_agent.wire.local.private_files import KEY_BYTES, open_plain

_LOCKED_BYTE = 4096
_HELD = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
"""Error codes of a lock that another process has; other codes mean that there are no locks."""


class AnotherHub(UserError):
    """Another hub holds the lock.

    Attributes:
        path: The lock's file.
        pid: Process id that the holder wrote into it; empty if nothing.
    """

    def __init__(self, path: Path, pid: str) -> None:
        who = f"process {pid}" if pid else "another process"
        super().__init__(
            f"A hub is already running here ({who} holds {path}).",
            "Check whether it is responding: kmonitor hub status   Stop it: kmonitor hub stop",
        )
        self.path = path
        self.pid = pid


class HubLock:
    """An exclusive lock on a file, held until `release` or the end of the process."""

    def __init__(self, path: Path) -> None:
        """Take the lock.

        Raises:
            AnotherHub: Another hub holds it.
            OSError: The file cannot be made, locked or written.
        """
        self._path = path
        self._fd = open_plain(path, os.O_RDWR | os.O_CREAT, limit_bytes=KEY_BYTES, own=True)
        try:
            _lock(self._fd)
        except OSError as exc:
            pid = os.read(self._fd, 32).decode("ascii", "replace").strip()
            os.close(self._fd)
            if exc.errno in _HELD:
                raise AnotherHub(path, pid) from exc
            raise
        try:
            os.ftruncate(self._fd, 0)
            os.write(self._fd, str(os.getpid()).encode())
        except OSError:
            os.close(self._fd)
            raise

    def is_in_place(self) -> bool:
        """True if the locked file still lies at its path."""
        try:
            found = self._path.lstat()
        except OSError:
            return False
        ours = os.fstat(self._fd)
        return (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)

    def release(self) -> None:
        """Give the lock up; the file stays, since removing it would race with the next hub."""
        os.close(self._fd)


def _lock(fd: int) -> None:
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        _lock_byte(fd)
        return
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_byte(fd: int) -> None:
    """As Windows has it: one byte, beyond what the holder writes, which others may read."""
    import msvcrt  # noqa: PLC0415 - only on Windows

    windows: Any = msvcrt
    os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
    windows.locking(fd, windows.LK_NBLCK, 1)
    os.lseek(fd, 0, os.SEEK_SET)
