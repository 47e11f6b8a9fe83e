"""A file that HDF5 writes to without ever learning that the disk is full."""

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self


class DiskFile:
    """A new file for `h5py.File(fileobj)`; its first failure is kept and raised at the end.

    HDF5 cannot close a file whose last writes fail: it keeps the descriptor, and with it the room
    of the deleted file, and fails again at the process's end. So a write that fails here is
    reported to HDF5 as done.
    """

    def __init__(self, path: Path) -> None:
        """Make the file, of mode 0600.

        Raises:
            OSError: It is there already or cannot be made.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(path, flags, 0o600)
        self._file = os.fdopen(self._descriptor, "r+b", buffering=0)
        self._failure: OSError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Flush to the disk and close; raise what failed first."""
        with contextlib.closing(self._file):
            if self._failure is None and exc is None:
                os.fsync(self._descriptor)
        if self._failure is not None:
            raise self._failure

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes from here on."""
        return self._file.read(size) or b""

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer as far as there are bytes."""
        return self._file.readinto(buffer) or 0

    def write(self, data: memoryview) -> int:
        """All of it, or nothing more once something failed; always the length of `data`."""
        rest = memoryview(data).cast("B")
        length = rest.nbytes
        try:
            while rest.nbytes and self._failure is None:
                rest = rest[self._file.write(rest) :]
        except OSError as exc:
            self._failure = exc
        return length

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Where it is, bytes."""
        return self._file.tell()

    def truncate(self, size: int | None = None) -> int:
        """Set the length."""
        wanted = self._file.tell() if size is None else size
        try:
            if self._failure is None:
                self._file.truncate(wanted)
        except OSError as exc:
            self._failure = exc
        return wanted

    def flush(self) -> None:
        """Nothing: there is no buffer, and the disk is flushed once at the end."""


def flush_folder(folder: Path) -> None:
    """Let a renamed file's new name survive a power cut.

    Raises:
        OSError: The disk failed.
    """
    if os.name != "posix":  # Windows knows no handle of a folder to flush
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
