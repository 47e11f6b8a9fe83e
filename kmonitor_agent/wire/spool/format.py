"""Format of events on disk until a hub has stored them: the framing of one segment file.

The spool of a host is `Folders.spool` (mode 0700), with one folder of mode 0700 per run, named by
the run's id. All files are of mode 0600:

| file | what | written by |
|---|---|---|
| `<first seq, 20 digits>.events` | a segment: events in order | the agent that holds the lock |
| `acked` | up to where a hub has confirmed (`folder.RunSpool.mark_acked`) | lock holder |
| `commands` | ids of commands seen (`delivery.SeenCommands`) | the agent, lock holder |
| `lock` | held (`folder_lock.FolderLock`) by the living agent, or who ships it | lock holder |
| `reserve` | room for when the disk is full, while the agent writes; means nothing | the agent |

Only the holder of `lock` writes, cuts or deletes. The lock goes with its process, however it
dies: who gets it knows that the run's process on this host is gone.

A segment is `SEGMENT_MAGIC`, one record with seq 0 whose body is a `SessionFacts`, then the
events. Each record is `<u32 length><u32 crc32><u64 seq>` and `length` bytes of body,
little-endian; the CRC covers length, seq and body. Each session begins a segment of its own.
Sequence numbers rise by one over all segments of a run, up to `MAX_COUNT`: a record with a higher
one is unreadable, and a file whose name says one is no segment. A record that was written in part
at the end of a segment is a torn tail: it was never given out as spooled and is cut by the next
owner.
Unreadable bytes with readable records behind them are a gap, not an end.

A folder of spools may be shared, so nothing in it is trusted. Only plain files of at most
`SEGMENT_LIMIT_BYTES` are segments, whatever their names are, and the search for readable records
after damage ends after `SEARCH_BYTES`: headers with wrong checksums can be made to cost the square
of their number.

Nothing is synced per record: what `write` returned from survives the death of the process, and
after a power loss the hub's committed copy counts. A segment is synced when it is closed.
"""

import os
import re
import stat
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from kmonitor_agent.wire.local.private_files import UnsafePath, check_plain, open_plain, read_plain
from kmonitor_agent.wire.messages.fields import (
    MAX_COUNT,
    MAX_EVENT_BYTES,
    Count,
    Id,
    Name,
    Wall,
    clamp_fields,
)

SEGMENT_MAGIC: Final = b"KMSPOOL1"
"""First bytes of a segment; the digit is the format's version."""

RECORD_HEADER: Final = struct.Struct("<IIQ")
"""Length of the body, CRC, sequence number."""

SEGMENT_BYTES: Final = 1024 * 1024
"""Size at which a segment is closed; retention frees whole segments."""

SEGMENT_LIMIT_BYTES: Final = 64 * 1024 * 1024
"""Maximum size of a segment: everything written in one piece, at most all that waited for the
disk, goes into one segment."""

SEARCH_BYTES: Final = 32 * 1024 * 1024
"""Maximum number of bytes of a segment, each counted as often as it is tried, in which readable
events are searched after damage; the rest is lost. Two million places, or all of 512 KiB with
nothing but headers of the longest events."""

RESERVE_NAME: Final = "reserve"
"""File in a run's spool folder while its process writes there; its content has no meaning."""

SEGMENT_S: Final = 3600.0
"""Age at which a segment is closed, seconds."""

_COVERED: Final = struct.Struct("<IQ")
_NAME: Final = re.compile(r"([0-9]{20})\.events")
_OURS: Final = re.compile(
    r"[0-9]{20}\.(events|thin|aside)|(acked|commands)(\.new)?|lock|reserve", re.ASCII
)
_RUN: Final = re.compile(r"[0-9A-Za-z_-]{1,64}")
_HEAD_BYTES: Final = len(SEGMENT_MAGIC) + RECORD_HEADER.size + 16 * 1024
"""Maximum size of a segment's head: ids, a host's name and numbers."""


class SessionFacts(msgspec.Struct, frozen=True):
    """Session that wrote a segment: the fields of the agent's `Hello` that events lack.

    Attributes:
        run: Run id.
        session: Id of the process start that wrote it.
        host: Host name.
        pid: Process id in its own PID namespace.
        pid_namespace: Inode of that namespace, 0 if unknown.
        started_wall_s: UTC epoch seconds at the session's `t_s == 0`.
    """

    run: Id
    session: Id
    host: Name
    pid: Count
    started_wall_s: Wall
    pid_namespace: Count = 0


class SpoolRecord(NamedTuple):
    """One spooled event.

    Attributes:
        seq: Its sequence number in the run, from 1.
        body: The encoded event.
    """

    seq: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Segment:
    """The readable part of one segment.

    Attributes:
        facts: Session that wrote it; None if its head is damaged.
        records: The readable events, rising in seq; numbers may be missing.
        good_bytes: End of the last readable record; the rest is a torn tail.
        is_damaged: True if unreadable bytes lie before the last readable record.
        ends: End of each record.
    """

    facts: SessionFacts | None
    records: tuple[SpoolRecord, ...]
    good_bytes: int
    is_damaged: bool
    ends: tuple[int, ...] = ()


def encode_record(seq: int, body: bytes) -> bytes:
    crc = zlib.crc32(body, zlib.crc32(_COVERED.pack(len(body), seq)))
    return RECORD_HEADER.pack(len(body), crc, seq) + body


def segment_head(facts: SessionFacts) -> bytes:
    """The first bytes of a segment, before its events."""
    return SEGMENT_MAGIC + encode_record(0, msgspec.msgpack.encode(clamp_fields(facts)))


def segment_name(first_seq: int) -> str:
    """File name of the segment whose first event has this number."""
    return f"{first_seq:020d}.events"


def first_seq_of(name: str) -> int | None:
    """The number in a segment's file name, or None if it is no segment's."""
    match = _NAME.fullmatch(name)
    first = int(match[1]) if match else MAX_COUNT + 1
    return first if first <= MAX_COUNT else None


def is_run_name(name: str) -> bool:
    """True if a folder of this name can be a run's."""
    return _RUN.fullmatch(name) is not None


def segments_in(folder: Path) -> list[Path]:
    """The segments of one run, in order; plain files only. Raises: OSError."""
    return [Path(entry.path) for entry in segment_entries(folder)]


def segment_entries(folder: Path) -> list["os.DirEntry[str]"]:
    """The same as directory entries: `stat(follow_symlinks=False)` needs no further request."""
    with os.scandir(folder) as entries:
        segments = [
            entry
            for entry in entries
            if first_seq_of(entry.name) is not None and _is_segment(entry)
        ]
    return sorted(segments, key=lambda entry: entry.name)


def segments_bytes(folder: Path) -> int:
    """Size of all segments of a run. Raises: OSError."""
    return sum(entry.stat(follow_symlinks=False).st_size for entry in segment_entries(folder))


def unsafe_in(folder: Path) -> list[UnsafePath]:
    """Entries named like a run's file that are left alone, by name. Raises: OSError."""
    unsafe: list[UnsafePath] = []
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if _OURS.fullmatch(entry.name))
    for name in names:
        try:
            check_plain(folder / name, SEGMENT_LIMIT_BYTES)
        except FileNotFoundError:
            continue
        except UnsafePath as exc:
            unsafe.append(exc)
    return unsafe


def has_foreign_entries(folder: Path) -> bool:
    """True if a run's folder holds entries that are not kmonitor's. Raises: OSError."""
    with os.scandir(folder) as entries:
        return any(_OURS.fullmatch(entry.name) is None for entry in entries)


def read_segment(path: Path, *, start: int = 0) -> bytes:
    """A segment's bytes from `start` on. Raises: OSError; UnsafeFile if it is no plain file."""
    return read_plain(path, SEGMENT_LIMIT_BYTES, start=start)


def read_session_facts(path: Path) -> SessionFacts | None:
    """The session that wrote a segment; None if its head is damaged. Reads only the head.

    Raises: as `read_segment`.
    """
    descriptor = open_plain(path, limit_bytes=SEGMENT_LIMIT_BYTES)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        return _head(file.read(_HEAD_BYTES))[0]


def parse_segment(data: bytes) -> Segment:
    """Everything readable in a segment's bytes; never raises on their content."""
    facts, offset = _head(data)
    return _parse(data, facts, offset, 0, damaged=facts is None)


def parse_rest(data: bytes, facts: SessionFacts | None, after_seq: int) -> Segment:
    """Everything readable in a segment's bytes after its record of number `after_seq`.

    Args:
        data: The bytes after that record; `good_bytes` counts from their begin.
        facts: Session from the segment's head.
        after_seq: Number of that record.
    """
    return _parse(data, facts, 0, after_seq, damaged=False)


def _parse(
    data: bytes, facts: SessionFacts | None, offset: int, last_seq: int, *, damaged: bool
) -> Segment:
    records: list[SpoolRecord] = []
    ends: list[int] = []
    good_bytes = offset
    search = _Search(data)
    while offset < len(data):
        record = _record_at(data, offset, last_seq)
        if record is None:
            offset = search.next_readable(offset + 1, last_seq)
            if offset < 0:
                break
            damaged = True
            continue
        records.append(record)
        last_seq = record.seq
        offset = good_bytes = offset + RECORD_HEADER.size + len(record.body)
        ends.append(offset)
    return Segment(facts, tuple(records), good_bytes, damaged, tuple(ends))


def _head(data: bytes) -> tuple[SessionFacts | None, int]:
    if not data.startswith(SEGMENT_MAGIC):
        return None, 0
    record = _record_at(data, len(SEGMENT_MAGIC), -1)
    if record is None or record.seq != 0:
        return None, 0
    try:
        facts = msgspec.msgpack.decode(record.body, type=SessionFacts)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        facts = None
    return facts, len(SEGMENT_MAGIC) + RECORD_HEADER.size + len(record.body)


def _is_segment(entry: "os.DirEntry[str]") -> bool:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False  # freed meanwhile
    return stat.S_ISREG(status.st_mode) and status.st_size <= SEGMENT_LIMIT_BYTES


def _record_at(data: bytes, offset: int, after_seq: int) -> SpoolRecord | None:
    length = _length_at(data, offset, after_seq)
    if not length:
        return None
    begin = offset + RECORD_HEADER.size
    _, crc, seq = RECORD_HEADER.unpack_from(data, offset)
    if not after_seq < seq <= MAX_COUNT:
        return None
    body = data[begin : begin + length]
    if zlib.crc32(body, zlib.crc32(_COVERED.pack(length, seq))) != crc:
        return None
    return SpoolRecord(seq, body)


def _length_at(data: bytes, offset: int, after_seq: int) -> int:
    """Length of the body in a header; 0 where no header can be."""
    begin = offset + RECORD_HEADER.size
    if begin > len(data):
        return 0
    length, _, seq = RECORD_HEADER.unpack_from(data, offset)
    is_possible = 0 < length <= MAX_EVENT_BYTES and seq > after_seq and begin + length <= len(data)
    return length if is_possible else 0


class _Search:
    """Searches readable records after damage in one segment, as long as its budget lasts."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._left_bytes = SEARCH_BYTES

    def next_readable(self, offset: int, after_seq: int) -> int:
        """Offset of the next one; -1 if none is found."""
        # A damaged length hides where the next record begins, so each byte is tried.
        for begin in range(offset, len(self._data) - RECORD_HEADER.size):
            length = _length_at(self._data, begin, after_seq)
            self._left_bytes -= RECORD_HEADER.size + length
            if self._left_bytes < 0:
                return -1
            if length and _record_at(self._data, begin, after_seq) is not None:
                return begin
        return -1
