"""What the hub's loop does every so often."""

from collections.abc import Callable
from dataclasses import dataclass

from kmonitor.hub.guard import HubFaults


@dataclass(slots=True)
class _Task:
    name: str
    interval_s: float
    act: Callable[[], None]
    next_s: float


class Schedule:
    """Repeated tasks, run by the loop that owns it."""

    def __init__(self, faults: HubFaults) -> None:
        self._faults = faults
        self._tasks: list[_Task] = []

    def every(self, interval_s: float, name: str, act: Callable[[], None]) -> None:
        """Run `act` each `interval_s` seconds, at first at once."""
        self._tasks.append(_Task(name, interval_s, act, 0.0))

    def run_due(self, now_s: float) -> None:
        """Run what is due."""
        for task in self._tasks:
            if now_s >= task.next_s:
                task.next_s = now_s + task.interval_s
                with self._faults.guarded(task.name):
                    task.act()

    def wait_s(self, now_s: float) -> float:
        """Seconds until something is due."""
        return max(0.0, min(task.next_s for task in self._tasks) - now_s)
