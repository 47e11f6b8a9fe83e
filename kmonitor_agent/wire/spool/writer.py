"""Appends a run's events to its spool folder; when the disk is full, into a reserve of room.

On the agent's thread only. Any failure leaves whole records on disk.
"""

import contextlib
import errno
import os
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.local.file_limit import check_file_limit
from kmonitor_agent.wire.local.own_descriptor import OwnDescriptor
from kmonitor_agent.wire.local.private_files import (
    make_own_folder,
    make_private_folder,
    open_new,
    open_plain,
    write_all,
)
from kmonitor_agent.wire.messages.events import (
    Diagnosis,
    EpochEnded,
    EpochStarted,
    Event,
    FieldSources,
    GraphSize,
    LayoutPart,
    ModelFacts,
    ObjectsCounted,
    Sample,
)
from kmonitor_agent.wire.spool.folder import RunSpool
from kmonitor_agent.wire.spool.format import (
    RESERVE_NAME,
    SEGMENT_BYTES,
    SEGMENT_S,
    SessionFacts,
    SpoolRecord,
    encode_record,
    segment_head,
    segment_name,
)


class SpoolLocked(Exception):
    """Another living process has this run's spool."""


class SpoolWriter:
    """Owns the active segment of a run's spool.

    Attributes:
        n_bytes: Bytes written by this session, minus those freed.
        was_removed: True once the files of this process were removed.
    """

    def __init__(
        self, root: Path, facts: SessionFacts, clock: Clock, *, state: Path | None = None
    ) -> None:
        """Nothing is created before `open`.

        Args:
            clock: Measures the age of a segment.
            state: The state folder; if the root lies below it, it must be this user's too.
        """
        self.root = root
        self._state = state
        self.n_bytes = 0
        self._facts = facts
        self._clock = clock
        self._spool: RunSpool | None = None
        self._wrote_up_to = 0
        self.was_removed = False
        self._descriptor: OwnDescriptor | None = None
        self._segment: Path | None = None
        self._segment_bytes = 0
        self._segment_since_s = 0.0

    @property
    def facts(self) -> SessionFacts:
        return self._facts

    @property
    def spool(self) -> RunSpool | None:
        """The run's folder once it is open."""
        return self._spool

    def open(self, *, last_seq: int = 0) -> RunSpool:
        """Find or create the run's folder and take its lock.

        Args:
            last_seq: Largest number that this process has assigned; events of the folder would
                clash with it unless this process wrote them.

        Raises:
            SpoolLocked: Another process has it, or it is not new.
            NotPrivate: Others could read or write there.
            OSError: The disk refused.
        """
        try:
            spool = self._acquire()
        except FileNotFoundError:
            # A hub that clears empty folders was faster than our lock: make it once more.
            spool = self._acquire()
        if spool is None:
            raise SpoolLocked
        if last_seq and spool.last_seq > self._wrote_up_to:
            spool.close()
            raise SpoolLocked
        self._wrote_up_to = max(self._wrote_up_to, spool.last_seq)
        self._spool = spool
        if self._is_removed():
            self._drop_descriptor()
        spool.active = None if self._descriptor is None else self._segment
        return spool

    def rest(self) -> None:
        """Let others read and free the present events, until `open` is called again."""
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    def write(self, records: Sequence[SpoolRecord]) -> None:
        """Append events; all of them or, on error, none.

        Raises:
            OSError: The disk refused, or the spool is not open.
        """
        self._drop_what_is_lost()
        if self._is_removed():
            self._abandon()
        spool = self._spool
        if spool is None:
            raise FileNotFoundError(errno.ENOENT, "the spool is not open")
        if self._is_full():
            self._close_segment()
        if self._descriptor is None:
            self._begin_segment(spool, records[0].seq)
        self._append(b"".join(encode_record(*record) for record in records))
        spool.wrote(records[-1].seq)
        self._wrote_up_to = max(self._wrote_up_to, records[-1].seq)

    def leave_segment(self) -> None:
        """Begin a new segment with the next events."""
        self._drop_descriptor()

    def close(self) -> None:
        """Close the segment and release the lock; again is harmless.

        No sync here: it could take longer than a process may be kept from ending.
        """
        self._drop_descriptor()
        if self._spool is not None:
            self._spool.close()

    def forget_in_child(self) -> None:
        """In a forked child: close the copies, leave the parent's lock."""
        self._drop_descriptor()
        if self._spool is not None:
            self._spool.forget_in_child()

    def _acquire(self) -> RunSpool | None:
        folder = self.root / self._facts.run
        if self._state is not None and self.root.is_relative_to(self._state):
            make_own_folder(self._state)
        make_private_folder(self.root)
        make_private_folder(folder)
        return RunSpool.acquire(folder)

    def _is_removed(self) -> bool:
        """True if the segment was deleted: data written to it now is lost."""
        return self._descriptor is not None and os.fstat(self._descriptor.number).st_nlink == 0

    def _drop_what_is_lost(self) -> None:
        """Forget descriptors that the script closed, and take the lock again."""
        if self._descriptor is not None and not self._descriptor.is_ours():
            self._drop_descriptor()
        if self._spool is not None and not self._spool.is_locked():
            self._drop_descriptor()
            self._spool.close()
            self._spool = None
            self.open(last_seq=self._wrote_up_to)

    def _abandon(self) -> None:
        self._drop_descriptor()
        if self._spool is not None:
            self._spool.close()
        self._spool = None
        self.was_removed = True

    def _is_full(self) -> bool:
        if self._descriptor is None:
            return False
        age_s = self._clock.monotonic_s() - self._segment_since_s
        return self._segment_bytes >= SEGMENT_BYTES or age_s >= SEGMENT_S

    def _close_segment(self) -> None:
        try:
            os.fsync(self._number())
        finally:
            self._drop_descriptor()

    def _begin_segment(self, spool: RunSpool, first_seq: int) -> None:
        path = spool.folder / segment_name(first_seq)
        # One of this name can only be without events: what has the number is yet to be written.
        self._descriptor = OwnDescriptor(open_new(path, os.O_APPEND))
        spool.active = self._segment = path
        self._segment_bytes = 0
        self._segment_since_s = self._clock.monotonic_s()
        self._append(segment_head(self._facts))

    def _append(self, data: bytes) -> None:
        try:
            write_all(self._number(), data)
        except OSError:
            self._cut_back()
            raise
        self._segment_bytes += len(data)
        self.n_bytes += len(data)

    def _cut_back(self) -> None:
        # If even this fails the rest of the segment is a torn tail: leave it and begin another.
        try:
            os.ftruncate(self._number(), self._segment_bytes)
        except OSError:
            self._drop_descriptor()
        if self._segment_bytes == 0:
            self._drop_descriptor()

    def _number(self) -> int:
        return -1 if self._descriptor is None else self._descriptor.number

    def _drop_descriptor(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if self._spool is not None:
            self._spool.active = None
        if descriptor is not None:
            descriptor.close()


RESERVE_BYTES: Final = 64 * 1024
_STEP_BYTES: Final = 8 * 1024
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_LIGHT: Final = (
    *(Sample, GraphSize, FieldSources, ModelFacts, LayoutPart, Diagnosis),
    ObjectsCounted,
)
_MIDDLE: Final = (EpochStarted, EpochEnded)


def means_full(exc: BaseException) -> bool:
    """True if an error says that the disk, or this user's part of it, is full."""
    return isinstance(exc, OSError) and exc.errno in _NO_ROOM


class DiskReserve:
    """A file of real blocks that is given up step by step for events in a segment of their own.

    A hub that comes after the process's death reads that segment like any other: the numbers that
    it lacks are reported as lost. When the disk takes everything again the segment goes, since all
    of it is then written in order.

    Attributes:
        saved: Numbers in the segment.
    """

    def __init__(self, facts: SessionFacts) -> None:
        self.saved: list[int] = []
        self._facts = facts
        self._folder: Path | None = None
        self._left_bytes = 0
        self._segment: Path | None = None
        self._segment_bytes = 0

    def hold(self, folder: Path) -> None:
        """Reserve the room in a run's folder; without it if the disk has none."""
        self._folder = folder
        self._segment = None
        self.saved = []
        with contextlib.suppress(OSError):
            self._left_bytes = _allocated(folder / RESERVE_NAME)

    def takes(self, event: Event) -> bool:
        """True if an event is worth the remaining room: epochs only in its first half."""
        if self._folder is None or isinstance(event, _LIGHT):
            return False
        return not isinstance(event, _MIDDLE) or self._left_bytes > RESERVE_BYTES // 2

    def save(self, records: Sequence[SpoolRecord]) -> None:
        """Write events, all or none, giving up as much of the reserve as needed.

        Raises:
            OSError: The reserve is used up, or the disk refused for another reason.
        """
        if self._folder is None:
            raise FileNotFoundError(0, "no disk space is reserved")
        while True:
            try:
                self._write(self._folder, records)
            except OSError as exc:
                if not means_full(exc) or not self._free_step(self._folder):
                    raise
            else:
                self.saved += [record.seq for record in records]
                return

    @contextlib.contextmanager
    def set_aside(self) -> Generator[None]:
        """Put the segment aside while all waiting events are written once more in order.

        An exception in the block puts it back, success removes it.
        """
        segment = self._segment
        if segment is None:
            yield
            return
        aside = segment.with_suffix(".aside")
        segment.replace(aside)
        try:
            yield
        except BaseException:
            aside.replace(segment)
            raise
        aside.unlink(missing_ok=True)

    def release(self) -> None:
        """Give the room back; the segment stays."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                (self._folder / RESERVE_NAME).unlink(missing_ok=True)

    def _write(self, folder: Path, records: Sequence[SpoolRecord]) -> None:
        data = b"".join(encode_record(*record) for record in records)
        is_new = self._segment is None
        path = self._segment or folder / segment_name(records[0].seq)
        if is_new:
            path.unlink(missing_ok=True)  # of this name can only be one without events
            data = segment_head(self._facts) + data
        descriptor = open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            write_all(descriptor, data)
        except OSError:
            if is_new:
                path.unlink()  # an empty segment would hide what is written before it later
            else:
                os.ftruncate(descriptor, self._segment_bytes)
            raise
        finally:
            os.close(descriptor)
        self._segment = path
        self._segment_bytes = len(data) + (0 if is_new else self._segment_bytes)

    def _free_step(self, folder: Path) -> bool:
        if self._left_bytes <= 0:
            return False
        self._left_bytes -= _STEP_BYTES
        try:
            descriptor = open_plain(folder / RESERVE_NAME, os.O_WRONLY)
            try:
                os.ftruncate(descriptor, self._left_bytes)
            finally:
                os.close(descriptor)
        except OSError:
            self._left_bytes = 0
            return False
        return True


def _allocated(path: Path) -> int:
    """Create the file, with blocks of its own; return its size, bytes. Raises: OSError."""
    descriptor = open_new(path)
    try:
        check_file_limit(RESERVE_BYTES)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
        else:
            write_all(descriptor, bytes(RESERVE_BYTES))
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    return RESERVE_BYTES
