"""Runs that other hubs store in the same database, read on a thread of its own."""

import threading
from collections import deque
from dataclasses import dataclass
from typing import Final

import msgspec

from kmonitor.hub.log import LOG
from kmonitor.hub.reader_threads import run_reader_thread
from kmonitor.hub.runs.hub_event_log import HubEventLog
from kmonitor.hub.runs.run_record import RunRecord, read_record
from kmonitor.hub.store.connection import READ_ERRORS, HubIdRange, StoreConnection
from kmonitor_agent.wire.local.clock import Clock

TEAM_POLL_S: Final = 3.0
TAKE_EVERY_S: Final = 0.5

QUIET_AFTER_S: Final = 60.0
"""Time without new events after which a run of another hub may have lost its hub, seconds."""

_RUNS_AT_ONCE: Final = 200
_JOIN_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class _Found:
    changed: list[RunRecord]
    gone: list[int]


class TeamRuns:
    """Owns the thread `kmonitor-hub-team` and its connection; all methods are for the main thread.

    Other hubs' runs are shown and never changed: they have no actions here.
    """

    def __init__(
        self,
        log: HubEventLog,
        clock: Clock,
        *,
        every_s: float = TEAM_POLL_S,
    ) -> None:
        """Args: `every_s`: seconds between two reads."""
        self._event_log = log
        self._clock = clock
        self._every_s = every_s
        self._own = HubIdRange.range_of(log.database.next_key)
        self._known: dict[int, int] = {}
        self._found: deque[_Found] = deque()
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._main, name="kmonitor-hub-team", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread after its current read."""
        self._is_stopping.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)

    def apply_found(self) -> None:
        """Show the changes found since the last call, and mark runs that are silent."""
        registry = self._event_log.registry
        while self._found:
            found = self._found.popleft()
            registry.drop_others(found.gone)
            for record in found.changed:
                record.is_elsewhere = True
                registry.show_other(record)
        for record in registry.others():
            silent_s = self._clock.wall_s() - record.last_wall_s
            if silent_s > QUIET_AFTER_S and not (record.is_over or record.liveness):
                record.liveness = "silent"
                record.liveness_why = "its hub has stored nothing for at least a minute"
                registry.show_other(record)

    def _main(self) -> None:
        reader = self._event_log.database.open_reader
        run_reader_thread("runs of other hubs", reader, self._is_stopping, self._run_round)

    def _run_round(self, connection: StoreConnection) -> None:
        try:
            self._read_runs(connection)
        except (*READ_ERRORS, msgspec.MsgspecError) as exc:
            LOG.debug("other hubs' runs could not be read: %s", exc)
        self._is_stopping.wait(self._every_s)

    def _read_runs(self, connection: StoreConnection) -> None:
        stored: dict[int, int] = dict(
            connection.execute(
                "SELECT key, change FROM runs WHERE key NOT BETWEEN ? AND ?",
                (self._own.first, self._own.last),
            ).fetchall()
        )
        gone = [key for key in self._known if key not in stored]
        changed = [key for key, change in stored.items() if self._known.get(key) != change]
        if gone:
            self._put(_Found([], gone))
        for first in range(0, len(changed), _RUNS_AT_ONCE):
            keys = changed[first : first + _RUNS_AT_ONCE]
            marks = ",".join("?" for _ in keys)
            query = f"SELECT record FROM runs WHERE key IN ({marks})"  # noqa: S608 - marks only
            found = connection.execute(query, keys).fetchall()
            records = [read_record(body) for (body,) in found]
            self._put(_Found([each for each in records if each is not None], []))
            if self._is_stopping.is_set():
                return
        self._known = stored

    def _put(self, found: _Found) -> None:
        self._found.append(found)
