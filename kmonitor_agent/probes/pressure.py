"""Pressure: time that tasks wait for memory or disk, and throttling of a control group.

The kernel's own account of waiting (PSI), of the control group where it has one (version 2), else
of the whole host.

Source: https://docs.kernel.org/accounting/psi.html
"""

from pathlib import Path
from typing import Final, Literal

from kmonitor_agent.probes.held_memory import FAILURES, PROC
from kmonitor_agent.probes.pacing import Paced
from kmonitor_agent.wire.local.control_groups import group_folders, read_line_count
from kmonitor_agent.wire.messages.readings import Reading

_V2: Final = 2
_PERCENT: Final = 100.0
_CORE_FRACTION: Final = 0.00002


class Pressure:
    """Reads pressure; owned by the agent's thread."""

    def __init__(self, proc: Path = PROC) -> None:
        self._proc = proc
        self._newest = Paced(self._read_all, _CORE_FRACTION)
        self.find()

    def find(self) -> None:
        """Find the files again: a process may be moved to another control group."""
        folders = group_folders(self._proc / "self")
        self._group = next(
            (folder for version, folder in folders if version == _V2 and _has_account(folder)),
            None,
        )

    def read(self) -> tuple[Reading, Reading, Reading]:
        """Two averages of ten seconds, 0..1, and a count, as old as their cost requires.

        Returns:
            Parts of the time in which some task waited for memory, and for a disk; number of times
            that the control group went above its `memory.high`, and was throttled.
        """
        return self._newest.newest()

    def _read_all(self) -> tuple[Reading, Reading, Reading]:
        return self._read("memory"), self._read("io"), self._read_high_events()

    def _read(self, of: Literal["memory", "io"]) -> Reading:
        paths = [self._proc / "pressure" / of]
        if self._group is not None:
            paths.insert(0, self._group / f"{of}.pressure")
        for path in paths:
            try:
                # some avg10=0.00 avg60=0.00 avg300=0.00 total=0
                some = path.read_bytes().split(b"avg10=", 1)[1].split(None, 1)[0]
                value = float(some) / _PERCENT
            except FAILURES:
                continue
            if 0.0 <= value <= 1.0:
                return Reading(
                    value, "1", f"kernel: {path}, average of \u201csome\u201d over the last 10 s"
                )
        return Reading.missing("1", "this kernel does not report pressure (PSI)")

    def _read_high_events(self) -> Reading:
        if self._group is None:
            return Reading.missing("1", "no cgroup v2 reports it")
        path = self._group / "memory.events"
        count = read_line_count(path, "high")
        if count is None:
            return Reading.missing("1", f"{path} does not count it")
        return Reading(float(count), "1", f"cgroup: {path} high")


def _has_account(folder: Path) -> bool:
    return (folder / "memory.pressure").exists() or (folder / "memory.events").exists()
