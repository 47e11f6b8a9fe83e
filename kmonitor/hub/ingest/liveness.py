"""Whether a run's process still lives: dead, silent or heard."""

from typing import TYPE_CHECKING, Literal

from kmonitor.hub.ingest.connections import Sessions
from kmonitor.hub.ingest.local_process import ProcessWatch
from kmonitor.hub.ingest.memory_deaths import MemoryDeaths
from kmonitor.hub.runs.event_log import Ledger
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.local.spool_format import BootFacts

if TYPE_CHECKING:
    from collections.abc import Callable

SILENT_AFTER_S = 3.0
"""An agent pings each half second; so long without a word is worth telling."""

SHIPPED_SILENT_AFTER_S = 60.0
"""What comes by a folder may be late by what a network file system keeps in its caches."""

_ABANDONED_S = 3600.0
"""A silent run whose process nobody here can see may be deleted after so long."""

_DRAIN_S = 1.0
"""What a process sent right before it died may still be under way."""

_AWAITED_S = 10.0
"""A dead process's spool that gives nothing for so long is awaited no more: a child of the
process may hold its lock."""

_GONE = "its process is gone without a word"

_AT_LIMIT = "what it told ends at the time limit of its job"

_STEPS_S = (3, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 43200, 86400)


class Liveness:
    """Owned by the hub's main thread.

    Attributes:
        is_settled: Asked of a run whose process is gone, before it is called lost: whether all
            that the process left on disk is taken, since that may tell how it ended.
    """

    def __init__(
        self,
        ledger: Ledger,
        sessions: Sessions,
        processes: ProcessWatch,
        clock: Clock,
        *,
        deaths: MemoryDeaths | None = None,
    ) -> None:
        self.is_settled: Callable[[RunRecord], bool] = _yes
        self._ledger = ledger
        self._sessions = sessions
        self._processes = processes
        self._clock = clock
        self._started_s = clock.monotonic_s()
        self._deaths = deaths or MemoryDeaths(clock)
        self._awaited: dict[str, tuple[int, float]] = {}

    def is_gone(self, record: RunRecord) -> bool:
        """Whether the run's process is seen to be dead, though it may not be called lost yet."""
        session = self._sessions.of_run(record.run)
        if session is not None and session.boot != record.boot:
            return False  # the next process said hello, and has yet to tell its pid
        is_local = self._processes.can_see(record.host, record.boot, record.pid_namespace)
        # Between two processes of a run, its supervisor is what lives.
        pid = record.supervisor or record.pid
        return is_local and not self._processes.is_alive(pid, record.boot_wall_s)

    def is_far(self, facts: BootFacts) -> bool:
        """Whether this was written on another host, whose processes cannot be seen from here."""
        return self._processes.is_far(facts)

    def look(self) -> None:
        """Judge every run that is not over."""
        live = [record for record in self._ledger.registry.live() if record.is_known]
        for record in live:
            self._judge(record)
        self._deaths.keep_only([record.run for record in live])

    def _judge(self, record: RunRecord) -> None:
        now_s = self._clock.monotonic_s()
        heard_s = self._sessions.last_heard_s(record.run)
        quiet_s = now_s - (self._started_s if heard_s is None else heard_s)
        if record.is_shipped:
            self._judge_shipped(record, now_s)
            return
        is_gone = quiet_s > _DRAIN_S and self.is_gone(record)
        self._count_kills(record)
        if is_gone and self._all_is_taken(record, now_s):
            self._lose(record)
        elif record.supervisor and not is_gone:
            self._see(record, "", "")  # a script takes its time to come to its first fit
        elif quiet_s > SILENT_AFTER_S and not record.is_over:
            if heard_s is None:
                quiet_s = max(quiet_s, self._clock.wall_s() - record.last_wall_s)
            self._see(record, "silent", self._silence(record, quiet_s, is_gone=is_gone))
        elif heard_s is not None and record.seen and not is_gone:
            self._see(record, "", "")

    def _count_kills(self, record: RunRecord) -> None:
        if (
            self._deaths.is_due(record)
            and self._processes.can_see(record.host, record.boot, record.pid_namespace)
            and self._processes.is_alive(record.pid, record.boot_wall_s)
        ):
            self._deaths.count(record)

    def _judge_shipped(self, record: RunRecord, now_s: float) -> None:
        if self._sessions.of_run(record.run) is not None:
            return  # more of it is coming just now
        quiet_s = self._clock.wall_s() - record.last_wall_s
        is_gone = self.is_gone(record)
        if is_gone and self._all_is_taken(record, now_s):
            self._lose(record)
        elif quiet_s > SHIPPED_SILENT_AFTER_S:
            self._see(record, "silent", self._silence(record, quiet_s, is_gone=is_gone))
        elif not record.is_over:
            self._see(record, "", "")

    def is_abandoned(self, record: RunRecord) -> bool:
        """Whether a silent run's process cannot be seen, and told nothing for an hour."""
        if record.seen != "silent" or self._sessions.of_run(record.run) is not None:
            return False
        if self._processes.can_see(record.host, record.boot, record.pid_namespace):
            return False
        return self._clock.wall_s() - record.last_wall_s > _ABANDONED_S

    def _all_is_taken(self, record: RunRecord, now_s: float) -> bool:
        # A session outlives its process, and keeps the spool from being taken from the disk.
        session = self._sessions.of_run(record.run)
        if session is not None:
            self._sessions.drop(session)
        if self.is_settled(record):
            return True
        accepted, since_s = self._awaited.get(record.run, (-1, now_s))
        if accepted != record.accepted:
            since_s = now_s
        self._awaited[record.run] = (record.accepted, since_s)
        return now_s - since_s > _AWAITED_S

    def _lose(self, record: RunRecord) -> None:
        self._awaited.pop(record.run, None)
        if not record.is_over:
            kills = self._deaths.told(record)
            record.cause = kills.cause or record.cause
            why = f"{_GONE}; {kills.why}" if kills.why else _GONE
            if record.ends_at_limit:
                record.cause = "time limit"
                why = f"{_GONE}; {_AT_LIMIT}"
            self._see(record, "lost", why)
            self._ledger.run_is_lost(record, f"the run is lost: {why}")

    def _silence(self, record: RunRecord, quiet_s: float, *, is_gone: bool) -> str:
        # In steps, so that a silent run is not told anew every second.
        step_s = max((step for step in _STEPS_S if step <= quiet_s), default=_STEPS_S[0])
        words = f"no data for {_duration(step_s)}"
        if is_gone:
            return f"{words}; its process is gone, what it left on disk is being read"
        if self._processes.can_see(record.host, record.boot, record.pid_namespace):
            return f"{words}; its process lives"
        words += f"; {_unseen(record, self._processes)}"
        ends_s = record.job_ends_wall_s
        if record.ends_at_limit:
            return f"{words}; {_AT_LIMIT}"
        is_past = ends_s is not None and self._clock.wall_s() > ends_s
        return f"{words}; the time limit of its job has passed" if is_past else words

    def _see(self, record: RunRecord, seen: Literal["", "silent", "lost"], why: str) -> None:
        if (record.seen, record.seen_why) != (seen, why):
            record.seen, record.seen_why = seen, why
            self._ledger.registry.touch(record)


def _unseen(record: RunRecord, processes: ProcessWatch) -> str:
    if record.host == processes.host:
        return "its process cannot be seen from here: it counts its process ids apart (container)"
    return f"its process on {record.host} cannot be seen from here"


def _duration(seconds: int) -> str:
    for unit_s, unit in ((86400, "day"), (3600, "h"), (60, "min")):
        if seconds >= unit_s:
            return f"{seconds // unit_s} {unit}"
    return f"{seconds} s"


def _yes(_record: RunRecord) -> bool:
    return True
