"""Verification of stored events, bit by bit in idle time, and their repair.

A damaged row is repaired if one bit flipped (`row_checks`), else filled again from the run's
spool, else marked as lost; charts continue with its packed copy. A missing row is filled or marked
in the same way. Where pages or indexes are damaged nothing is written: `is_broken` then asks for
`store.salvage`.
"""

import sqlite3
from pathlib import Path
from typing import Any, Final

from kmonitor.hub.faults import HubFaults
from kmonitor.hub.runs.hub_event_log import HubEventLog
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor.hub.store.connection import RETRYABLE_ERRORS
from kmonitor.hub.store.row_checks import DAMAGED, NewEvent, is_sound, repaired_body, seconds, wall
from kmonitor.hub.store.salvage import DAMAGE, is_of_tables
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.messages.codec import (
    ProtocolError,
    decode_event,
    encode_event,
    event_type,
)
from kmonitor_agent.wire.messages.events import LostEvents
from kmonitor_agent.wire.spool.folder import encode_lost_event, spooled_bodies

STEP_EVERY_S: Final = 0.25
_BUSY_EVERY_S: Final = 5.0
"""Interval of pieces while events arrive, seconds."""

_AGAIN_S: Final = 24 * 3600.0
_CHUNK_ROWS: Final = 1_000
"""Rows of one piece: some 5 ms."""

_MOST_FILLED: Final = 10_000
"""Maximum number of missing events of one gap that are searched in the spool; a longer gap is one
row."""


class EventVerifier:
    """Owned by the hub's main thread.

    Attributes:
        restored: Number of damaged or missing events that were restored.
        marked: Number of those that were marked as lost.
        is_broken: True if the database's own structure is damaged.
    """

    def __init__(self, log: HubEventLog, spools: Path, faults: HubFaults, clock: Clock) -> None:
        self.restored = self.marked = 0
        self.is_broken = False
        self._log = log
        self._database = log.database
        self._spools = spools
        self._faults = faults
        self._clock = clock
        self._begin()
        self._rows = -1
        self._not_before_s = 0.0

    def _begin(self) -> None:
        self._row = self._database.id_range.first
        self._head = self._database.head
        # The newest row of each run so far: what a missing or damaged one follows.
        self._before: dict[int, NewEvent] = {}
        self._rewritten: list[NewEvent] = []
        self._added: list[NewEvent] = []

    def text(self) -> str:
        """Lost events found since the hub started, as text; empty: none."""
        if not self.marked:
            return ""
        found = self.restored + self.marked
        return (
            f"{found} stored events were damaged: {self.restored} were restored, and "
            f"{self.marked} are marked as lost; check the disk and memory of this machine"
        )

    def check(self) -> None:
        """Raises: sqlite3.DatabaseError: `is_broken`."""
        if self.is_broken:
            raise sqlite3.DatabaseError("pages or indexes are damaged")

    def step(self) -> None:
        """Verify one piece if it is time."""
        now_s = self._clock.monotonic_s()
        rows = self._log.registry.rows
        is_busy = rows != self._rows
        self._rows = rows
        if self.is_broken or self._database.is_disconnected or now_s < self._not_before_s:
            return
        if is_busy:
            self._not_before_s = now_s + _BUSY_EVERY_S
        try:
            self._verify_rows(now_s)
        except RETRYABLE_ERRORS as exc:
            self._begin()  # a lock, a full disk: later it may do
            self.is_broken = isinstance(exc, sqlite3.OperationalError) and is_of_tables(exc)
            raise
        except DAMAGE:
            self.is_broken = True
            raise

    def _verify_rows(self, now_s: float) -> None:
        rows = self._database.rows_after(self._row, self._head, _CHUNK_ROWS)
        if rows and not self._database.is_indexed(rows[0][0], rows[-1][0]):
            raise sqlite3.DatabaseError("an index does not match the rows")
        for row in rows:
            self._verify(row)
        if not rows:
            if not self._database.has_sound_indexes():
                raise sqlite3.DatabaseError("indexes differ")
            self._verify_ends()
        if self._rewritten or self._added:
            self._database.repair(self._rewritten, self._added)
            self._rewritten = []
            self._added = []
        if rows:
            self._row = rows[-1][0]
        else:
            self._begin()
            self._not_before_s = now_s + _AGAIN_S

    def _verify(self, row: tuple[Any, ...]) -> None:
        run = self._log.registry.id_of(row[1])
        record = None if run is None else self._log.registry.get(run)
        if record is None:
            return  # deleted, and not yet swept
        event = row[:7] if is_sound(row) else self._repaired_event(record, row)
        if event[2] < 0:
            return  # the hub's own
        before = self._before.get(record.key)
        expected = 1 if before is None else before[2] + 1
        if expected < event[2] and expected < _first_of(event):
            self._fill(record, expected, event[2] - 1, event[0])
        self._before[record.key] = event

    def _verify_ends(self) -> None:
        """Check that no run lacks its newest events; the next round checks one that continues."""
        for record in self._log.registry.all():
            before = self._before.get(record.key)
            seen = 0 if before is None else before[2]
            newest = self._log.confirmed(record)
            if seen < newest and seen == self._database.newest_seq(record.key):
                self._fill(record, seen + 1, newest, self._head + 1)

    def _repaired_event(self, record: RunRecord, row: tuple[Any, ...]) -> NewEvent:
        event = repaired_body(row)
        if event is None and row[2] > 0:
            event = self._from_spool(record, row)
        if event is None:
            t_s = self._time_before(record)
            lost = encode_lost_event(max(0, row[2]), t_s, DAMAGED)
            event = (*row[:3], t_s, wall(row[4]), "lost", lost)
        self._count(record, event)
        self._rewritten.append(event)
        return event

    def _from_spool(self, record: RunRecord, row: tuple[Any, ...]) -> NewEvent | None:
        body = spooled_bodies(self._spools / record.run, row[2], row[2]).get(row[2])
        if body is None:
            return None
        event: NewEvent = (*row[:5], event_type(body), body)
        if is_sound((*event, row[7])):
            return event
        return (*row[:3], self._time_of(record, body), wall(row[4]), event_type(body), body)

    def _fill(self, record: RunRecord, first: int, last: int, before_row: int) -> None:
        """Fill missing events of a run from its spool, else with one row per gap."""
        before = self._before.get(record.key)
        after_row = self._database.id_range.first if before is None else before[0]
        wall_s = record.started_wall_s if before is None else before[4]
        spooled = spooled_bodies(self._spools / record.run, first, min(last, first + _MOST_FILLED))
        found = _with_gaps(spooled, first, last, self._time_before(record))
        pending = {event[0] for event in self._added}
        rows = self._database.free_rows(after_row, before_row, len(found) + len(pending))
        rows = [row for row in rows if row not in pending][: len(found)]
        if len(rows) < len(found):
            found = _with_gaps({}, first, last, self._time_before(record))
        for row, (seq, body) in zip(rows, found, strict=False):
            t_s = self._time_of(record, body)
            event: NewEvent = (row, record.key, seq, t_s, wall_s, event_type(body), body)
            self._count(record, event)
            self._added.append(event)
            self._before[record.key] = event

    def _count(self, record: RunRecord, event: NewEvent) -> None:
        is_lost = event[5] == "lost"
        self.marked += is_lost
        self.restored += not is_lost
        state = "marked as lost" if is_lost else "restored"
        self._faults.record("store: damaged", f"event {event[2]}: {state}", of=record.run)

    def _time_before(self, record: RunRecord) -> float:
        before = self._before.get(record.key)
        return 0.0 if before is None else seconds(before[3])

    def _time_of(self, record: RunRecord, body: bytes) -> float:
        """Run time of a restored event, counted from the one before it."""
        before = self._before.get(record.key)
        try:
            since_s = 0.0 if before is None else decode_event(before[6]).t_s
            return seconds(self._time_before(record) + decode_event(body).t_s - since_s)
        except ProtocolError:
            return self._time_before(record)


def _first_of(event: NewEvent) -> int:
    """The first event number that a row covers."""
    try:
        lost = decode_event(event[6]) if event[5] == "lost" else None
    except ProtocolError:
        lost = None
    return lost.first if isinstance(lost, LostEvents) else event[2]


def _with_gaps(
    bodies: dict[int, bytes], first: int, last: int, t_s: float
) -> list[tuple[int, bytes]]:
    """Numbers and bodies from `first` to `last`; one for each range of missing numbers."""
    found: list[tuple[int, bytes]] = []
    expected = first
    for seq in [*sorted(bodies), last + 1]:
        if seq > expected:
            events = LostEvents(t_s=t_s, first=expected, last=seq - 1, why=DAMAGED)
            found.append((seq - 1, encode_event(events)))
        if seq in bodies:
            found.append((seq, bodies[seq]))
        expected = seq + 1
    return found
