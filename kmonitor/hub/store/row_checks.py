"""Checks of stored rows: checksums, repair of one flipped bit, cells held to type and bounds.

A checksum covers every cell of a row. A row and its run are counted from the beginning of their
hub's range, so that a history that is moved keeps its checksums.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeGuard
from zlib import crc32

from kmonitor.hub.store.connection import HubIdRange
from kmonitor_agent.wire.messages.fields import (
    MAX_COUNT,
    MAX_EVENT_BYTES,
    clamp_count,
    clamp_seconds,
    clamp_wall,
)

NewEvent = tuple[int, int, int, float, float, str, bytes]
"""row, run key, seq, run time in seconds, wall time in seconds, kind, body."""

SUMMED: Final = "row, run_key, seq, t_s, wall_s, kind, body, crc"
"""Columns of `NewEvent`, and the checksum."""

WITHIN_KIND: Final = "row, seq, t_s, wall_s, body, crc"
"""The same for a run's rows of one kind: texts take as long as all other cells together."""

_CELLS: Final = struct.Struct("<qqqdd")
_WITHIN_HUB: Final = HubIdRange.of_hub(0).last
_NO_CELLS: Final = (TypeError, AttributeError, UnicodeEncodeError, OverflowError, struct.error)
"""Errors when cells that are not of an event's types are summed."""

_MAX_REPAIRED_BYTES: Final = 2048
"""Longest body that is searched for a flipped bit: a longer search would take more time than a
commit."""


def checksum(event: NewEvent) -> int:
    """Checksum of one row.

    Raises: UnicodeEncodeError, OverflowError, struct.error: it cannot be stored.
    """
    return crc32(_covered(event))


def summed(events: Iterable[NewEvent]) -> list[tuple[Any, ...]]:
    """The cells of each event and its checksum, as in `SUMMED`. Raises: as `checksum`."""
    return [(*event, checksum(event)) for event in events]


def is_sound(row: tuple[Any, ...]) -> bool:
    """True if the cells of `SUMMED` match their checksum; half a microsecond."""
    number, run_key, seq, t_s, wall_s, kind, body, stored = row
    try:
        found = crc32(_CELLS.pack(number & _WITHIN_HUB, run_key & _WITHIN_HUB, seq, t_s, wall_s))
        return crc32(body, crc32(kind.encode(), found)) == stored
    except _NO_CELLS:
        return False


def sound_bodies(
    rows: Iterable[tuple[Any, ...]], run_key: int, kind: str
) -> Iterator[tuple[int, object, bytes]]:
    """Row id, run time and body of one run's rows of one kind; no body where a row is damaged.

    Args:
        rows: Rows of `WITHIN_KIND`.
    """
    key = run_key & _WITHIN_HUB
    name = kind.encode()
    for row, seq, t_s, wall_s, body, stored in rows:
        try:
            found = crc32(name, crc32(_CELLS.pack(row & _WITHIN_HUB, key, seq, t_s, wall_s)))
            is_sound = crc32(body, found) == stored
        except _NO_CELLS:
            is_sound = False
        yield row, t_s, body if is_sound else b""


def repaired_body(row: tuple[Any, ...]) -> NewEvent | None:
    """A row of `SUMMED` as it was before one bit of it flipped; None: more than one did."""
    event = row[:7]
    stored = row[7]
    if not _is_event(event) or not isinstance(stored, int) or len(event[6]) > _MAX_REPAIRED_BYTES:
        return None
    data = repaired_bytes(_covered(event), stored)
    return None if data is None else _uncovered(data, event)


def _is_event(cells: tuple[Any, ...]) -> TypeGuard[NewEvent]:
    row, run_key, seq, t_s, wall_s, kind, body = cells
    whole = all(isinstance(cell, int) and abs(cell) < 1 << 63 for cell in (row, run_key, seq))
    return (
        whole
        and isinstance(t_s, float)
        and isinstance(wall_s, float)
        and isinstance(kind, str)
        and isinstance(body, bytes)
    )


def _covered(event: NewEvent) -> bytes:
    row, run_key, seq, t_s, wall_s, kind, body = event
    cells = _CELLS.pack(row & _WITHIN_HUB, run_key & _WITHIN_HUB, seq, t_s, wall_s)
    return cells + kind.encode() + body


def _uncovered(data: bytes, damaged: NewEvent) -> NewEvent | None:
    row, run_key, seq, t_s, wall_s = _CELLS.unpack_from(data)
    first = HubIdRange.range_of(damaged[0]).first
    end = _CELLS.size + len(damaged[5].encode())
    try:
        kind = data[_CELLS.size : end].decode()
    except UnicodeDecodeError:
        return None
    return first + row, first + run_key, seq, t_s, wall_s, kind, data[end:]


def repaired_bytes(covered: bytes, stored: int) -> bytes | None:
    """Bytes before one bit of them or of their sum flipped; None: more than one flipped."""
    data = bytearray(covered)
    if (crc32(data) ^ stored).bit_count() <= 1:
        return covered
    for offset in range(len(data)):
        for bit in range(8):
            data[offset] ^= 1 << bit
            if crc32(data) == stored:
                return bytes(data)
            data[offset] ^= 1 << bit
    return None


DAMAGED = "damaged in the hub's database"


def count_of(cell: object) -> int:
    """A count; 0 for what is no whole number."""
    return clamp_count(cell) if isinstance(cell, int) else 0


def number(cell: object) -> int:
    """A count, or one below 0 of a row of the hub's own; 0 for what is no whole number."""
    return min(max(cell, -MAX_COUNT), MAX_COUNT) if isinstance(cell, int) else 0


def seconds(cell: object) -> float:
    """A run time, seconds; 0 for what is no number."""
    return clamp_seconds(cell) if isinstance(cell, int | float) else 0.0


def wall(cell: object) -> float:
    """A moment, UTC epoch seconds; 0 for what is no number."""
    return clamp_wall(cell) if isinstance(cell, int | float) else 0.0


def text(cell: object, most: int) -> str:
    """A text of at most `most` characters; empty if the cell is no text."""
    return cell[:most] if isinstance(cell, str) else ""


def is_event_body(cell: object) -> TypeGuard[bytes]:
    return isinstance(cell, bytes) and 0 < len(cell) <= MAX_EVENT_BYTES
