"""Whether a run's process still lives: dead, silent or heard."""

from typing import TYPE_CHECKING

from kmonitor.hub.ledger import Ledger
from kmonitor.hub.local_process import ProcessWatch
from kmonitor.hub.run_record import RunRecord
from kmonitor.hub.sessions import Sessions
from kmonitor_agent.local.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

SILENT_AFTER_S = 5.0
"""An agent pings each half second; so long without a word is worth telling."""

_DRAIN_S = 1.0
"""What a process sent right before it died may still be under way."""

_STEPS_S = (5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 43200, 86400)


class Liveness:
    """Owned by the hub's main thread.

    Attributes:
        is_settled: Asked of a run whose process is gone, before it is called lost: whether all
            that the process left on disk is taken, since that may tell how it ended.
    """

    def __init__(
        self, ledger: Ledger, sessions: Sessions, processes: ProcessWatch, clock: Clock
    ) -> None:
        self.is_settled: Callable[[RunRecord], bool] = _yes
        self._ledger = ledger
        self._sessions = sessions
        self._processes = processes
        self._clock = clock
        self._started_s = clock.monotonic_s()

    def look(self) -> None:
        """Judge every run that is not over."""
        for record in self._ledger.registry.live():
            if record.is_known:
                self._judge(record)

    def _judge(self, record: RunRecord) -> None:
        now_s = self._clock.monotonic_s()
        heard_s = self._sessions.last_heard_s(record.run)
        quiet_s = now_s - (self._started_s if heard_s is None else heard_s)
        is_local = self._processes.can_see(record.host, record.pid_namespace)
        if quiet_s > _DRAIN_S and is_local and not self._lives(record):
            if self.is_settled(record) and not record.is_over:
                self._see(record, "lost", "its process is gone without a word")
                self._ledger.run_is_lost(record)
        elif quiet_s > SILENT_AFTER_S:
            if heard_s is None:
                quiet_s = max(quiet_s, self._clock.wall_s() - record.last_wall_s)
            self._see(record, "silent", _silence(record, quiet_s, is_local=is_local))
        elif heard_s is not None and record.seen:
            self._see(record, "", "")

    def _lives(self, record: RunRecord) -> bool:
        return self._processes.is_alive(record.pid, record.boot_wall_s)

    def _see(self, record: RunRecord, seen: str, why: str) -> None:
        if (record.seen, record.seen_why) != (seen, why):
            record.seen, record.seen_why = seen, why
            self._ledger.registry.touch(record)


def _silence(record: RunRecord, quiet_s: float, *, is_local: bool) -> str:
    # In steps, so that a silent run is not told anew every second.
    step_s = max((step for step in _STEPS_S if step <= quiet_s), default=_STEPS_S[0])
    words = f"no data for {_duration(step_s)}"
    if is_local:
        return f"{words}; its process lives"
    return f"{words}; its process on {record.host} cannot be seen from here"


def _duration(seconds: int) -> str:
    for unit_s, unit in ((86400, "day"), (3600, "h"), (60, "min")):
        if seconds >= unit_s:
            return f"{seconds // unit_s} {unit}"
    return f"{seconds} s"


def _yes(_record: RunRecord) -> bool:
    return True
