"""Processor time of this process and its children, waiting for CPU and disk, and throttling.

Also the processor's clock speed. Rates are computed between two readings; the first has none.

Source: proc(5), /proc/PID/stat, https://docs.kernel.org/scheduler/sched-stats.html, schedstat, and
https://docs.kernel.org/admin-guide/cgroup-v2.html, cpu.stat.
"""

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

from kmonitor_agent.probes.held_memory import FAILURES, read_proc_file
from kmonitor_agent.probes.tasks import ProcessStat, read_process_stat
from kmonitor_agent.wire.local.control_groups import ThrottlingCounter
from kmonitor_agent.wire.messages.readings import Reading

_UNIT: Final = "1"
_FIRST: Final = "there is no earlier reading to compare the first one with"


@dataclass(frozen=True, slots=True)
class ProcessorReadings:
    """Rates since the reading before.

    Attributes:
        process: Processors that this process kept busy.
        children: Processors that its children kept busy.
        throttled: Part of the time in which its control group was throttled.
        cpu_wait: Part of the time in which its main thread could run, and waited for a processor.
        disk_wait: Part of the time in which its main thread waited for the disk.
        clock: Current clock speed of the processor that its main thread ran on last.
    """

    process: Reading
    children: Reading
    throttled: Reading
    cpu_wait: Reading
    disk_wait: Reading
    clock: Reading


class ProcessorUse:
    """Reads processor use; owned by the agent's thread.

    Args:
        children: Returns the process ids of the children, as last listed.
        proc: Mount point of procfs.
        sys: Mount point of sysfs.
    """

    def __init__(
        self,
        children: Callable[[], Collection[int]],
        proc: Path = Path("/proc"),
        sys: Path = Path("/sys"),
    ) -> None:
        self._cpus = f"{sys}/devices/system/cpu"
        self._children = children
        self._proc = proc
        self._ticks_s = 1.0 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01
        self._at_s = 0.0
        self._before: dict[str, float] = {}
        self.find()

    def find(self) -> None:
        """Find the kernel's counters again: the process may have moved, a switch may be set."""
        self._throttling = ThrottlingCounter.find(self._proc / "self")
        self._has_clock = Path(f"{self._cpus}/cpu0/cpufreq").exists()
        try:
            switch = read_proc_file(f"{self._proc}/sys/kernel/task_delayacct")
            self._counts_disk_wait = switch.strip() == b"1"
        except FAILURES:
            self._counts_disk_wait = False

    def read(self, stat: ProcessStat | None) -> ProcessorReadings:
        """Use since the last reading; some ten microseconds, and ten per child.

        Args:
            stat: Counters of this process; None without procfs.
        """
        now_s = monotonic()
        seconds = now_s - self._at_s
        self._at_s = now_s
        return ProcessorReadings(
            self._of_process(stat, seconds),
            self._of_children(stat, seconds),
            self._throttled(seconds),
            self._cpu_wait(seconds),
            self._disk_wait(stat, seconds),
            self._clock(stat),
        )

    def _rate(self, name: str, total_s: float, seconds: float, source: str) -> Reading:
        before = self._before.get(name)
        self._before[name] = total_s
        if before is None or seconds <= 0.0:
            return Reading.missing(_UNIT, _FIRST)
        # Children that ended took their time with them.
        return Reading(max(0.0, total_s - before) / seconds, _UNIT, source)

    def _of_process(self, stat: ProcessStat | None, seconds: float) -> Reading:
        if stat is None:
            times = os.times()
            return self._rate("process", times.user + times.system, seconds, "process: times(2)")
        # The kernel adds up all threads for either; these are read already.
        source = f"process: {self._proc}/self/stat utime + stime"
        return self._rate("process", self._ticks_s * stat.processor_ticks, seconds, source)

    def _of_children(self, stat: ProcessStat | None, seconds: float) -> Reading:
        if stat is None:
            why = "the CPU time of children is available only on Linux"
            return Reading.missing(_UNIT, why)
        found = (read_process_stat(f"{self._proc}/{pid}") for pid in self._children())
        ticks = sum(each.processor_ticks for each in found if each is not None)
        source = "children: utime and stime in /proc"
        return self._rate("children", self._ticks_s * ticks, seconds, source)

    def _throttled(self, seconds: float) -> Reading:
        counter = self._throttling
        throttled_s = counter.read_s()
        if throttled_s is None:
            return Reading.missing(_UNIT, counter.absent or f"{counter.path} cannot be read")
        source = f"cgroup: {counter.path} {counter.name}"
        return self._rate("throttled", throttled_s, seconds, source)

    def _cpu_wait(self, seconds: float) -> Reading:
        try:
            # Nanoseconds on a processor and of waiting for one, and the number of its turns.
            waited_ns = int(read_proc_file(f"{self._proc}/self/schedstat").split()[1])
        except (*FAILURES, IndexError):
            return Reading.missing(_UNIT, "the kernel does not count it (no /proc/self/schedstat)")
        return self._rate("cpu", 1e-9 * waited_ns, seconds, "process: /proc/self/schedstat")

    def _clock(self, stat: ProcessStat | None) -> Reading:
        if stat is None or stat.processor is None:
            return Reading.missing("Hz", "/proc/self/stat cannot be read")
        if not self._has_clock:
            return Reading.missing("Hz", _NO_CLOCK)
        name = f"cpu{stat.processor}/cpufreq/scaling_cur_freq"
        try:
            khz = int(read_proc_file(f"{self._cpus}/{name}"))
        except FAILURES:
            return Reading.missing("Hz", _NO_CLOCK)
        return Reading(1000.0 * khz, "Hz", f"kernel: {name}")

    def _disk_wait(self, stat: ProcessStat | None, seconds: float) -> Reading:
        if not self._counts_disk_wait or stat is None or stat.block_io_ticks is None:
            why = "the kernel does not count it (kernel.task_delayacct is 0)"
            return Reading.missing(_UNIT, why)
        waited_s = self._ticks_s * stat.block_io_ticks
        return self._rate("disk", waited_s, seconds, "process: delayacct_blkio_ticks")


_NO_CLOCK: Final = "the kernel does not report it (no cpufreq in /sys)"
