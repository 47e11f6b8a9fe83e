"""Files on disk: one that hides write failures from HDF5, and flushing in a thread."""

import contextlib
import ctypes
import functools
import operator
import os
import sys
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from kmonitor_agent.reclaim.deferred_signals import SIGNALS
from kmonitor_agent.wire.local.file_limit import check_file_limit

_WRITEBACK_BYTES: Final = 1024 * 1024
"""Minimum size of a piece that is written back to the disk at once, bytes."""

_START_WRITEBACK: Final = 2  # SYNC_FILE_RANGE_WRITE of Linux


class DiskFile:
    """A new file for `h5py.File(fileobj)`; its first failure is kept and raised at the end.

    HDF5 cannot close a file whose last writes fail: it keeps the descriptor, and with it the space
        of the deleted file, and fails again at the process's end. So a failed write is reported to
        HDF5 as done, as is one after the file was closed: a signal's handler may raise before
        HDF5 has closed its own.
    """

    def __init__(self, path: Path) -> None:
        """Create the file with mode 0600.

        Raises:
            OSError: The file exists already or cannot be created.
        """
        self.path = path
        self._failure: OSError | None = None
        self._is_flushed = False
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with SIGNALS.held():
            self._descriptor = os.open(path, flags, 0o600)
            self._file = os.fdopen(self._descriptor, "r+b", buffering=0)

    # A signal's handler may raise before `__enter__`: the file is closed without a warning then.
    # Called as C: Python would lose what a handler raises inside a `__del__` of ours.
    __del__ = property(operator.attrgetter("_file.close"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Flush to the disk, unless that is done, and close; raise the first failure."""
        with contextlib.closing(self._file):
            if self._failure is None and exc is None and not self._is_flushed:
                os.fsync(self._descriptor)
        if self._failure is not None:
            raise self._failure

    @contextlib.contextmanager
    def flushing(self) -> Generator[None]:
        """Flush to the disk while the block reads the file; done when the block ends.

        Raises:
            OSError: Writing had failed before, or the disk failed now.
        """
        if self._failure is not None:
            raise self._failure
        with BackgroundTask(functools.partial(os.fsync, self._descriptor)) as flushed:
            yield
        flushed.result()
        self._is_flushed = True

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size) or b""

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer as far as there are bytes; return their number."""
        return self._file.readinto(buffer) or 0

    def write(self, data: memoryview) -> int:
        """Write `data`, or nothing once a write has failed; always return the length of `data`."""
        rest = memoryview(data).cast("B")
        length = rest.nbytes
        self._is_flushed = False
        if self._file.closed:
            return length
        try:
            check_file_limit(self._file.tell() + length)
            while rest.nbytes and self._failure is None:
                rest = rest[self._file.write(rest) :]
            if length >= _WRITEBACK_BYTES and self._failure is None:
                _start_writeback(self._descriptor, self._file.tell() - length, length)
        except OSError as exc:
            self._failure = exc
        return length

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return offset if self._file.closed else self._file.seek(offset, whence)

    def tell(self) -> int:
        """Position, bytes."""
        return 0 if self._file.closed else self._file.tell()

    def truncate(self, size: int | None = None) -> int:
        wanted = self.tell() if size is None else size
        self._is_flushed = False
        try:
            if self._failure is None and not self._file.closed:
                check_file_limit(wanted)
                self._file.truncate(wanted)
        except OSError as exc:
            self._failure = exc
        return wanted

    def flush(self) -> None:
        """Do nothing: there is no buffer, and the disk is flushed once at the end."""


def _start_writeback(descriptor: int, offset: int, n_bytes: int) -> None:
    # Else all of it would begin its way with the flush at the end. Only a hint: the flush fails if
    # it did not reach the disk.
    start = _sync_file_range()
    if start is not None:
        start(descriptor, ctypes.c_int64(offset), ctypes.c_int64(n_bytes), _START_WRITEBACK)


@functools.cache
def _sync_file_range() -> Any:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "sync_file_range", None)


def fsync_folder(folder: Path) -> None:
    """Flush a folder, so that a renamed file's new name survives a power cut.

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


Result = TypeVar("Result")


class BackgroundTask(Generic[Result]):
    """`with BackgroundTask(work) as task:` runs `work` in a thread of its own during the block.

    Afterwards `task.result()` is its result.

    Args:
        work: Called once, after the block if no thread can start; must use no framework.
        end: Called when the block is left, to end work that waits for it; None: the work ends by
            itself.
    """

    def __init__(
        self, work: Callable[[], Result], *, end: Callable[[], None] | None = None
    ) -> None:
        self._work: Callable[[], Result] | None = work
        self._end = end
        self._results: list[Result] = []
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self.run, name="kmonitor-disk", daemon=True)

    def __enter__(self) -> Self:
        # Where no more threads can start the work is done after the block.
        with contextlib.suppress(RuntimeError):
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for the work; `result` raises its exception."""
        if self._end is not None:
            self._end()
        interrupt: BaseException | None = None
        while self._thread.is_alive():
            try:
                self._thread.join()
            except BaseException as caught:  # noqa: BLE001 - an interrupt comes when the work is done
                interrupt = caught
        self.run()
        if interrupt is not None:
            raise interrupt

    def result(self) -> Result:
        """Result of the work, after the block. Raises the exception of the work, if any."""
        if self._failure is not None:
            raise self._failure
        return self._results[0]

    def run(self) -> None:
        """Do the work, unless it was begun already."""
        work, self._work = self._work, None
        if work is None:
            return
        try:
            self._results.append(work())
        except BaseException as exc:  # noqa: BLE001 - `result` raises it
            self._failure = exc
