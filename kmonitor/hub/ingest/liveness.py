"""Liveness of runs: silent, gone or lost.

A run whose process is gone is called lost once everything that it left on disk is read. On its own
host the process itself is looked at (`process_watch`); of a run read from a folder elsewhere, its
spool says so (`wire.spool.reader.is_left`): no process holds its lock any more.
"""

from collections.abc import Callable
from typing import Literal

from kmonitor.hub.ingest.connections import AgentConnections
from kmonitor.hub.ingest.process_watch import OomKillWatch, ProcessWatch
from kmonitor.hub.runs.hub_event_log import HubEventLog
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.local.clock import Clock

SILENT_AFTER_S = 3.0
"""Silence after which a run is shown as silent, seconds; an agent sends something each second."""

SHIPPED_SILENT_AFTER_S = 10.0
"""The same for a run read from a folder, in addition to the delay there."""

_ABANDONED_S = 3600.0
"""Silence after which a run whose process cannot be seen here may be deleted, seconds."""

_DRAIN_S = 1.0
"""Time for data that a process sent right before it died to arrive, seconds."""

_AWAITED_S = 10.0
"""Time after which a dead process's spool without new events is awaited no more, seconds: a child
of the process may hold its lock."""

_GONE = "its process ended unexpectedly"
_AT_LIMIT = "its data ends at its job's time limit"
_STEPS_S = (3, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 43200, 86400)


class Liveness:
    """Owned by the hub's main thread.

    Args:
        processes: Sees processes of this host.
        is_settled: True if everything that a run's process left on disk is taken; called before a
            run is called lost, because this data may show how the process ended.
        watch: Counts out-of-memory kills; None: this host's.
    """

    def __init__(
        self,
        log: HubEventLog,
        connections: AgentConnections,
        processes: ProcessWatch,
        clock: Clock,
        *,
        is_settled: Callable[[RunRecord], bool],
        watch: OomKillWatch | None = None,
    ) -> None:
        self._is_settled = is_settled
        self._event_log = log
        self._agent_connections = connections
        self._processes = processes
        self._clock = clock
        self._started_s = clock.monotonic_s()
        self._oom_kills = watch or OomKillWatch(clock)
        self._awaited: dict[str, tuple[int, float]] = {}

    def is_gone(self, record: RunRecord) -> bool:
        """True if the run's process is seen to be dead, though it may not be called lost yet."""
        connection = self._agent_connections.of_run(record.run)
        if connection is not None and connection.session != record.session:
            return False  # the next process said hello, and has yet to send its pid
        is_local = self._processes.can_see(record.host, record.session, record.pid_namespace)
        # Between two processes of a run, its supervisor is what lives.
        pid = record.supervisor or record.pid
        return is_local and not self._processes.is_alive(pid, record.session_started_wall_s)

    def update_all(self) -> None:
        """Update the liveness of every run that is not over."""
        live = [record for record in self._event_log.registry.live() if record.is_known]
        for record in live:
            self._update(record)
        self._oom_kills.forget_others([record.run for record in live])

    def _update(self, record: RunRecord) -> None:
        now_s = self._clock.monotonic_s()
        last_heard_s = self._agent_connections.last_heard_s(record.run)
        silent_s = now_s - (self._started_s if last_heard_s is None else last_heard_s)
        if record.is_shipped:
            self._update_shipped(record, now_s)
            return
        is_gone = silent_s > _DRAIN_S and self.is_gone(record)
        self._count_kills(record)
        if is_gone and self._is_drained(record, now_s):
            self._mark_lost(record)
        elif record.supervisor and not is_gone:
            self._set_liveness(record, "", "")  # a script takes its time to come to its first fit
        elif silent_s > SILENT_AFTER_S and not record.is_over:
            if last_heard_s is None:
                silent_s = max(silent_s, self._clock.wall_s() - record.last_wall_s)
            self._set_liveness(record, "silent", self._silence(record, silent_s, is_gone=is_gone))
        elif last_heard_s is not None and record.liveness and not is_gone:
            self._set_liveness(record, "", "")

    def _count_kills(self, record: RunRecord) -> None:
        if (
            self._oom_kills.is_due(record)
            and self._processes.can_see(record.host, record.session, record.pid_namespace)
            and self._processes.is_alive(record.pid, record.session_started_wall_s)
        ):
            self._oom_kills.count(record)

    def _update_shipped(self, record: RunRecord, now_s: float) -> None:
        if self._agent_connections.of_run(record.run) is not None:
            return  # more of it is coming just now
        silent_s = self._clock.wall_s() - record.last_wall_s
        is_silent = silent_s > SHIPPED_SILENT_AFTER_S + record.late_s
        is_gone = self.is_gone(record) or (record.is_left and is_silent)
        if is_gone and self._is_drained(record, now_s):
            self._mark_lost(record)
        elif is_silent:
            self._set_liveness(record, "silent", self._silence(record, silent_s, is_gone=is_gone))
        elif not record.is_over:
            self._set_liveness(record, "", "")

    def is_abandoned(self, record: RunRecord) -> bool:
        """True if a silent run's process cannot be seen, and sent nothing for an hour."""
        if record.liveness != "silent" or self._agent_connections.of_run(record.run) is not None:
            return False
        if self._processes.can_see(record.host, record.session, record.pid_namespace):
            return False
        return self._clock.wall_s() - record.last_wall_s > _ABANDONED_S

    def _is_drained(self, record: RunRecord, now_s: float) -> bool:
        # A session outlives its process, and keeps the spool from being taken from the disk.
        connection = self._agent_connections.of_run(record.run)
        if connection is not None:
            self._agent_connections.drop(connection)
        if self._is_settled(record):
            return True
        accepted, since_s = self._awaited.get(record.run, (-1, now_s))
        if accepted != record.accepted:
            since_s = now_s
        self._awaited[record.run] = (record.accepted, since_s)
        return now_s - since_s > _AWAITED_S

    def _mark_lost(self, record: RunRecord) -> None:
        self._awaited.pop(record.run, None)
        if not record.is_over:
            kills = self._oom_kills.evidence(record)
            record.cause = kills.cause or record.cause
            why = f"{_GONE}; {kills.why}" if kills.why else _GONE
            if record.ends_at_limit:
                record.cause = "time limit"
                why = f"{_GONE}; {_AT_LIMIT}"
            self._set_liveness(record, "lost", why)
            self._event_log.run_is_lost(record, f"the run is lost: {why}")

    def _silence(self, record: RunRecord, silent_s: float, *, is_gone: bool) -> str:
        # In steps, so that a silent run does not change every second.
        step_s = max((step for step in _STEPS_S if step <= silent_s), default=_STEPS_S[0])
        text = f"no data for {_duration(step_s)}"
        if is_gone:
            return f"{text}; its process is gone, and what it left on disk is being read"
        if self._processes.can_see(record.host, record.session, record.pid_namespace):
            return f"{text}; its process is alive"
        text += f"; {_unseen_reason(record, self._processes)}"
        ends_s = record.job_ends_wall_s
        if record.ends_at_limit:
            return f"{text}; {_AT_LIMIT}"
        is_past = ends_s is not None and self._clock.wall_s() > ends_s
        return f"{text}; its job's time limit has passed" if is_past else text

    def _set_liveness(
        self, record: RunRecord, liveness: Literal["", "silent", "lost"], why: str
    ) -> None:
        if (record.liveness, record.liveness_why) != (liveness, why):
            record.liveness = liveness
            record.liveness_why = why
            self._event_log.registry.mark_changed(record)


def _unseen_reason(record: RunRecord, processes: ProcessWatch) -> str:
    if record.host == processes.host:
        return "its process cannot be seen from here: it is in its own PID namespace (container)"
    return f"its process on {record.host} cannot be seen from here"


def _duration(seconds: int) -> str:
    for unit_s, unit in ((86400, "day"), (3600, "h"), (60, "min")):
        if seconds >= unit_s:
            return f"{seconds // unit_s} {unit}"
    return f"{seconds} s"
