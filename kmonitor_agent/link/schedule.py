"""Recurring tasks of the agent's thread, made rarer when they cost too much."""

import time
from collections.abc import Callable
from typing import Final

COST_FRACTION: Final = 0.005
"""Most of a core that one task may take."""

LONGEST_INTERVAL_S: Final = 60.0
"""A costly task still runs this often."""

Task = Callable[[], None]
OnError = Callable[[str, Exception], None]


class Schedule:
    """Runs each task at its interval, on the thread that calls `run_due`.

    Args:
        on_error: Told of what a task raised, with its name; the task stays.
        cpu_s: CPU time of this thread, seconds.
    """

    def __init__(self, on_error: OnError, cpu_s: Callable[[], float] = time.thread_time) -> None:
        self._on_error = on_error
        self._cpu_s = cpu_s
        self._entries: list[_Entry] = []

    def add(self, interval_s: float, task: Task) -> None:
        """Run a task each `interval_s` seconds, at once for the first time; from any thread."""
        self._entries.append(_Entry(interval_s, task))

    def run_due(self, now_s: float) -> None:
        """Run what is due at this monotonic time."""
        for entry in tuple(self._entries):
            if now_s >= entry.due_s:
                self._run(entry, now_s)

    def wait_s(self, now_s: float) -> float:
        """Seconds until the next task is due, 0 if one is; infinite without tasks."""
        return max(0.0, min((e.due_s for e in self._entries), default=float("inf")) - now_s)

    def _run(self, entry: "_Entry", now_s: float) -> None:
        begin = self._cpu_s()
        try:
            entry.task()
        except Exception as exc:  # noqa: BLE001 - the thread's other tasks must go on
            self._on_error(f"task {getattr(entry.task, '__qualname__', entry.task)}", exc)
        entry.took(self._cpu_s() - begin, now_s)


class _Entry:
    def __init__(self, interval_s: float, task: Task) -> None:
        self.task = task
        self.due_s = float("-inf")
        self._interval_s = interval_s
        self._last_cost_s = 0.0

    def took(self, cost_s: float, now_s: float) -> None:
        """Note what a call cost, seconds, and when the next one is due."""
        # The lower of two costs: the first call often loads libraries.
        typical_s = min(cost_s, self._last_cost_s)
        self._last_cost_s = cost_s
        pause_s = max(self._interval_s, min(typical_s / COST_FRACTION, LONGEST_INTERVAL_S))
        # On its grid, so that samples come each second and not each second and a bit.
        grid_s = self.due_s + pause_s
        self.due_s = grid_s if grid_s > now_s else now_s + pause_s
