"""Removal of runs that ended long ago, or the oldest when they take too much: one at a time."""

from collections.abc import Callable

from kmonitor.hub.log import LOG
from kmonitor.hub.options import Keep
from kmonitor.hub.runs.hub_event_log import HubEventLog
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.local.clock import Clock, WallClockCheck

_DAY_S = 86400.0
_PAGES_AT_ONCE = 256
"""Pages of 4 KiB given back to the disk in one step, some milliseconds."""


class Retention:
    """Owned by the hub's main thread; each `step` takes some milliseconds.

    A run disappears from the lists at once and its events bit by bit (`Database.sweep`); only then
    is the next run selected.

    Args:
        is_abandoned: True if a run that has not ended may be removed all the same.
        check: Knows if the clock can be trusted.

    Attributes:
        removed: Number of runs removed since the hub started.
        keep: Rules of retention; may be changed between two steps.
    """

    def __init__(
        self,
        log: HubEventLog,
        keep: Keep,
        clock: Clock,
        is_abandoned: Callable[[RunRecord], bool],
        check: WallClockCheck,
    ) -> None:
        self.removed = 0
        self._event_log = log
        self.keep = keep
        self._clock = clock
        self._is_abandoned = is_abandoned
        self._clock_check = check
        self._is_unsure = False

    def step(self) -> None:
        """Remove one run if one has to go, or give some room back to the disk."""
        database = self._event_log.database
        if (
            database.is_disconnected
            or database.is_sweeping()
            or self._event_log.registry.is_deleting
        ):
            return
        found = self._next_to_remove()
        if found is None:
            database.release_pages(_PAGES_AT_ONCE)
            return
        record, why = found
        LOG.info("removed run %s (%r): %s", record.run, record.name, why)
        self._event_log.audit("hub", "delete", record.run, record.name, why)
        self._event_log.registry.delete(record)
        self.removed += 1

    def _next_to_remove(self) -> tuple[RunRecord, str] | None:
        keep = self.keep
        if not (keep.days or keep.n_bytes):
            return None
        oldest = min(self._removable(), key=lambda record: record.last_wall_s, default=None)
        if oldest is None:
            return None
        age_s = self._clock.wall_s() - oldest.last_wall_s
        if keep.days and self._is_clock_trusted() and age_s > keep.days * _DAY_S:
            return (
                oldest,
                f"it ended {age_s / _DAY_S:.0f} days ago, and the limit is {keep.days:g}",
            )
        if keep.n_bytes:
            used = self._event_log.used_bytes
            if used > keep.n_bytes:
                return oldest, f"{used} bytes are stored, and the limit is {keep.n_bytes}"
        return None

    def _is_clock_trusted(self) -> bool:
        believes = self._clock_check.believes()
        if not believes and not self._is_unsure:
            LOG.info("no run is removed for its age for a day: the clock stepped or is unknown")
        self._is_unsure = not believes
        return believes

    def _removable(self) -> list[RunRecord]:
        return [
            record
            for record in self._event_log.registry.all()
            if not record.pinned and (record.is_over or self._is_abandoned(record))
        ]
