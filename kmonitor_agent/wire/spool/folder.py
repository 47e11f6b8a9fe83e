"""Spool folders: one run's, owned through its lock, and the bound on all of a host together.

The agent of a living process owns its spool; the process that ships a dead one's spool owns it
meanwhile. `trim_root` keeps all spools of a host within their bound.

A hub ships the spool of a dead process like this:
```python
for folder in spooled_runs(folders.spool):
    with RunSpool.acquire(folder) as spool:        # None (and no `with`) while its process lives
        for event in spool.events(after=acked_of_hub(spool.run)):
            store(event.seq, event.body, event.facts)
        spool.mark_acked(committed_seq)          # after COMMIT
        spool.expire(wall_s)                     # a day after that
```
"""

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from kmonitor_agent.wire.local.folder_lock import LOCK_NAME, FolderLock
from kmonitor_agent.wire.local.private_files import (
    UnsafePath,
    open_new,
    open_plain,
    read_plain,
    write_all,
    write_private,
)
from kmonitor_agent.wire.messages.codec import (
    ProtocolError,
    decode_event,
    encode_event,
    event_type,
)
from kmonitor_agent.wire.messages.events import LostEvents
from kmonitor_agent.wire.messages.fields import MAX_COUNT
from kmonitor_agent.wire.spool.format import (
    SEGMENT_LIMIT_BYTES,
    Segment,
    SessionFacts,
    encode_record,
    first_seq_of,
    has_foreign_entries,
    is_run_name,
    parse_segment,
    read_segment,
    segment_head,
    segments_in,
    unsafe_in,
)

KEEP_ACKED_S: Final = 24 * 3600.0
"""Time that acknowledged events stay for a hub that lost its commits, seconds."""

OPEN_FILES_CAN_GO: bool = os.name != "nt"
"""True where an open file can be deleted."""

ACKED_NAME: Final = "acked"
LARGE_GAP: Final = 512
"""Maximum number of missing numbers in a row that get one event each; more are one jump."""

WHY_MISSING: Final = "unreadable in the spool, or dropped for lack of space"
_ACKED: Final = struct.Struct("<QI")


class SpooledEvent(NamedTuple):
    """An event in the spool.

    Attributes:
        seq: Its number in the run.
        body: The encoded event; a `LostEvents` where the spool has a gap.
        facts: The session that wrote it; None if its segment's head is damaged.
    """

    seq: int
    body: bytes
    facts: SessionFacts | None


class RunSpool:
    """A run's folder, owned: no other process writes there until `close`.

    One thread. The agent that writes appends through `kmonitor_agent.wire.spool.writer`.

    Attributes:
        active: The segment that is being written, never deleted; None for a reader.
    """

    def __init__(self, folder: Path, lock: FolderLock) -> None:
        self.folder = folder
        self.active: Path | None = None
        self._lock = lock
        self._parsed: tuple[Path, int, Segment] | None = None
        self._last_seq: int | None = None
        self._acked = _read_acked(folder / ACKED_NAME)

    @classmethod
    def acquire(cls, folder: Path) -> "RunSpool | None":
        """The spool with its lock, torn tails cut, or None while a living process has it.

        Raises:
            UnsafePath: It is a link or no folder, or its lock is no plain file.
            OSError: The folder cannot be read or locked.
        """
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise UnsafePath(folder, "is not a run folder; remove it")
        lock = FolderLock.acquire(folder)
        if lock is None:
            return None
        spool = cls(folder, lock)
        try:
            spool._cut_torn_tail()
        except OSError:
            lock.release()
            raise
        return spool

    @property
    def run(self) -> str:
        """The run's id, from the folder's name."""
        return self.folder.name

    @property
    def acked(self) -> int:
        """Last number that a hub confirmed, as far as recorded; may be stale, is never ahead."""
        return self._acked

    @property
    def first_seq(self) -> int:
        """Oldest number still held; `last_seq + 1` when nothing is. Raises: OSError."""
        try:
            segments = segments_in(self.folder)
        except FileNotFoundError:  # somebody removed the folder
            segments = []
        return _named(segments[0]) if segments else self.last_seq + 1

    @property
    def last_seq(self) -> int:
        """Newest number spooled; 0 when none. Raises: OSError."""
        if self._last_seq is None:
            segments = segments_in(self.folder)
            end = self._end(segments[-1]) if segments else 0
            self._last_seq = max(end, self._acked)
        return self._last_seq

    def sessions(self) -> list[SessionFacts]:
        """Sessions that wrote the remaining segments, oldest first, each once."""
        facts_by_session = {
            s.facts.session: s.facts for s in self._segments() if s.facts is not None
        }
        return list(facts_by_session.values())

    def events(self, after: int = 0) -> Iterator[SpooledEvent]:
        """All events with a number above `after`, in order.

        It begins at `max(after + 1, first_seq)`: events between `after` and there are gone, which
        the reader has to note. An unreadable number comes as a `LostEvents` of the last known
        time; more than `LARGE_GAP` in a row are left out, and the reader has to note that jump
        too.

        Raises:
            OSError: A segment cannot be read.
        """
        expected = 0
        before: SpooledEvent | None = None
        for path in self._paths_after(after):
            expected = expected or max(_named(path), after + 1)
            segment = self._read(path)
            for record in segment.records:
                event = SpooledEvent(record.seq, record.body, segment.facts)
                if event.seq >= expected:
                    if event.seq - expected <= LARGE_GAP:
                        yield from lost_events(expected, event, before)
                    yield event
                    expected = event.seq + 1
                before = event

    def mark_acked(self, seq: int) -> None:
        """Note that a hub has committed everything up to `seq` (lower than before: it lost some).

        Segments that are thereby fully confirmed begin their day of retention now.

        Raises:
            OSError: It cannot be written; the mark on disk is then older, which is safe.
        """
        old, self._acked = self._acked, seq
        for path, end in self._ends():
            if old < end <= seq:
                os.utime(path, follow_symlinks=False)
        write_private(self.folder / ACKED_NAME, _ACKED.pack(seq, zlib.crc32(seq.to_bytes(8))))

    def acked_segments(self) -> list[Path]:
        """Fully confirmed segments, oldest first. Raises: OSError."""
        return [p for p, end in self._ends() if end <= self._acked and p != self.active]

    def closed_segments(self) -> list[Path]:
        """Segments that are no longer written, oldest first. Raises: OSError."""
        return [p for p in segments_in(self.folder) if p != self.active]

    def wrote(self, seq: int) -> None:
        """For the writer: note that everything up to `seq` is in the active segment."""
        self._last_seq = seq

    def expire(self, wall_s: float, *, keep_s: float = KEEP_ACKED_S) -> int:
        """Delete segments confirmed over `keep_s` ago; return the bytes freed. Raises: OSError."""
        old = [p for p in self.acked_segments() if p.lstat().st_mtime < wall_s - keep_s]
        return sum(self.delete(path) for path in old)

    def delete(self, segment: Path) -> int:
        """Delete one segment; return the bytes freed. Raises: OSError."""
        self.last_seq  # noqa: B018 - known from now on, also when the last segment goes
        n_bytes = segment.lstat().st_size
        segment.unlink()
        return n_bytes

    def remove_if_empty(self) -> bool:
        """Delete the folder of a dead run when no event is left; then the spool is closed.

        It stays if it holds anything that is not kmonitor's.

        Raises:
            OSError: It cannot be deleted.
        """
        if segments_in(self.folder) or unsafe_in(self.folder) or has_foreign_entries(self.folder):
            return False
        for path in sorted(self.folder.iterdir(), key=lambda p: p.name == LOCK_NAME):
            if path.name == LOCK_NAME and not OPEN_FILES_CAN_GO:
                self.close()
            path.unlink()
        self.close()
        self.folder.rmdir()
        return True

    def is_locked(self) -> bool:
        """False once the lock was released, or lost to a script that closes descriptors."""
        return self._lock.is_held()

    def close(self) -> None:
        """Release the lock; again is harmless."""
        self._lock.release()

    def forget_in_child(self) -> None:
        """In a forked child: leave the parent's lock alone."""
        self._lock.forget_in_child()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _segments(self) -> Iterator[Segment]:
        return (self._read(path) for path in segments_in(self.folder))

    def _paths_after(self, after: int) -> list[Path]:
        paths = segments_in(self.folder)
        begins = [_named(p) for p in paths]
        held = [i for i, begin in enumerate(begins) if begin <= after + 1]
        return paths[held[-1] :] if held else paths

    def _ends(self) -> list[tuple[Path, int]]:
        paths = segments_in(self.folder)
        begins = [_named(p) for p in paths]
        ends = [begin - 1 for begin in begins[1:]] + [self.last_seq]
        return list(zip(paths, ends, strict=False))

    def _end(self, path: Path) -> int:
        records = self._read(path).records
        return records[-1].seq if records else _named(path) - 1

    def _read(self, path: Path) -> Segment:
        size = path.lstat().st_size
        if self._parsed is None or self._parsed[:2] != (path, size):
            self._parsed = (path, size, parse_segment(read_segment(path)))
        return self._parsed[2]

    def _cut_torn_tail(self) -> None:
        paths = segments_in(self.folder)
        if not paths:
            return
        good_bytes = self._read(paths[-1]).good_bytes
        if good_bytes < paths[-1].lstat().st_size:
            descriptor = open_plain(paths[-1], os.O_WRONLY, limit_bytes=SEGMENT_LIMIT_BYTES)
            try:
                os.ftruncate(descriptor, good_bytes)
            finally:
                os.close(descriptor)


def _named(path: Path) -> int:
    return first_seq_of(path.name) or 1


def _read_acked(path: Path) -> int:
    try:
        seq, crc = _ACKED.unpack(read_plain(path, _ACKED.size))
    except (OSError, struct.error):
        return 0
    return seq if zlib.crc32(seq.to_bytes(8)) == crc and seq <= MAX_COUNT else 0


def spooled_runs(root: Path) -> list[Path]:
    """Folders of all runs below a spool root, by name; empty when there is no root yet."""
    try:
        with os.scandir(root) as entries:
            folders = [
                e for e in entries if is_run_name(e.name) and e.is_dir(follow_symlinks=False)
            ]
    except FileNotFoundError:
        return []
    return [root / name for name in sorted(entry.name for entry in folders)]


def spooled_bodies(folder: Path, first: int, last: int) -> dict[int, bytes]:
    """Events of a run, by number, that its spool still has; read without its lock.

    Empty if the spool cannot be read.
    """
    bodies: dict[int, bytes] = {}
    try:
        paths = segments_in(folder)
        ends = [*(_named(path) for path in paths[1:]), MAX_COUNT + 1]
        for path, end in zip(paths, ends, strict=True):
            if _named(path) <= last and first < end:
                records = parse_segment(read_segment(path)).records
                bodies |= {each.seq: each.body for each in records if first <= each.seq <= last}
    except OSError:
        pass
    return bodies


def event_time_s(body: bytes) -> float:
    """An encoded event's `t_s`, seconds; 0 if it cannot be decoded."""
    try:
        return decode_event(body).t_s
    except ProtocolError:
        return 0.0


def encode_lost_event(seq: int, t_s: float, why: str) -> bytes:
    """The event that replaces a missing one."""
    return encode_event(LostEvents(t_s=t_s, first=seq, last=seq, why=why[:4096]))


def lost_events(
    first: int, event: SpooledEvent, before: SpooledEvent | None
) -> Iterator[SpooledEvent]:
    """Events in place of those from number `first` on that are missing before `event`.

    Args:
        event: The next existing event.
        before: The last existing event, whose time they get if its session wrote `event` too.
    """
    is_known = first < event.seq and before is not None and before.facts == event.facts
    t_s = event_time_s(before.body) if before is not None and is_known else 0.0
    for seq in range(first, event.seq):
        yield SpooledEvent(seq, encode_lost_event(seq, t_s, WHY_MISSING), event.facts)


ROOT_LIMIT_BYTES: Final = 1024**3
"""Maximum size of all spools of a host; the oldest acknowledged segments go first."""

_BLOCK_BYTES: Final = 512
"""Unit of `st_blocks`. Source: stat(3type)."""


def trim_root(
    root: Path, *, own: RunSpool | None = None, limit_bytes: int = ROOT_LIMIT_BYTES
) -> int:
    """Bring a spool root below its bound; return the bytes freed.

    Acknowledged segments go first, the oldest before all others, of `own` and of runs whose
    process is dead (other agents trim their own). If that is not enough, `own` gives up its oldest
    samples; epochs, lifecycle and commands are never dropped.

    Raises:
        OSError: Something cannot be listed or deleted.
    """
    excess = spooled_bytes(root) - limit_bytes
    freed = 0
    if excess <= 0:
        return 0
    refused: list[UnsafePath] = []
    others = _others(root, own, refused)
    try:
        freed += _delete_acked([*([own] if own is not None else []), *others], excess)
    finally:
        for spool in others:
            spool.close()
    if own is not None and freed < excess:
        freed += _drop_samples(own, excess - freed)
    if refused:
        raise refused[0]
    return freed


def _others(root: Path, own: RunSpool | None, refused: list[UnsafePath]) -> list[RunSpool]:
    """Spools of dead processes, locked; errors that prevent that are added to `refused`."""
    spools: list[RunSpool] = []
    for folder in spooled_runs(root):
        if own is not None and folder == own.folder:
            continue
        try:
            spool = RunSpool.acquire(folder)
        except UnsafePath as exc:
            refused.append(exc)
            continue
        if spool is not None:
            spools.append(spool)
    return spools


def _delete_acked(spools: list[RunSpool], excess: int) -> int:
    acked = [(p.lstat().st_mtime, p, spool) for spool in spools for p in spool.acked_segments()]
    freed = 0
    for _, path, spool in sorted(acked, key=lambda entry: entry[:2]):
        if freed >= excess:
            break
        freed += spool.delete(path)
    return freed


def _drop_samples(own: RunSpool, excess: int) -> int:
    freed = 0
    for path in own.closed_segments():
        if freed >= excess:
            break
        freed += _without_samples(path)
    return freed


def _without_samples(path: Path) -> int:
    data = read_segment(path)
    segment = parse_segment(data)
    if segment.facts is None:
        return 0
    records = [r for r in segment.records if not _is_sample(r.body)]
    thin = segment_head(segment.facts) + b"".join(encode_record(*r) for r in records)
    if len(thin) < len(data):
        fresh = path.with_suffix(".thin")
        with os.fdopen(open_new(fresh), "wb") as file:
            write_all(file.fileno(), thin)
        fresh.replace(path)
    return len(data) - len(thin)


def _is_sample(body: bytes) -> bool:
    try:
        return event_type(body) == "sample"
    except ProtocolError:
        return False


def spooled_bytes(root: Path) -> int:
    """Size of all spools below a root on disk, bytes."""
    return sum(_size(path) for folder in spooled_runs(root) for path in folder.glob("*"))


def _size(path: Path) -> int:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return 0
    # A sparse file is far larger than its blocks on the disk.
    return min(status.st_size, getattr(status, "st_blocks", status.st_size) * _BLOCK_BYTES)
