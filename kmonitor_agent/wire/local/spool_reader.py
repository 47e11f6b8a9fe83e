"""Reads spools that other processes may still be writing: no lock, no cut, nothing deleted.

For spools in a folder that hosts share: a lock says nothing there about another host's process,
and what one host has written another may see late, and in another order.
"""

import os
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.local.private_files import UnsafePath
from kmonitor_agent.wire.local.spool_folder import (
    LARGE_GAP,
    WHY_MISSING,
    SpooledEvent,
    encode_lost_event,
    event_time_s,
)
from kmonitor_agent.wire.local.spool_format import (
    Segment,
    SessionFacts,
    first_seq_of,
    is_run_name,
    parse_rest,
    parse_segment,
    read_segment,
    segments_in,
)

SETTLED_S: Final = 60.0
"""Unreadable bytes in a file that was not changed for so long stay unreadable; until then they
may only not have arrived here yet."""

DEPTH: Final = 8
"""How far below a folder spools are looked for."""

_LOOK_AGAIN_S: Final = 5.0
_LONGEST_PAUSE_S: Final = 60.0
"""A damaged file that somebody keeps changing is searched less and less often, as far as this."""

_MOST_ENTRIES: Final = 100_000
"""More entries of one folder are not looked at."""


@dataclass(slots=True)
class _Place:
    """How far one segment was read."""

    inode: int = 0
    offset: int = 0
    facts: SessionFacts | None = None
    seq: int = 0
    not_before_s: float = 0.0
    pause_s: float = _LOOK_AGAIN_S


@dataclass(frozen=True, slots=True)
class SpoolChunk:
    """What was new in a spool.

    Attributes:
        events: In order, without holes.
        skipped: How many numbers before the first of `events` nobody has any more.
        lost: Which numbers of `events` stand for one that is missing.
        is_last: Nothing followed when it was read.
    """

    events: list[SpooledEvent]
    skipped: int = 0
    lost: tuple[int, ...] = ()
    is_last: bool = False


@dataclass(slots=True)
class SpoolReader:
    """One run's folder, read as far as it goes; one thread.

    Attributes:
        folder: The run's folder; its name is the run's id.
        seq: Newest number that was given out.
        facts: The boot that wrote what was given out last; None while none is readable.
        waits: What cannot be read now and may still arrive; empty when everything was read.
    """

    folder: Path
    seq: int = 0
    facts: SessionFacts | None = None
    waits: str = ""
    _places: dict[str, _Place] = field(default_factory=dict[str, _Place])
    _before: SpooledEvent | None = None

    @property
    def run(self) -> str:
        """The run's id."""
        return self.folder.name

    def read(self, limit: int = 1024) -> SpoolChunk:
        """About `limit` events that follow `seq` at most; none when there is nothing new.

        A number that is missing comes as a `Lost` event; where more are missing than that is good
        for, and where the oldest are gone, `skipped` says how many.

        Raises:
            OSError: The folder cannot be read now.
        """
        self.waits = ""
        events: list[SpooledEvent] = []
        skipped = 0
        lost: list[int] = []
        for path, is_last in self._unread():
            for found in self._new_in(path, is_last=is_last):
                missing = found.seq - self.seq - 1
                if missing > LARGE_GAP or (missing and not self.seq):
                    if events:
                        return SpoolChunk(events, skipped, tuple(lost))
                    skipped = missing
                elif missing:
                    events += self._lost(found)
                    lost += range(self.seq + 1, found.seq)
                events.append(found)
                self.seq, self._before = found.seq, found
                self.facts = found.facts or self.facts
                if len(events) >= limit:
                    return SpoolChunk(events, skipped, tuple(lost))
            if self.waits:
                break
        return SpoolChunk(events, skipped, tuple(lost), is_last=True)

    def go_on_after(self, seq: int) -> None:
        """Give out next what follows this number: the newest that a hub has."""
        if seq < self.seq:
            self._places.clear()
        self.seq, self._before = seq, None

    def _lost(self, found: SpooledEvent) -> list[SpooledEvent]:
        before = self._before
        is_same_boot = before is not None and before.facts == found.facts
        t_s = event_time_s(before.body) if before is not None and is_same_boot else 0.0
        return [
            SpooledEvent(seq, encode_lost_event(seq, t_s, WHY_MISSING), found.facts)
            for seq in range(self.seq + 1, found.seq)
        ]

    def _unread(self) -> list[tuple[Path, bool]]:
        """Segments that can hold what comes next, and whether each is the last."""
        paths = segments_in(self.folder)
        begins = [first_seq_of(path.name) or 1 for path in paths]
        first = max((at for at, begin in enumerate(begins) if begin <= self.seq + 1), default=0)
        self._places = {path.name: self._places.get(path.name, _Place()) for path in paths[first:]}
        return [(path, path == paths[-1]) for path in paths[first:]]

    def _new_in(self, path: Path, *, is_last: bool) -> Iterator[SpooledEvent]:
        place = self._places[path.name]
        if time.monotonic() < place.not_before_s:
            self.waits = f"{path.name} cannot be read in full yet"
            return
        try:
            found = path.lstat()
            if found.st_ino != place.inode or found.st_size < place.offset:
                place.inode, place.offset = found.st_ino, 0  # replaced by a thinner one
            segment = _parse(path, place)
        except FileNotFoundError:
            return  # freed meanwhile: its numbers are missing from here on
        # Another host's clock may be ahead, though not by much.
        may_change = abs(time.time() - found.st_mtime) < SETTLED_S
        if segment.is_damaged and may_change:
            place.not_before_s = time.monotonic() + place.pause_s
            place.pause_s = min(_LONGEST_PAUSE_S, 2 * place.pause_s)
            self.waits = f"{path.name} cannot be read in full yet"
            return
        begin = place.offset
        place.facts = segment.facts
        for record, end in zip(segment.records, segment.ends, strict=True):
            if record.seq > self.seq:
                yield SpooledEvent(record.seq, record.body, segment.facts)
            # Who took no more read on from behind the record before.
            place.offset = begin + end
            place.seq = record.seq
        place.offset = begin + segment.good_bytes
        if place.offset < found.st_size and may_change and not is_last:
            self.waits = f"{path.name} is not here in full yet"


def spools_below(
    folder: Path,
    *,
    known: Collection[Path] = (),
    refused: Callable[[UnsafePath], object] | None = None,
) -> list[Path]:
    """Every run's spool in a folder, by path: a folder with segments; links are not followed.

    Args:
        folder: Where to look, `DEPTH` folders deep.
        known: Spools that were found before: they are not looked into once more.
        refused: Called with a spool whose name can be no run's, each time; it is left out.

    Raises:
        OSError: The folder itself cannot be read; what cannot be read below it is left out.
    """
    found: list[Path] = []
    left = [(folder, DEPTH)]
    while left:
        place, depth = left.pop()
        try:
            is_spool, below = (True, []) if place in known else _look_into(place)
        except OSError:
            if place == folder:
                raise
            continue
        if not is_spool:
            left += [(place / name, depth - 1) for name in reversed(below) if depth]
        elif is_run_name(place.name):
            found.append(place)
        elif refused is not None:
            refused(UnsafePath(place, "has no name of a run; rename or remove it"))
    return found


def _look_into(folder: Path) -> tuple[bool, list[str]]:
    """Whether a folder is a run's spool; if not, the folders in it by name. Raises: OSError."""
    below: list[str] = []
    with os.scandir(folder) as entries:
        for entry in islice(entries, _MOST_ENTRIES):
            if first_seq_of(entry.name) and entry.is_file(follow_symlinks=False):
                return True, []
            if entry.is_dir(follow_symlinks=False):
                below.append(entry.name)
    return False, sorted(below)


def _parse(path: Path, place: _Place) -> Segment:
    data = read_segment(path, start=place.offset)
    return parse_rest(data, place.facts, place.seq) if place.offset else parse_segment(data)
