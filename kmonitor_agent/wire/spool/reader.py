"""Reads spools that other processes may still be writing: nothing held, cut or deleted.

For spools in a folder that hosts share: a lock says nothing there about another host's process,
and other hosts may see a host's writes late, and in another order.
"""

import errno
import os
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.local.file_system import is_on_network_file_system
from kmonitor_agent.wire.local.folder_lock import is_locked
from kmonitor_agent.wire.local.private_files import UnsafePath
from kmonitor_agent.wire.spool.folder import (
    LARGE_GAP,
    SpooledEvent,
    lost_events,
)
from kmonitor_agent.wire.spool.format import (
    RESERVE_NAME,
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
"""Age of a file, seconds, from which its unreadable bytes stay unreadable; until then they may
only not have arrived here yet."""

LATE_S: Final = 60.0
"""Maximum delay on a network file system, from its caches, seconds."""

DEPTH: Final = 8
"""Number of levels below a folder that are searched for spools."""

_RETRY_S: Final = 5.0
_LONGEST_PAUSE_S: Final = 60.0
"""Longest interval at which a damaged file that keeps changing is searched, seconds."""

MOST_FOLDERS: Final = 20_000
"""Maximum number of folders to search: some seconds. The root of a disk has more."""

_MOST_ENTRIES: Final = 100_000
"""Maximum number of entries of one folder that are checked."""


@dataclass(slots=True)
class _ReadPosition:
    inode: int = 0
    offset: int = 0
    facts: SessionFacts | None = None
    seq: int = 0
    not_before_s: float = 0.0
    pause_s: float = _RETRY_S


@dataclass(frozen=True, slots=True)
class SpoolChunk:
    """New events of a spool.

    Attributes:
        events: In order, without holes.
        skipped: Count of missing numbers before the first of `events` that no longer exist
            anywhere.
        lost: Numbers of those `events` that replace a missing one.
        is_last: True if nothing followed when it was read.
    """

    events: list[SpooledEvent]
    skipped: int = 0
    lost: tuple[int, ...] = ()
    is_last: bool = False


@dataclass(slots=True)
class SpoolReader:
    """One run's folder, read as far as it is written; one thread.

    Attributes:
        folder: The run's folder; its name is the run's id.
        seq: Newest number returned.
        facts: The session that wrote the last returned events; None while none is readable.
        why_waiting: Why some events cannot be read now but may still arrive; empty when everything
            was read.
    """

    folder: Path
    seq: int = 0
    facts: SessionFacts | None = None
    why_waiting: str = ""
    _positions: dict[str, _ReadPosition] = field(default_factory=dict[str, _ReadPosition])
    _before: SpooledEvent | None = None

    @property
    def run(self) -> str:
        return self.folder.name

    def read(self, limit: int = 1024) -> SpoolChunk:
        """About `limit` events that follow `seq` at most; none when there is nothing new.

        A missing number comes as a `LostEvents`; where too many are missing for that, and where
        the oldest are gone, `skipped` counts them.

        Raises:
            OSError: The folder cannot be read now.
        """
        self.why_waiting = ""
        events: list[SpooledEvent] = []
        skipped = 0
        lost: list[int] = []
        for path, is_last in self._unread():
            for event in self._new_in(path, is_last=is_last):
                missing = event.seq - self.seq - 1
                if missing > LARGE_GAP or (missing and not self.seq):
                    if events:
                        return SpoolChunk(events, skipped, tuple(lost))
                    skipped = missing
                elif missing:
                    events += lost_events(self.seq + 1, event, self._before)
                    lost += range(self.seq + 1, event.seq)
                events.append(event)
                self.seq = event.seq
                self._before = event
                self.facts = event.facts or self.facts
                if len(events) >= limit:
                    return SpoolChunk(events, skipped, tuple(lost))
            if self.why_waiting:
                break
        return SpoolChunk(events, skipped, tuple(lost), is_last=True)

    def resume_after(self, seq: int) -> None:
        """Continue after this number, the newest that a hub has."""
        if seq < self.seq:
            self._positions.clear()
        self.seq = seq
        self._before = None

    def _unread(self) -> list[tuple[Path, bool]]:
        """Segments that can hold the next events, and True for the last one."""
        paths = segments_in(self.folder)
        begins = [first_seq_of(path.name) or 1 for path in paths]
        first = max((at for at, begin in enumerate(begins) if begin <= self.seq + 1), default=0)
        self._positions = {
            path.name: self._positions.get(path.name, _ReadPosition()) for path in paths[first:]
        }
        return [(path, path == paths[-1]) for path in paths[first:]]

    def _new_in(self, path: Path, *, is_last: bool) -> Iterator[SpooledEvent]:
        position = self._positions[path.name]
        if time.monotonic() < position.not_before_s:
            self.why_waiting = f"{path.name} cannot be read in full yet"
            return
        try:
            status = path.lstat()
            if status.st_ino != position.inode or status.st_size < position.offset:
                position.inode = status.st_ino  # replaced by a thinner one
                position.offset = 0
            segment = _parse(path, position)
        except FileNotFoundError:
            return  # freed meanwhile: its numbers are missing from here on
        # Another host's clock may be ahead, though not by much.
        may_change = abs(time.time() - status.st_mtime) < SETTLED_S
        if segment.is_damaged and may_change:
            position.not_before_s = time.monotonic() + position.pause_s
            position.pause_s = min(_LONGEST_PAUSE_S, 2 * position.pause_s)
            self.why_waiting = f"{path.name} cannot be read in full yet"
            return
        begin = position.offset
        position.facts = segment.facts
        for record, end in zip(segment.records, segment.ends, strict=True):
            if record.seq > self.seq:
                yield SpooledEvent(record.seq, record.body, segment.facts)
            # A caller that stops at this record resumes behind the previous one.
            position.offset = begin + end
            position.seq = record.seq
        position.offset = begin + segment.good_bytes
        if position.offset < status.st_size and may_change and not is_last:
            self.why_waiting = f"{path.name} has not been fully received yet"


def spools_below(
    folder: Path,
    *,
    known: Collection[Path] = (),
    refused: Callable[[UnsafePath], object] | None = None,
) -> list[Path]:
    """Every run's spool in a folder, by path: a folder with segments; links are not followed.

    Args:
        folder: Folder to search, `DEPTH` levels deep.
        known: Spools found before: they are not searched again.
        refused: Called with a spool whose name can be no run's, each time; it is left out.

    Raises:
        OSError: The folder itself cannot be read, or has more than `MOST_FOLDERS` that are no
            spools; unreadable entries below it are left out.
    """
    spools: list[Path] = []
    left = [(folder, DEPTH)]
    n_searched = 0
    while left:
        current, depth = left.pop()
        if n_searched >= MOST_FOLDERS:
            raise OSError(errno.E2BIG, f"it has more than {MOST_FOLDERS} other folders")
        try:
            is_spool, below = (True, []) if current in known else _scan_folder(current)
        except OSError:
            if current == folder:
                raise
            continue
        if not is_spool:
            n_searched += 1
            left += [(current / name, depth - 1) for name in reversed(below) if depth]
        elif is_run_name(current.name):
            spools.append(current)
        elif refused is not None:
            refused(UnsafePath(current, "has no run name; rename or remove it"))
    return spools


def _scan_folder(folder: Path) -> tuple[bool, list[str]]:
    """True for a run's spool; for another folder, those in it by name. Raises: OSError."""
    below: list[str] = []
    with os.scandir(folder) as entries:
        for entry in islice(entries, _MOST_ENTRIES):
            if first_seq_of(entry.name) and entry.is_file(follow_symlinks=False):
                return True, []
            if entry.is_dir(follow_symlinks=False):
                below.append(entry.name)
    return False, sorted(below)


def _parse(path: Path, position: _ReadPosition) -> Segment:
    data = read_segment(path, start=position.offset)
    return (
        parse_rest(data, position.facts, position.seq) if position.offset else parse_segment(data)
    )


def lateness_s(folder: Path) -> float:
    """Maximum delay between writing and reading in a folder, seconds."""
    return LATE_S if is_on_network_file_system(folder) else 0.0


def is_left(folder: Path) -> bool:
    """True if the process that wrote a run's spool ended without reporting it.

    Then no process holds its lock, and its reserve is still there, which a process removes when it
    ends or rests. False where locks of other machines cannot be trusted.
    """
    has_reserve = (folder / RESERVE_NAME).exists()
    return has_reserve and not is_locked(folder) and not is_on_network_file_system(folder)
