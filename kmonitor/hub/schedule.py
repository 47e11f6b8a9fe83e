"""What the hub's loop does every so often."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from kmonitor.hub.faults import HubFaults


@dataclass(slots=True)
class _Task:
    name: str
    interval_s: Callable[[], float]
    act: Callable[[], None]
    next_s: float


class Schedule:
    """Repeated tasks, run by the loop that owns it."""

    def __init__(self, faults: HubFaults) -> None:
        self._faults = faults
        self._tasks: list[_Task] = []

    def every(
        self, interval_s: float | Callable[[], float], name: str, act: Callable[[], None]
    ) -> None:
        """Run `act` each `interval_s` seconds, as it is after each run; at first at once."""
        interval = interval_s if callable(interval_s) else partial(float, interval_s)
        self._tasks.append(_Task(name, interval, act, 0.0))

    def run_due(self, now_s: float) -> None:
        """Run what is due."""
        for task in self._tasks:
            if now_s >= task.next_s:
                with self._faults.guarded(task.name):
                    task.act()
                task.next_s = now_s + task.interval_s()

    def wait_s(self, now_s: float) -> float:
        """Seconds until something is due."""
        return max(0.0, min(task.next_s for task in self._tasks) - now_s)
