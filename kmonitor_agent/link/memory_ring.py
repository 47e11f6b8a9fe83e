"""Numbered events that the disk refused, held in memory until it takes them again."""

from typing import Final

from kmonitor_agent.wire.local.spool_format import Record
from kmonitor_agent.wire.messages.events import Event, GraphSize, Sample

RING_BYTES: Final = 16 * 1024 * 1024
"""Encoded bytes held; half a day of a usual training."""


def rank_of(event: Event) -> int:
    """What goes first when there is no room: 0 samples, 1 graph sizes, 2 never."""
    if isinstance(event, Sample):
        return 0
    return 1 if isinstance(event, GraphSize) else 2


class MemoryRing:
    """Bodies by number; when it is full the oldest samples go, then the oldest graph sizes.

    Attributes:
        n_bytes: Bytes of the bodies held.
        dropped: Events that were dropped since the start.
    """

    def __init__(self, limit_bytes: int = RING_BYTES) -> None:
        self.n_bytes = 0
        self.dropped = 0
        self._limit_bytes = limit_bytes
        self._by_rank: tuple[dict[int, bytes], ...] = ({}, {}, {})

    def __len__(self) -> int:
        return sum(len(held) for held in self._by_rank)

    def add(self, record: Record, rank: int) -> None:
        """Hold one event of a `rank_of`."""
        self._by_rank[rank][record.seq] = record.body
        self.n_bytes += len(record.body)
        for held in self._by_rank[:2]:
            while self.n_bytes > self._limit_bytes and held:
                self._remove(held, next(iter(held)))
                self.dropped += 1

    def get(self, seq: int) -> bytes | None:
        """The body of a number, or None if it is not held."""
        for held in self._by_rank:
            if seq in held:
                return held[seq]
        return None

    def oldest(self) -> int | None:
        """Lowest number held, or None."""
        return min((next(iter(held)) for held in self._by_rank if held), default=None)

    def records(self) -> list[Record]:
        """All that is held, by number."""
        return sorted(Record(*pair) for held in self._by_rank for pair in held.items())

    def forget(self, up_to: int) -> None:
        """Let go of everything up to this number."""
        for held in self._by_rank:
            for seq in [seq for seq in held if seq <= up_to]:
                self._remove(held, seq)

    def _remove(self, held: dict[int, bytes], seq: int) -> None:
        self.n_bytes -= len(held.pop(seq))
