"""Appends a run's events to its spool folder."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.local.plain_files import open_new
from kmonitor_agent.wire.local.private_files import make_own_folder, make_private_folder
from kmonitor_agent.wire.local.spool_folder import RunSpool
from kmonitor_agent.wire.local.spool_format import (
    SEGMENT_BYTES,
    SEGMENT_S,
    BootFacts,
    Record,
    encode_record,
    segment_head,
    segment_name,
)


class SpoolHeld(Exception):
    """Another living process has this run's spool."""


class SpoolWriter:
    """Owns the active segment; whatever fails leaves whole records on disk.

    Attributes:
        root: The spool root.
        n_bytes: Written by this boot, less what was freed, bytes.
        was_removed: Whether somebody removed what this process was writing.
    """

    def __init__(
        self, root: Path, facts: BootFacts, clock: Clock, *, state: Path | None = None
    ) -> None:
        """Nothing is made before `open`.

        Args:
            root: The spool root.
            facts: The boot that writes.
            clock: For the age of a segment.
            state: The state folder; where the root lies below it, it must be this user's too.
        """
        self.root = root
        self._state = state
        self.n_bytes = 0
        self._facts = facts
        self._clock = clock
        self._spool: RunSpool | None = None
        self._wrote_up_to = 0
        self.was_removed = False
        self._descriptor = -1
        self._segment: Path | None = None
        self._segment_bytes = 0
        self._segment_since_s = 0.0

    @property
    def facts(self) -> BootFacts:
        """The boot that writes."""
        return self._facts

    @property
    def spool(self) -> RunSpool | None:
        """The run's folder once it is open."""
        return self._spool

    def open(self, *, given: int = 0) -> RunSpool:
        """Make or find the run's folder and take its lock.

        Args:
            given: Largest number that this process has given; events of the folder would clash
                with it unless this process wrote them.

        Raises:
            SpoolHeld: Another process has it, or it is not new.
            NotPrivate: Others could read or write there.
            OSError: The disk refuses.
        """
        try:
            spool = self._take()
        except FileNotFoundError:
            # A hub that clears empty folders was faster than our lock: make it once more.
            spool = self._take()
        if spool is None:
            raise SpoolHeld
        if given and spool.last_seq > self._wrote_up_to:
            spool.close()
            raise SpoolHeld
        self._wrote_up_to = max(self._wrote_up_to, spool.last_seq)
        self._spool = spool
        if self._is_removed():
            self._drop_descriptor()
        spool.active = self._segment if self._descriptor >= 0 else None
        return spool

    def rest(self) -> None:
        """Let others read and free what is there, until `open` is called again."""
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    def write(self, records: Sequence[Record]) -> None:
        """Append events; all of them or, on error, none.

        Raises:
            OSError: The disk refuses, or the spool is not open.
        """
        if self._is_removed():
            self._let_go()
        spool = self._spool
        if spool is None:
            raise FileNotFoundError(errno.ENOENT, "the spool is not open")
        if self._is_full():
            self._close_segment()
        if self._descriptor < 0:
            self._begin_segment(spool, records[0].seq)
        self._append(b"".join(encode_record(*record) for record in records))
        spool.wrote(records[-1].seq)
        self._wrote_up_to = max(self._wrote_up_to, records[-1].seq)

    def leave_segment(self) -> None:
        """Have the next events begin a segment of their own."""
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

    def _take(self) -> RunSpool | None:
        folder = self.root / self._facts.run
        if self._state is not None and self.root.is_relative_to(self._state):
            make_own_folder(self._state)
        make_private_folder(self.root)
        make_private_folder(folder)
        return RunSpool.take(folder)

    def _is_removed(self) -> bool:
        """Whether somebody deleted the segment: what is written to it now reaches nobody."""
        return self._descriptor >= 0 and os.fstat(self._descriptor).st_nlink == 0

    def _let_go(self) -> None:
        self._drop_descriptor()
        if self._spool is not None:
            self._spool.close()
        self._spool = None
        self.was_removed = True

    def _is_full(self) -> bool:
        if self._descriptor < 0:
            return False
        age_s = self._clock.monotonic_s() - self._segment_since_s
        return self._segment_bytes >= SEGMENT_BYTES or age_s >= SEGMENT_S

    def _close_segment(self) -> None:
        try:
            os.fsync(self._descriptor)
        finally:
            self._drop_descriptor()

    def _begin_segment(self, spool: RunSpool, first_seq: int) -> None:
        path = spool.folder / segment_name(first_seq)
        # One of this name can only be without events: what has the number is yet to be written.
        self._descriptor = open_new(path, os.O_APPEND)
        spool.active = self._segment = path
        self._segment_bytes = 0
        self._segment_since_s = self._clock.monotonic_s()
        self._append(segment_head(self._facts))

    def _append(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            self._cut_back()
            raise
        self._segment_bytes += len(data)
        self.n_bytes += len(data)

    def _cut_back(self) -> None:
        # If even this fails the rest of the segment is a torn tail: leave it and begin another.
        try:
            os.ftruncate(self._descriptor, self._segment_bytes)
        except OSError:
            self._drop_descriptor()
        if self._segment_bytes == 0:
            self._drop_descriptor()

    def _drop_descriptor(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if self._spool is not None:
            self._spool.active = None
        if descriptor >= 0:
            os.close(descriptor)
