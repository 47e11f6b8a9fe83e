"""Reader of a folder's spools into a hub of its own, as far as their processes wrote them.

Nothing is locked, changed or deleted there.
"""

from collections import deque
from dataclasses import dataclass
from pathlib import Path

from kmonitor.hub.faults import HubFaults
from kmonitor.hub.ingest.spools import SpoolTrouble
from kmonitor.hub.runs.hub_event_log import HubEventLog, Origin, spooled_events
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.local.private_files import UnsafePath
from kmonitor_agent.wire.messages.fields import is_id
from kmonitor_agent.wire.spool.format import unsafe_in
from kmonitor_agent.wire.spool.reader import (
    SpoolChunk,
    SpoolReader,
    is_left,
    lateness_s,
    spools_below,
)

_FOLDER_SCAN_EVERY_S = 3.0
_POLL_S = 0.5
_CALM_EVERY_S = 10.0
_CALM_AFTER_S = 120.0
"""Time without new events after which a spool is read less often, seconds: most of a folder's runs
have ended."""

_STEP_EVENTS = 256
_STEP_S = 0.02
_STEP_EVERY_S = 0.1


@dataclass(slots=True)
class _Watched:
    spool_reader: SpoolReader
    due_s: float
    gave_s: float
    is_read: bool = False


class FolderReader:
    """Owned by the hub's main thread; each `step` takes some 20 ms, as far as the disk does."""

    def __init__(self, root: Path, log: HubEventLog, faults: HubFaults, clock: Clock) -> None:
        self._root = root
        self._event_log = log
        self._faults = faults
        self._clock = clock
        self._trouble = SpoolTrouble(root)
        self._late_s = lateness_s(root)
        self._watched: dict[str, _Watched] = {}
        self._due: deque[str] = deque()
        self._scan_s = float("-inf")

    def step(self) -> None:
        """Look for new spools, and take new events of the known ones."""
        begin_s = now_s = self._clock.monotonic_s()
        if now_s - self._scan_s >= _FOLDER_SCAN_EVERY_S:
            self._scan_s = now_s
            self._scan(now_s)
        if not self._due:
            self._due.extend(run for run, each in self._watched.items() if each.due_s <= now_s)
        while self._due and now_s - begin_s < _STEP_S and not self._event_log.is_full:
            self._read_spool(self._watched[self._due.popleft()], now_s)
            now_s = self._clock.monotonic_s()

    def wait_s(self) -> float:
        """Seconds to the next step; none while there is more to read."""
        return 0.0 if self.is_reading() else _STEP_EVERY_S

    def is_reading(self) -> bool:
        """True if some spools were not yet read to their end."""
        has_scanned = self._scan_s > float("-inf")
        return not has_scanned or any(not each.is_read for each in self._watched.values())

    def is_settled(self, record: RunRecord) -> bool:
        """True if nothing more of a run has to be read."""
        watched = self._watched.get(record.run)
        return watched is None or watched.is_read

    def _scan(self, now_s: float) -> None:
        try:
            known = {each.spool_reader.folder for each in self._watched.values()}
            found = spools_below(self._root, known=known, refused=self._name)
        except OSError as exc:
            self._faults.record("folder", exc)
            return
        for folder in found:
            if not is_id(folder.name):
                self._faults.record("folder: name", "its name is not a run ID", of=folder.name)
            elif folder.name not in self._watched:
                self._watched[folder.name] = _Watched(SpoolReader(folder), now_s, now_s)
                self._name_unsafe(folder)

    def _name(self, entry: UnsafePath) -> None:
        self._trouble.note_unsafe([entry])

    def _name_unsafe(self, folder: Path) -> None:
        try:
            self._trouble.note_unsafe(unsafe_in(folder))
        except OSError as exc:
            self._faults.record("folder", exc)

    def _read_spool(self, watched: _Watched, now_s: float) -> None:
        is_calm = now_s - watched.gave_s > _CALM_AFTER_S
        watched.due_s = now_s + (_CALM_EVERY_S if is_calm else _POLL_S)
        try:
            chunk = watched.spool_reader.read(_STEP_EVENTS)
        except OSError as exc:
            self._faults.record("folder", exc)
            watched.is_read = True  # as far as it goes
            return
        if not chunk.events:
            watched.is_read = True
            self._note_left(watched.spool_reader)
            return
        watched.is_read = chunk.is_last
        watched.gave_s = now_s
        if not chunk.is_last:
            watched.due_s = now_s
        self._store_chunk(watched.spool_reader.run, chunk)
        if chunk.is_last:
            self._note_left(watched.spool_reader)

    def _note_left(self, reader: SpoolReader) -> None:
        record = self._event_log.registry.get(reader.run)
        if record is not None and not record.is_over and not record.is_left:
            record.is_left = is_left(reader.folder)

    def _store_chunk(self, run: str, chunk: SpoolChunk) -> None:
        record = self._event_log.registry.get_or_add(run)
        record.is_shipped = True
        record.late_s = self._late_s
        record.is_left = False
        first = chunk.events[0]
        if first.seq > record.accepted + 1:
            facts = first.facts
            origin = None if facts is None else Origin.of(facts)
            self._event_log.append_gap(record, first.seq - 1, origin)
        self._event_log.append(record, spooled_events(run, chunk.events, self._faults))
        if record.liveness:
            record.liveness = record.liveness_why = ""
