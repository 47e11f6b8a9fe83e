"""A run's numbered events: appended, read again for sending, dropped when acknowledged.

Events are on the disk (`SpoolWriter`), the newest also in memory, so that sending reads no file.
While the disk refuses, they wait in a `MemoryBuffer`, which drops samples first when full.
"""

import contextlib
import errno
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.wire.local.clock import Clock, WallClockCheck
from kmonitor_agent.wire.local.private_files import NotPrivate, UnsafePath
from kmonitor_agent.wire.messages.codec import MessageTooLarge, encode_event
from kmonitor_agent.wire.messages.events import Event, GraphSize, Notice, Sample, SessionStarted
from kmonitor_agent.wire.spool.folder import (
    WHY_MISSING,
    SpooledEvent,
    encode_lost_event,
    event_time_s,
    trim_root,
)
from kmonitor_agent.wire.spool.format import SpoolRecord
from kmonitor_agent.wire.spool.writer import (
    DiskReserve,
    SpoolLocked,
    SpoolWriter,
    means_full,
)

HOT_EVENTS: Final = 4096
"""Number of newest events kept in memory besides the disk, so that sending reads no file."""

HOT_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of these events, bytes."""

REPLACED_LIMIT: Final = 1024
"""Number of refused events whose placeholders are remembered."""

REFUSALS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
"""Errors with which the disk itself refuses."""

UNREAD_LIMIT: Final = 3
"""Number of failed reads in a row after which unreadable events count as lost."""


class Outbox:
    """Numbers each event and keeps it until a hub has it; on the agent's thread only.

    While the disk refuses, events wait in a `MemoryBuffer`; this begins and ends with a `Notice`.
    While the disk is full, the most important events are also written to the space of a
    `DiskReserve`.

    Attributes:
        last_seq: Newest sequence number assigned; 0 if none.
        acked: Newest sequence number that the hub has committed.
        degraded: Reason why the disk is not used, as text without a path; empty if it is used.
        refused: File or folder that caused this; None if there is none.
    """

    def __init__(
        self,
        writer: SpoolWriter,
        *,
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        faults: FaultLog,
        clock: Clock,
        buffer: "MemoryBuffer | None" = None,
    ) -> None:
        """`open` finds the events that an earlier process of the run left.

        Args:
            emit: Emits an event about the spool itself.
            now_s: Returns the session's `t_s`.
            buffer: Buffer for events while the disk refuses; None: a new one.
        """
        self.last_seq = 0
        self.acked = 0
        self.degraded = ""
        self.refused: UnsafePath | None = None
        self._writer = writer
        self._emit = emit
        self._now_s = now_s
        self._faults = faults
        self._clock = clock
        self._clock_check = WallClockCheck(clock)
        self._buffer = MemoryBuffer() if buffer is None else buffer
        self._reserve = DiskReserve(writer.facts)
        self._is_full = False
        self._hot: dict[int, bytes] = {}
        self._hot_bytes = 0
        self._replaced: dict[int, bytes] = {}
        self._reader: Iterator[SpooledEvent] | None = None
        self._read_ahead: SpooledEvent | None = None
        self._missing_from = 0
        self._marked = 0
        self._unread = 0
        self._why_undeleted = ""
        self._rested_first_seq: int | None = None

    @property
    def first_seq(self) -> int:
        """Oldest number that can still be sent; `last_seq + 1` if there is none."""
        if self._rested_first_seq is not None:
            return self._rested_first_seq
        spool = self._writer.spool
        held = [] if spool is None or spool.first_seq > spool.last_seq else [spool.first_seq]
        oldest = self._buffer.oldest()
        held += [] if oldest is None else [oldest]
        held += list(self._hot)[:1]
        return min(held, default=self.last_seq + 1)

    @property
    def folder(self) -> Path | None:
        """The run's spool folder; None while it could not be opened."""
        return None if self._writer.spool is None else self._writer.spool.folder

    @property
    def was_removed(self) -> bool:
        """True if the spool of this process was removed while it wrote there."""
        return self._writer.was_removed

    @property
    def spooled_bytes(self) -> int:
        """Size of this session's events on disk, bytes."""
        return self._writer.n_bytes

    def open(self) -> bool:
        """Open the spool; False while another process holds it: try again later.

        Any other failure degrades to memory.
        """
        try:
            spool = self._writer.open()
            self.last_seq = spool.last_seq
            self.acked = spool.acked
            self._reserve.hold(spool.folder)
        except SpoolLocked:
            return False
        except (OSError, NotPrivate) as exc:
            self._degrade(exc)
        return True

    def open_without_disk(self, why: Exception) -> None:
        """Give up on the spool for now; events wait in memory."""
        self._degrade(why)

    def append(self, events: Sequence[Event]) -> None:
        """Number and keep events; never raises because of an invalid event."""
        records = [SpoolRecord(self.last_seq + n, b"") for n in range(1, len(events) + 1)]
        records = [
            SpoolRecord(r.seq, self._encode(r.seq, e))
            for r, e in zip(records, events, strict=True)
        ]
        if not records:
            return
        if not self.degraded:
            try:
                self._reopen()
                self._writer.write(records)
            except (OSError, NotPrivate, SpoolLocked) as exc:
                self._degrade(exc)
        if self.degraded:
            for record, event in zip(records, events, strict=True):
                self._buffer.add(record, drop_rank(event))
            self._save_weighty(records, events)
        else:
            self._add_hot(records)
        # Last, since other threads read it: what is numbered is kept.
        self.last_seq = records[-1].seq

    def rest(self) -> None:
        """Close all descriptors until there is something to write or read."""
        spool = self._writer.spool
        if spool is None or self.degraded:
            return
        self.save_mark()
        self._rested_first_seq = self.first_seq
        self._reader = self._read_ahead = None
        self._reserve.release()
        self._writer.leave_segment()
        self._writer.rest()

    def retry(self) -> None:
        """Try to write everything that waits in memory to the disk."""
        if not self.degraded:
            return
        try:
            if self._writer.spool is None:
                spool = self._writer.open(last_seq=self.last_seq)
                self._rested_first_seq = None
                self.last_seq = max(self.last_seq, spool.last_seq)
            waiting = self._buffer.records()
            if waiting:
                self._write_waiting(waiting)
        except (OSError, NotPrivate, SpoolLocked):
            return
        if self.folder is not None:
            self._reserve.hold(self.folder)
        self._buffer.forget(self.last_seq)
        self._add_hot(waiting)
        self._recover()

    def read(self, first: int, limit: int, limit_bytes: int) -> list[bytes]:
        """Bodies of `first`, `first + 1`, ...; a `LostEvents` for each that is gone.

        Args:
            limit: Maximum number of events.
            limit_bytes: Maximum size, bytes; the first event is returned in any case.

        Raises:
            OSError: The spool cannot be read now.
        """
        bodies: list[bytes] = []
        n_bytes = 0
        for seq in range(first, min(first + limit, self.last_seq + 1)):
            body = self._body(seq, bodies[-1] if bodies else None)
            n_bytes += len(body)
            if bodies and n_bytes > limit_bytes:
                break
            bodies.append(body)
        return bodies

    def replace(self, seq: int, why: str) -> None:
        """Send a `LostEvents` in place of an event that the hub refused."""
        if len(self._replaced) >= REPLACED_LIMIT:
            self._replaced.pop(next(iter(self._replaced)))
        self._replaced[seq] = encode_lost_event(seq, self._now_s(), why)

    def set_acked(self, seq: int) -> None:
        """Set the newest number that the hub has committed.

        Lower than before if the hub lost events.
        """
        self.acked = seq
        self._buffer.forget(seq)
        for held in [held for held in self._hot if held <= seq]:
            self._hot_bytes -= len(self._hot.pop(held))

    def save_mark(self) -> None:
        """Write the acknowledged number to disk; a stale one only means sending again."""
        spool = self._writer.spool
        if spool is None or self.acked == self._marked or self.degraded:
            return
        try:
            spool.mark_acked(min(self.acked, spool.last_seq))
        except FileNotFoundError:
            pass  # removed: the next event notices
        except (IsADirectoryError, UnsafePath) as exc:
            self._report_undeleted(exc.strerror or type(exc).__name__)
        except OSError as exc:
            if exc.errno not in REFUSALS:
                raise
            return  # no fault of ours: the next write reports the disk
        self._marked = self.acked

    def tidy(self) -> None:
        """Delete events acknowledged long ago, and keep the spool root within its bound.

        A refusal of the disk to delete is reported once, until it succeeds.
        """
        spool = self._writer.spool
        if spool is None:
            return
        try:
            self.save_mark()
            freed = spool.expire(self._clock.wall_s()) if self._clock_check.believes() else 0
            freed += trim_root(self._writer.root, own=spool)
        except FileNotFoundError:
            return  # removed meanwhile: there is nothing to drop
        except OSError as exc:
            self._report_undeleted(exc.strerror or type(exc).__name__)
            return
        self._why_undeleted = ""
        self._writer.n_bytes = max(0, self._writer.n_bytes - freed)

    def report_unwritten(self) -> None:
        """Report at the end the number of events that found no room on the disk, if any."""
        unwritten = len(self._buffer) - len(self._reserve.saved) + self._buffer.dropped
        if self._is_full and unwritten > 0:
            text = (
                f"The disk was full until the process ended ({self.degraded}): {unwritten}"
                " events of this run could not be written; samples were dropped first."
            )
            self.append([Notice(t_s=self._now_s(), level="warning", code="disk_full", text=text)])

    def close(self) -> None:
        """Save the acknowledged number and release the spool."""
        try:
            self.save_mark()
        except OSError as exc:
            self._faults.record("link.outbox.close", exc)
        self._reserve.release()
        self._writer.close()

    def forget_in_child(self) -> None:
        """Forget the parent's files and lock in a forked child."""
        self._writer.forget_in_child()

    def _encode(self, seq: int, event: Event) -> bytes:
        try:
            return encode_event(event)
        except (
            MessageTooLarge,
            TypeError,
            ValueError,
            OverflowError,
            msgspec.MsgspecError,
        ) as exc:
            self._faults.record("link.outbox.encode", exc)
            if isinstance(event, SessionStarted) and event.versions:
                # Without its first event a run appears nowhere: send the least of it.
                return self._encode(seq, _least(event))
            return encode_lost_event(
                seq, self._now_s(), f"could not be encoded: {type(exc).__name__}"
            )

    def _add_hot(self, records: Sequence[SpoolRecord]) -> None:
        self._hot.update(records)
        self._hot_bytes += sum(len(record.body) for record in records)
        while len(self._hot) > HOT_EVENTS or self._hot_bytes > HOT_BYTES:
            self._hot_bytes -= len(self._hot.pop(next(iter(self._hot))))

    def _body(self, seq: int, before: bytes | None) -> bytes:
        body = self._replaced.get(seq) or self._hot.get(seq) or self._buffer.get(seq)
        if body is not None:
            return body
        try:
            stored = self._from_disk(seq)
        except OSError:
            self._reader = None
            self._unread += 1
            if self._unread < UNREAD_LIMIT:
                raise
            stored = None
        if stored is not None:
            self._unread = 0
            return stored
        t_s = event_time_s(before) if before is not None else 0.0
        return encode_lost_event(seq, t_s, WHY_MISSING)

    def _reopen(self) -> None:
        """Open the spool again after a rest. Raises: SpoolLocked, NotPrivate, OSError."""
        if self._rested_first_seq is None:
            return
        if self._writer.spool is None:
            self._writer.open(last_seq=self.last_seq)
        self._rested_first_seq = None
        if self.folder is not None:
            self._reserve.hold(self.folder)

    def _from_disk(self, seq: int) -> bytes | None:
        try:
            self._reopen()
        except (NotPrivate, SpoolLocked) as exc:
            raise OSError(errno.EBUSY, str(exc)) from exc
        spool = self._writer.spool
        if spool is None:
            return None
        event = self._read_ahead
        if event is not None and self._missing_from <= seq < event.seq:
            return None  # within a jump, which is as long as it is: nothing is read again
        if event is None or event.seq != seq:
            event = next(self._reader, None) if self._reader is not None else None
        if event is None or event.seq != seq:
            self._reader = spool.events(seq - 1)
            event = next(self._reader, None)
        self._read_ahead = None
        if event is not None and event.seq > seq:
            self._read_ahead = event
            self._missing_from = seq
            return None
        return None if event is None else event.body

    def _save_weighty(self, records: Sequence[SpoolRecord], events: Sequence[Event]) -> None:
        """Write important events into the reserve: a killed process loses its buffer."""
        pairs = zip(records, events, strict=True)
        weighty = [record for record, event in pairs if self._reserve.takes(event)]
        if not self._is_full or not weighty:
            return
        if not self._reserve.saved:
            self._writer.leave_segment()
        with contextlib.suppress(OSError):
            self._reserve.save(weighty)

    def _write_waiting(self, waiting: Sequence[SpoolRecord]) -> None:
        if not self._reserve.saved or waiting[0].seq > self._reserve.saved[-1]:
            self._writer.write(waiting)
            return
        with self._reserve.set_aside():
            try:
                self._writer.write(waiting)
            except OSError:
                self._writer.leave_segment()
                raise

    def _degrade(self, why: Exception) -> None:
        self._is_full = means_full(why)
        self.refused = why if isinstance(why, UnsafePath) else None
        plain = getattr(why, "strerror", None) or type(why).__name__
        self.degraded = getattr(why, "strerror", None) or str(why) or plain
        if not isinstance(why, OSError | SpoolLocked | NotPrivate):
            self._faults.record("link.spool", why)  # what the disk refuses is no fault of ours
        # No path in what leaves the process: the run may be private.
        text = (
            f"kmonitor cannot write to its spool ({plain}): events are kept in memory, and the "
            "oldest samples are dropped when the buffer is full. `kmonitor doctor` shows the "
            "location of the spool."
        )
        self._emit(Notice(t_s=self._now_s(), level="warning", code="spool_degraded", text=text))

    def _report_undeleted(self, why: str) -> None:
        if self.degraded or why == self._why_undeleted:
            return
        self._why_undeleted = why
        # No path in what leaves the process: the run may be private.
        text = (
            f"kmonitor cannot remove spooled events that its hub has stored ({why}): the spool "
            "takes up more space than it should. `kmonitor doctor` shows the location of the "
            "spool."
        )
        self._emit(Notice(t_s=self._now_s(), level="warning", code="spool_kept", text=text))

    def _recover(self) -> None:
        self.degraded = ""
        self._is_full = False
        text = "kmonitor can write to its spool again."
        if self._buffer.dropped:
            text += f" {self._buffer.dropped} events were dropped in the meantime."
        self._emit(Notice(t_s=self._now_s(), level="info", code="spool_recovered", text=text))


def _least(event: SessionStarted) -> SessionStarted:
    return SessionStarted(
        t_s=event.t_s,
        session=event.session,
        name=event.name,
        host=event.host,
        pid=event.pid,
        started_wall_s=event.started_wall_s,
        pid_namespace=event.pid_namespace,
        backend=event.backend,
        actions=event.actions,
        sample_interval_s=event.sample_interval_s,
        private=event.private,
    )


def drop_rank(event: Event) -> int:
    """Order of dropping when there is no room: 0 samples, 1 graph sizes, 2 never dropped."""
    if isinstance(event, Sample):
        return 0
    return 1 if isinstance(event, GraphSize) else 2


BUFFER_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of encoded events, bytes; half a day of a usual training."""


class MemoryBuffer:
    """Bodies by number; when full, drops the oldest samples, then the oldest graph sizes.

    Attributes:
        n_bytes: Size of the bodies held, bytes.
        dropped: Number of events dropped since the start.
    """

    def __init__(self, limit_bytes: int = BUFFER_BYTES) -> None:
        self.n_bytes = 0
        self.dropped = 0
        self._limit_bytes = limit_bytes
        self._by_rank: tuple[dict[int, bytes], ...] = ({}, {}, {})

    def __len__(self) -> int:
        return sum(len(held) for held in self._by_rank)

    def add(self, record: SpoolRecord, rank: int) -> None:
        """Add an event with its `drop_rank`."""
        self._by_rank[rank][record.seq] = record.body
        self.n_bytes += len(record.body)
        for held in self._by_rank[:2]:
            while self.n_bytes > self._limit_bytes and held:
                self._remove(held, next(iter(held)))
                self.dropped += 1

    def get(self, seq: int) -> bytes | None:
        """Body of a number; None if it is not held."""
        for held in self._by_rank:
            if seq in held:
                return held[seq]
        return None

    def oldest(self) -> int | None:
        """Lowest number held; None if empty."""
        return min((next(iter(held)) for held in self._by_rank if held), default=None)

    def records(self) -> list[SpoolRecord]:
        """All held records, by number."""
        return sorted(SpoolRecord(*pair) for held in self._by_rank for pair in held.items())

    def forget(self, up_to: int) -> None:
        """Drop everything up to this number."""
        for held in self._by_rank:
            for seq in [seq for seq in held if seq <= up_to]:
                self._remove(held, seq)

    def _remove(self, held: dict[int, bytes], seq: int) -> None:
        self.n_bytes -= len(held.pop(seq))
