"""Whether the kernel killed for want of memory when a run's process went without a word."""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.local.memory_kills import COUNTED_ALONE, kill_counters, kills_in

_EVERY_S: Final = 5.0
"""A death is compared with what was counted 5 to 10 s before: a kill is counted before the
process is gone, so that the last count may have it already."""


@dataclass(frozen=True, slots=True)
class LastKills:
    """What the counters say of a process that is gone.

    Attributes:
        cause: "out of memory", or empty.
        why: What is known, in words; empty: nothing.
    """

    cause: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Count:
    pid: int
    at_s: float
    groups: dict[Path, int]
    host: int | None


class MemoryDeaths:
    """Owned by the hub's main thread; for processes that this host can see."""

    def __init__(self, clock: Clock, proc: Path = Path("/proc")) -> None:
        """Count nothing yet.

        Args:
            clock: When it was counted.
            proc: procfs.
        """
        self._clock = clock
        self._proc = proc
        self._counts: dict[str, deque[_Count]] = {}

    def is_due(self, record: RunRecord) -> bool:
        """Whether to count again for a process that lives; costs nothing."""
        counts = self._counts.get(record.run)
        if not counts or counts[-1].pid != record.pid:
            return True
        return self._clock.monotonic_s() - counts[-1].at_s >= _EVERY_S

    def count(self, record: RunRecord) -> None:
        """Read the counters for a process that lives, in less than a millisecond."""
        counts = self._counts.setdefault(record.run, deque(maxlen=2))
        if counts and counts[-1].pid != record.pid:
            counts.clear()
        found = {p: kills_in(p) for p in kill_counters(self._proc / str(record.pid))}
        groups = {path: n for path, n in found.items() if n is not None}
        host = kills_in(self._proc / "vmstat")
        counts.append(_Count(record.pid, self._clock.monotonic_s(), groups, host))

    def keep_only(self, runs: Collection[str]) -> None:
        """Forget all other runs."""
        for run in self._counts.keys() - set(runs):
            del self._counts[run]

    def told(self, record: RunRecord) -> LastKills:
        """What is known of a process that is gone."""
        counts = self._counts.get(record.run)
        if not counts or counts[0].pid != record.pid:
            return LastKills()
        before = counts[0]
        path, is_up = _group_rose(before.groups)
        if is_up:
            why = "the kernel killed for want of memory in its control group just then"
            return LastKills("out of memory", f"{why} ({path}: oom_kill)")
        if is_up is None:
            is_up = _rose(before.host, kills_in(self._proc / "vmstat"))
        if is_up:
            return LastKills(why="the kernel killed for want of memory on this host just then")
        nothing = "the kernel counted no kill for want of memory"
        return LastKills(why="" if is_up is None else nothing)


def _group_rose(groups: dict[Path, int]) -> tuple[Path, bool | None]:
    """The nearest counter that can still tell, and whether it rose; None: none can."""
    for path, count in groups.items():
        is_up = _rose(count, kills_in(path))
        if is_up is not None:
            return path, is_up
        if path.name == COUNTED_ALONE:
            break  # the groups above do not count its kills
    return Path(), None


def _rose(before: int | None, now: int | None) -> bool | None:
    """None: it cannot be told."""
    return None if before is None or now is None else now > before
