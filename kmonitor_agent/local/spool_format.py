"""How events lie on disk until a hub has stored them: the framing of one segment file.

The spool of a host is `Folders.spool` (mode 0700), with one folder of mode 0700 per run, named by
the run's id. All files are of mode 0600:

| file | what | written by |
|---|---|---|
| `<first seq, 20 digits>.events` | a segment: events in order | the agent that holds the lock |
| `acked` | up to where a hub has confirmed (`run_spool.RunSpool.mark_acked`) | lock holder |
| `commands` | ids of commands seen (`commands_seen.CommandsSeen`) | the agent, lock holder |
| `lock` | held (`run_lock.RunLock`) by the living agent, else by who ships it | lock holder |

Only the holder of `lock` writes, cuts or deletes. The lock goes with its process, however it
dies: who gets it knows that the run's process on this host is gone.

A segment is `SEGMENT_MAGIC`, one record with seq 0 whose body is a `BootFacts`, then the events.
Each record is `<u32 length><u32 crc32><u64 seq>` and `length` bytes of body, little-endian; the
CRC covers length, seq and body. Each boot begins a segment of its own: every event has its boot.
Sequence numbers rise by one over all segments of a run, up to `MAX_COUNT`: a record with a higher
one is unreadable, and a file whose name says one is no segment. A record that was written in part
at the end of a segment is a torn tail: it was never given out as spooled and is cut by the next
owner.
Unreadable bytes with readable records behind them are a gap, not an end.

Nothing is synced per record: what `write` returned from survives the death of the process, and
against a power loss the hub's committed copy stands. A segment is synced when it is closed.
"""

import re
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from kmonitor_agent.protocol.bounds import within
from kmonitor_agent.protocol.identity import Count, Id, Name, Wall
from kmonitor_agent.protocol.version import MAX_COUNT, MAX_EVENT_BYTES

SEGMENT_MAGIC: Final = b"KMSPOOL1"
"""First bytes of a segment; the digit is the format's version."""

RECORD_HEADER: Final = struct.Struct("<IIQ")
"""Length of the body, CRC, sequence number."""

SEGMENT_BYTES: Final = 1024 * 1024
"""A segment that has grown to this is closed; retention frees whole segments."""

SEGMENT_S: Final = 3600.0
"""A segment that is this old is closed, seconds."""

_COVERED: Final = struct.Struct("<IQ")
_NAME: Final = re.compile(r"^(\d{20})\.events$")


class BootFacts(msgspec.Struct, frozen=True):
    """Who wrote a segment; what the agent's `Hello` says that the events do not.

    Attributes:
        run: Run id.
        boot: Id of the process start that wrote it.
        host: Host name.
        pid: Process id in its own PID namespace.
        pid_namespace: Inode of that namespace, 0 if unknown.
        started_wall_s: UTC epoch seconds at the boot's `t_s == 0`.
    """

    run: Id
    boot: Id
    host: Name
    pid: Count
    started_wall_s: Wall
    pid_namespace: Count = 0


class Record(NamedTuple):
    """One spooled event.

    Attributes:
        seq: Its sequence number in the run, from 1.
        body: The encoded event.
    """

    seq: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Segment:
    """What could be read of one segment.

    Attributes:
        facts: Who wrote it; None when its head is damaged.
        records: The readable events, rising in seq; numbers may be missing.
        good_bytes: End of the last readable record; what lies behind is a torn tail.
        is_damaged: Whether unreadable bytes lie before the last readable record.
    """

    facts: BootFacts | None
    records: tuple[Record, ...]
    good_bytes: int
    is_damaged: bool


def encode_record(seq: int, body: bytes) -> bytes:
    """One record as it is written."""
    crc = zlib.crc32(body, zlib.crc32(_COVERED.pack(len(body), seq)))
    return RECORD_HEADER.pack(len(body), crc, seq) + body


def segment_head(facts: BootFacts) -> bytes:
    """The first bytes of a segment, before its events."""
    return SEGMENT_MAGIC + encode_record(0, msgspec.msgpack.encode(within(facts)))


def segment_name(first_seq: int) -> str:
    """File name of the segment whose first event has this number."""
    return f"{first_seq:020d}.events"


def first_seq_of(path: Path) -> int | None:
    """The number that a segment's name promises, or None if the file is no segment."""
    match = _NAME.match(path.name)
    first = int(match[1]) if match else MAX_COUNT + 1
    return first if first <= MAX_COUNT else None


def segments_in(folder: Path) -> list[Path]:
    """The segments of one run, in order. Raises: OSError."""
    return sorted(p for p in folder.iterdir() if first_seq_of(p) is not None)


def parse_segment(data: bytes) -> Segment:
    """Everything readable in a segment's bytes; never raises on what it finds there."""
    facts, offset = _head(data)
    return _parse(data, facts, offset, 0, damaged=facts is None)


def parse_rest(data: bytes, facts: BootFacts | None, after_seq: int) -> Segment:
    """Everything readable in a segment's bytes behind its record of number `after_seq`.

    Args:
        data: The bytes behind that record; `good_bytes` counts from their begin.
        facts: What the segment's head said.
        after_seq: Number of the last record before.
    """
    return _parse(data, facts, 0, after_seq, damaged=False)


def _parse(
    data: bytes, facts: BootFacts | None, offset: int, last_seq: int, *, damaged: bool
) -> Segment:
    records: list[Record] = []
    good_bytes = offset
    while offset < len(data):
        record = _record_at(data, offset, last_seq)
        if record is None:
            offset = _next_readable(data, offset + 1, last_seq)
            if offset < 0:
                break
            damaged = True
            continue
        records.append(record)
        last_seq = record.seq
        offset = good_bytes = offset + RECORD_HEADER.size + len(record.body)
    return Segment(facts, tuple(records), good_bytes, damaged)


def _head(data: bytes) -> tuple[BootFacts | None, int]:
    if not data.startswith(SEGMENT_MAGIC):
        return None, 0
    record = _record_at(data, len(SEGMENT_MAGIC), -1)
    if record is None or record.seq != 0:
        return None, 0
    try:
        facts = msgspec.msgpack.decode(record.body, type=BootFacts)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        facts = None
    return facts, len(SEGMENT_MAGIC) + RECORD_HEADER.size + len(record.body)


def _record_at(data: bytes, offset: int, after_seq: int) -> Record | None:
    begin = offset + RECORD_HEADER.size
    if begin > len(data):
        return None
    length, crc, seq = RECORD_HEADER.unpack_from(data, offset)
    if not 0 < length <= MAX_EVENT_BYTES or begin + length > len(data):
        return None
    if not after_seq < seq <= MAX_COUNT:
        return None
    body = data[begin : begin + length]
    if zlib.crc32(body, zlib.crc32(_COVERED.pack(length, seq))) != crc:
        return None
    return Record(seq, body)


def _next_readable(data: bytes, offset: int, after_seq: int) -> int:
    # A damaged length hides where the next record begins, so each byte is tried; the segment's
    # bound keeps that to about a second, once.
    for begin in range(offset, len(data) - RECORD_HEADER.size):
        if _record_at(data, begin, after_seq) is not None:
            return begin
    return -1
