"""Processes of this host: their liveness, and the kernel's counts of out-of-memory kills.

A pid counts on this host and in this PID namespace only.
"""

import socket
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.local.control_groups import (
    COUNTED_ALONE,
    oom_counter_files,
    read_oom_kill_count,
)
from kmonitor_agent.wire.local.host_identity import host_pseudonym, read_salt
from kmonitor_agent.wire.spool.format import SessionFacts

_START_SLACK_S = 30.0
"""Delay of a process's start after its session's, seconds, from which it is another process with a
reused pid."""


class ProcessWatch:
    """Knows processes of this host and PID namespace only.

    Args:
        state: This user's state folder; by its salt the host of a private run is recognised.

    Attributes:
        host: This host's name.
    """

    def __init__(self, state: Path) -> None:
        self.host = socket.gethostname()
        self._namespace = own_pid_namespace()
        self._state = state

    def can_see(self, host: str, session: str, pid_namespace: int) -> bool:
        """True if a pid of that session, as seen on that host, means the same process here."""
        return self._is_this_host(host, session) and pid_namespace in {0, self._namespace}

    def is_far(self, facts: SessionFacts) -> bool:
        """True if this was written on another host, whose processes cannot be seen from here."""
        return not self._is_this_host(facts.host, facts.session)

    def _is_this_host(self, host: str, session: str) -> bool:
        return host == self.host or self._is_our_mark(host, session)

    def _is_our_mark(self, host: str, session: str) -> bool:
        # Read each time: a private training may have made the salt since, or a purge removed it.
        salt = read_salt(self._state)
        return salt is not None and host_pseudonym(salt, session) == host

    def is_alive(self, pid: int, started_wall_s: float) -> bool:
        """True if process `pid` lives and is the one that started then; zombies are dead."""
        try:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            return process.create_time() <= started_wall_s + _START_SLACK_S
        except psutil.NoSuchProcess:
            return False
        except psutil.Error:
            return True


def own_pid_namespace() -> int:
    """Inode of this process's PID namespace; 0 where there is none."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


_COUNT_EVERY_S: Final = 5.0
"""Interval of counts, seconds. A death is compared with the count 5 to 10 s before: a kill is
counted before the process is gone, so the last count may have it already."""


@dataclass(frozen=True, slots=True)
class OomEvidence:
    """Evidence of the counters for a process that is gone.

    Attributes:
        cause: "out of memory", or empty.
        why: The evidence, as text; empty: none.
    """

    cause: str = ""
    why: str = ""


class OomKillWatch:
    """The kernel's counts of out-of-memory kills, for processes that this host can see.

    Owned by the hub's main thread.
    """

    def __init__(self, clock: Clock, proc: Path = Path("/proc")) -> None:
        """Args: `clock`: Time of the counts."""
        self._clock = clock
        self._proc = proc
        self._counts: dict[str, deque[_Count]] = {}

    def is_due(self, record: RunRecord) -> bool:
        """True if the next count for a live process is due; costs nothing."""
        counts = self._counts.get(record.run)
        if not counts or counts[-1].pid != record.pid:
            return True
        return self._clock.monotonic_s() - counts[-1].at_s >= _COUNT_EVERY_S

    def count(self, record: RunRecord) -> None:
        """Read the counters for a process that lives, in less than a millisecond."""
        counts = self._counts.setdefault(record.run, deque(maxlen=2))
        if counts and counts[-1].pid != record.pid:
            counts.clear()
        found = {
            p: read_oom_kill_count(p) for p in oom_counter_files(self._proc / str(record.pid))
        }
        groups = {path: n for path, n in found.items() if n is not None}
        host = read_oom_kill_count(self._proc / "vmstat")
        counts.append(_Count(record.pid, self._clock.monotonic_s(), groups, host))

    def forget_others(self, runs: Collection[str]) -> None:
        for run in self._counts.keys() - set(runs):
            del self._counts[run]

    def evidence(self, record: RunRecord) -> OomEvidence:
        """Evidence for a process that is gone."""
        counts = self._counts.get(record.run)
        if not counts or counts[0].pid != record.pid:
            return OomEvidence()
        before = counts[0]
        path, is_up = _group_rose(before.groups)
        if is_up:
            why = "the kernel killed a process in its cgroup at that time because memory ran out"
            return OomEvidence("out of memory", f"{why} ({path}: oom_kill)")
        if is_up is None:
            is_up = _rose(before.host, read_oom_kill_count(self._proc / "vmstat"))
        if is_up:
            return OomEvidence(
                why=(
                    "the kernel killed a process on this host at that time because memory ran out"
                )
            )
        nothing = "the kernel recorded no out-of-memory kills"
        return OomEvidence(why="" if is_up is None else nothing)


@dataclass(frozen=True, slots=True)
class _Count:
    pid: int
    at_s: float
    groups: dict[Path, int]
    host: int | None


def _group_rose(groups: dict[Path, int]) -> tuple[Path, bool | None]:
    """The nearest counter that can still be read, and True if it rose; None: none can."""
    for path, count in groups.items():
        is_up = _rose(count, read_oom_kill_count(path))
        if is_up is not None:
            return path, is_up
        if path.name == COUNTED_ALONE:
            break  # the groups above do not count its kills
    return Path(), None


def _rose(before: int | None, after: int | None) -> bool | None:
    """True if the count rose; None: unknown."""
    return None if before is None or after is None else after > before
