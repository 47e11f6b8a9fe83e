"""Intervals of the link, in one place for tests to shorten, and the schedule of its tasks."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Timing:
    """Intervals in seconds.

    Attributes:
        drain_s: Time between two checks of the queue, which leave the emitter a mere append and
            cost 0.04% of a core; at 100 ms the cost was twice as high.
        write_s: Time between two writes of events to the spool. A kill may lose this time and that
            until the next check. An event after a pause, or one that somebody has to know, is
            written when the queue is checked. With epochs of 0.3 s, writing at each check cost
            0.1% of a core more.
        still_s: Time without an event after which the thread stops polling and is woken by the
            next event, so that an idle program is left in peace.
        hello_s: Time between two hellos until the hub's welcome.
        ping_s: Longest time between two pings; a hub may request shorter ones.
        dead_s: Silence of a hub after which it is left.
        stall_s: Time without acknowledgement from a live hub after which hello is sent again.
        search_s: Time between two searches for a hub's socket.
        backoff_s: First pause after a hub was left; doubles, and is jittered down to its half.
        backoff_limit_s: Longest pause after a hub that was not reached or fell silent: so soon
            after a network is repaired, a run is seen again. With 30 s a cut of 40 s was followed
            by 20 s without data. A try about each second (an unanswered connection is held for
            `dead_s`, so 19 per minute) costs 0.05% of a core, with a dead hub's socket or over the
            network; 30 s would save two thirds of that. Fifty agents make 16 tries per second of a
            few packets; the jitter spreads them, and an overloaded hub requests a longer pause
            itself (`refused_s`). Without a socket of a hub nothing is tried at all.
        refused_s: Pause after a hub that cannot serve this run, and the longest that one may ask
            for.
        steady_s: Length of a session that resets the pause.
        retry_s: Time between two tries to write to a disk that refused.
        mark_s: Time between two writes of the acknowledged number, which take a millisecond. An
            old number only means that events are sent again after a kill.
        tidy_s: Time between two rounds of retention.
        lock_s: Maximum wait for a spool's lock at the start; a hub that ships the events of the
            run's last process holds it for a moment.
    """

    drain_s: float = 0.2
    write_s: float = 0.5
    still_s: float = 60.0
    hello_s: float = 0.5
    ping_s: float = 1.0
    dead_s: float = 2.5
    stall_s: float = 10.0
    search_s: float = 0.5
    backoff_s: float = 0.1
    backoff_limit_s: float = 1.0
    refused_s: float = 30.0
    steady_s: float = 5.0
    retry_s: float = 5.0
    mark_s: float = 30.0
    tidy_s: float = 600.0
    lock_s: float = 3.0


COST_FRACTION: Final = 0.005
"""Maximum part of a core that one task may take."""

LONGEST_INTERVAL_S: Final = 60.0
"""Longest interval of an expensive task, seconds."""

_EARLY: Final = 0.2
"""Part of its interval by which a task may run early, on a turn for something else."""

Task = Callable[[], None]
OnError = Callable[[str, Exception], None]


class TaskSchedule:
    """Runs each task at its interval, or less often if it costs too much; on `run_due`'s thread.

    Args:
        on_error: Called with the task's name and its exception; the task stays.
        cpu_s: Returns the CPU time of this thread, seconds.
    """

    def __init__(self, on_error: OnError, cpu_s: Callable[[], float] = time.thread_time) -> None:
        self._on_error = on_error
        self._cpu_s = cpu_s
        self._entries: list[_Entry] = []

    def add(self, interval_s: float, task: Task) -> None:
        """Run a task each `interval_s` seconds, at once for the first time; from any thread."""
        self._entries.append(_Entry(interval_s, task))

    def run_due(self, now_s: float) -> None:
        """Run the tasks that are due at this monotonic time, or so soon that it is worthwhile.

        Two tasks of a second that are milliseconds apart would wake the thread twice a second.
        """
        for entry in tuple(self._entries):
            if now_s >= entry.due_s - entry.early_s:
                self._run(entry, now_s)

    def wait_s(self, now_s: float) -> float:
        """Time until the next task is due, seconds; 0 if one is due; infinite without tasks."""
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
        self.early_s = _EARLY * interval_s
        self._interval_s = interval_s
        self._last_cost_s = 0.0

    def took(self, cost_s: float, now_s: float) -> None:
        """Note the cost of a call, seconds, and schedule the next one."""
        # The lower of two costs: the first call often loads libraries.
        typical_s = min(cost_s, self._last_cost_s)
        self._last_cost_s = cost_s
        pause_s = max(self._interval_s, min(typical_s / COST_FRACTION, LONGEST_INTERVAL_S))
        # On its grid, so that samples come each second and not each second and a bit.
        grid_s = self.due_s + pause_s
        self.due_s = grid_s if grid_s > now_s + self.early_s else now_s + pause_s
