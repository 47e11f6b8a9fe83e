"""Processor time of this process and its children, waiting for the disk, and throttling.

Rates are taken from one reading to the next; the first has none yet.

Source: proc(5), /proc/PID/stat, and https://docs.kernel.org/admin-guide/cgroup-v2.html, cpu.stat.
"""

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

from kmonitor_agent.probes.held_memory import FAILURES
from kmonitor_agent.probes.tasks import read_stat_numbers
from kmonitor_agent.wire.local.control_groups import cpu_throttled_s
from kmonitor_agent.wire.messages.readings import Reading

_UNIT: Final = "1"
_FIRST: Final = "the first reading has nothing to be compared with"
_USER: Final = 11
_SYSTEM: Final = 12
_BLOCK_IO: Final = 39
"""Places behind the name in /proc/PID/stat: utime, stime, delayacct_blkio_ticks."""


@dataclass(frozen=True, slots=True)
class ProcessorReadings:
    """Rates since the reading before.

    Attributes:
        process: Processors that this process kept busy.
        children: Those of its children, likewise.
        throttled: Part of the time in which its control group was held back.
        disk_wait: Part of the time in which its main thread waited for the disk.
    """

    process: Reading
    children: Reading
    throttled: Reading
    disk_wait: Reading


class ProcessorUse:
    """Owned by the agent's thread."""

    def __init__(
        self, children: Callable[[], Collection[int]], proc: Path = Path("/proc")
    ) -> None:
        """Nothing was read yet.

        Args:
            children: Process ids of the children, as last listed.
            proc: Where procfs is.
        """
        self._children = children
        self._proc = proc
        self._ticks_s = 1.0 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01
        self._at_s = 0.0
        self._before: dict[str, float] = {}

    def read(self) -> ProcessorReadings:
        """What was used since the last reading; some ten microseconds, and ten a child."""
        now_s = monotonic()
        seconds = now_s - self._at_s
        self._at_s = now_s
        times = os.times()
        process = self._rate("process", times.user + times.system, seconds, "process: times(2)")
        children_s = self._children_s()
        children = (
            Reading.missing(_UNIT, "the processor time of children is read on Linux only")
            if children_s is None
            else self._rate("children", children_s, seconds, "children: utime and stime in /proc")
        )
        throttled_s, source = cpu_throttled_s(self._proc / "self")
        throttled = (
            Reading.missing(_UNIT, source)
            if throttled_s is None
            else self._rate("throttled", throttled_s, seconds, source)
        )
        return ProcessorReadings(process, children, throttled, self._disk_wait(seconds))

    def _rate(self, name: str, total_s: float, seconds: float, source: str) -> Reading:
        before = self._before.get(name)
        self._before[name] = total_s
        if before is None or seconds <= 0.0:
            return Reading.missing(_UNIT, _FIRST)
        # Children that ended took their time with them.
        return Reading(max(0.0, total_s - before) / seconds, _UNIT, source)

    def _children_s(self) -> float | None:
        if not (self._proc / "self" / "stat").exists():
            return None
        found = (read_stat_numbers(self._proc / str(pid)) for pid in self._children())
        return sum(self._ticks_s * (fields[_USER] + fields[_SYSTEM]) for fields in found if fields)

    def _disk_wait(self, seconds: float) -> Reading:
        switch = self._proc / "sys" / "kernel" / "task_delayacct"
        try:
            is_counted = switch.read_bytes().strip() == b"1"
        except FAILURES:
            is_counted = False
        fields = read_stat_numbers(self._proc / "self") if is_counted else []
        if len(fields) <= _BLOCK_IO:
            why = "the kernel does not account for it (kernel.task_delayacct is 0)"
            return Reading.missing(_UNIT, why)
        waited_s = self._ticks_s * fields[_BLOCK_IO]
        return self._rate("disk", waited_s, seconds, "process: delayacct_blkio_ticks")
