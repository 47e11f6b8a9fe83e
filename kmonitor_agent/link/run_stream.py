"""One run's part of the agent's thread: its tasks, and its events from the queue to the disk."""

import contextlib
import enum
import logging
import os
import select
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.delivery import (
    CommandInbox,
    DeliveryContext,
    DeliveryPhase,
    OnCommand,
    RunDelivery,
)
from kmonitor_agent.link.outbox import Outbox
from kmonitor_agent.link.timing import Task, TaskSchedule, Timing
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.local.file_limit import check_file_limit
from kmonitor_agent.wire.local.folders import Folders, missing_home_text
from kmonitor_agent.wire.local.hub_address import DirectAddress
from kmonitor_agent.wire.local.interpreter_record import (
    InterpreterRecord,
    write_interpreter_record,
)
from kmonitor_agent.wire.local.own_descriptor import AgentWakeup
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    CommandProgress,
    Event,
    Fault,
    LimitCrossed,
    Notice,
    Paused,
    SessionEnded,
    SessionStarted,
)
from kmonitor_agent.wire.release import VERSION
from kmonitor_agent.wire.spool.format import SessionFacts
from kmonitor_agent.wire.spool.writer import SpoolLocked, SpoolWriter

EVENTS_LIMIT: Final = 262_144
"""Maximum number of events held while the agent's thread is stuck (a hung disk); the oldest are
dropped first.

Days of epochs: that thread reads the samples itself, so only a loop of emits can ever reach it.
"""

_URGENT: Final = frozenset(
    (ActionRecord, CommandProgress, Fault, LimitCrossed, Notice, Paused, SessionEnded)
)
"""Outcomes of actions, and what somebody has to know: few, and not to be lost by a kill."""


class EventQueue:
    """Events in the order in which they were emitted; `put` is for any thread.

    Waking a thread costs the emitter 10 us, and up to 5 ms if that thread then takes the GIL
        first: so the agent's thread checks the queue at the drain interval, and requests a wake-up
        only after a long silence. `put` is minimal, since it is called after a step that has
        filled the processor's caches with other data: each name that it looks up costs time.

    Attributes:
        agent_wakeup: Polled by the agent's thread.
        is_closed: True if no more events are taken: closed, or a forked child.
        is_sleeping: Set by the agent's thread when it no longer checks the queue; a `put` wakes
            it.
        dropped: Number of events that found no room since the start.
    """

    __slots__ = ("_events", "agent_wakeup", "dropped", "is_closed", "is_sleeping")

    def __init__(self, wakeup: AgentWakeup) -> None:
        self.agent_wakeup = wakeup
        self.is_closed = False
        self.is_sleeping = False
        self.dropped = 0
        self._events: deque[Event] = deque(maxlen=EVENTS_LIMIT)

    def __len__(self) -> int:
        return len(self._events)

    @property
    def is_empty(self) -> bool:
        return not self._events

    @property
    def has_urgent(self) -> bool:
        """True if an event waits that should not; for the agent's thread.

        Not by an iterator, which another thread's `put` would break off.
        """
        return any(type(self._events[n]) in _URGENT for n in range(len(self._events)))

    def put(self, event: Event) -> None:
        """Add an event; neither blocks nor raises."""
        if self.is_closed:
            return
        events = self._events
        if len(events) == EVENTS_LIMIT:
            self.dropped += 1
        events.append(event)
        if self.is_sleeping:
            self.is_sleeping = False
            self.agent_wakeup.set()

    def drain(self) -> list[Event]:
        """Remove and return all events, in order; for the agent's thread."""
        # As many as there are now: an emitter in a loop must not hold the agent's thread here.
        # One can be gone from a full ring meanwhile only if another takes its place.
        return [self._events.popleft() for _ in range(len(self._events))]

    def fall_asleep(self) -> bool:
        """Request a wake-up by the next `put`; False if there are events already."""
        self.is_sleeping = self.agent_wakeup.fileno() >= 0
        # In this order: a `put` that came before the flag is seen here, a later one sees the flag.
        if self._events:
            self.is_sleeping = False
        return self.is_sleeping

    def close(self) -> None:
        self.is_closed = True


# No handler or stream object of the script's is called. A terminal or pipe that takes nothing
# now, a full disk, a file at its limit and a closed stream lose the line; none of them holds
# anybody up.

LOGGER: Final = "kmonitor"
"""Name of the logger whose level a script can set to silence kmonitor."""

_DESCRIPTOR: Final = 2
_LONGEST_BYTES: Final = 4096
"""Maximum length that a pipe takes as a whole if it takes anything (PIPE_BUF of Linux)."""


class LineLost(OSError):
    """Standard error did not take a line."""


def write_line(text: str) -> None:
    """Write `kmonitor: ` and a text to standard error, unless the script silenced our logger.

    Raises:
        LineLost: Standard error takes nothing now.
    """
    if not logging.getLogger(LOGGER).isEnabledFor(logging.WARNING):
        return
    line = f"kmonitor: {text}\n"
    stream: Any = sys.stderr
    if type(stream).__module__.startswith("ipykernel."):
        stream.write(
            line
        )  # a notebook's: it queues what is shown, and descriptor 2 is the server's
        return
    original: Any = sys.__stderr__
    if original is None or original.closed:
        raise LineLost("standard error is closed")
    data = line.encode(errors="backslashreplace")[:_LONGEST_BYTES]
    try:
        _check_takes(data)
        os.write(_DESCRIPTOR, data)
    except (OSError, ValueError) as exc:
        raise LineLost(f"standard error cannot be written to: {exc}") from exc


def _check_takes(data: bytes) -> None:
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(_DESCRIPTOR, select.POLLOUT)
        if poll.poll(0) != [(_DESCRIPTOR, select.POLLOUT)]:
            raise LineLost("its reader is slow or gone")
    status = os.fstat(_DESCRIPTOR)
    if stat.S_ISREG(status.st_mode):
        check_file_limit(status.st_size + len(data))


AFTER_FAULT_S: Final = 1.0
"""Pause of a run after a fault of our own, seconds, so that a lasting fault does not spin."""

HUB_AWAITED_S: Final = 5.0
"""Time to find a hub, seconds, before a run that the disk refuses is reported as lost."""

WRITTEN_AT_ONCE: Final = 512
"""Maximum number of events in one write, which goes into one segment: far below
`SEGMENT_LIMIT_BYTES`."""

EACH_LOOK: Final = 0.0
"""Interval of a task of some microseconds that runs each time the queue is checked
(`Timing.drain_s`), without a turn of the thread's other work."""

IDLE_POLL_S: Final = 1.0
"""Time between runs of an idle run's tasks, seconds."""


@dataclass(frozen=True, slots=True)
class StreamContext:
    """Identity and folders of the run that a stream serves.

    Attributes:
        run: Run id.
        started: First event of the session.
        folders: Folders of spool and launcher record.
        socket: The hub's socket, or its address on the network; None: no hub.
        now_s: Returns the session's `t_s`.
    """

    run: str
    started: SessionStarted
    folders: Folders
    socket: Path | DirectAddress | None
    now_s: Callable[[], float]


class _Phase(enum.Enum):
    OPENING = "waiting for the spool lock"
    OPEN = "numbers and keeps events"
    ENDED = "has released everything"


class RunStream:
    """One run on the agent's thread. The thread owns all but `end`, `is_idle` and plain reads.

    Attributes:
        stream_context: Identity and folders of the run.
        event_queue: Queue in which other threads put events.
        outbox: Numbered events.
        delivery: The run's side of the protocol.
        schedule: The session's tasks.
        is_idle: True if no fit runs and another run of the process is active: only tasks with
            `while_idle` run, and no descriptor is held.
        ended: Set when everything is released.
    """

    def __init__(
        self,
        context: StreamContext,
        queue: EventQueue,
        on_command: OnCommand,
        *,
        faults: FaultLog,
        clock: Clock,
        timing: Timing,
    ) -> None:
        self.stream_context = context
        self.faults = faults
        self.event_queue = queue
        self.is_idle = False
        self.ended = threading.Event()
        self._clock = clock
        self._timing = timing
        self._idle_tasks = TaskSchedule(faults.record)
        self._upkeep = TaskSchedule(faults.record)
        self.schedule = TaskSchedule(faults.record)
        self._looks: tuple[Task, ...] = ()
        folders = context.folders
        writer = SpoolWriter(folders.spool, _facts(context), clock, state=folders.state)
        self.outbox = Outbox(
            writer, emit=queue.put, now_s=context.now_s, faults=faults, clock=clock
        )
        self._commands = CommandInbox(
            context.started.session, on_command, emit=queue.put, now_s=context.now_s, faults=faults
        )
        delivery_context = DeliveryContext(
            context.run,
            context.started,
            self.outbox,
            self._commands.receive,
            queue.put,
            context.now_s,
            faults,
        )
        self.delivery = RunDelivery(delivery_context, clock, timing)
        self._notices = TrainingNotices(
            folders.spool, private=context.started.private, faults=faults
        )
        self._phase = _Phase.OPENING
        self._ended_why = "finished"
        self._reported_dropped = 0
        self._written_s = float("-inf")
        self._lock_until_s: float | None = None
        self._not_before_s = float("-inf")
        self._end_s: float | None = None
        self._is_finishing = False

    # --- for other threads ---

    def end(self, timeout_s: float) -> float:
        """Request the end, with a maximum time for the network; a later call can only shorten it.

        Returns:
            Monotonic time of the deadline, seconds.
        """
        end_s = self._clock.monotonic_s() + timeout_s
        self._end_s = end_s if self._end_s is None else min(end_s, self._end_s)
        return self._end_s

    @property
    def is_ending(self) -> bool:
        return self._end_s is not None

    def every(self, interval_s: float, task: Task, *, while_idle: bool = False) -> None:
        """Run a task each `interval_s` seconds; `EACH_LOOK`: each time the queue is checked."""
        if interval_s == EACH_LOOK:
            self._looks += (task,)
            return
        (self._idle_tasks if while_idle else self.schedule).add(interval_s, task)

    # --- the agent's thread ---

    def turn(self, now_s: float, *, is_free: bool) -> bool:
        """Run due tasks and write events to the spool; True if there were any events.

        Args:
            now_s: Monotonic time.
            is_free: True if no earlier stream of this process still holds the run's spool.
        """
        return self._guarded("link.turn", now_s, lambda: self._turn(now_s, is_free=is_free))

    def look(self, now_s: float) -> bool:
        """Run the `EACH_LOOK` tasks; True if events are to be written to the spool now.

        Events of a task and those of `_URGENT` do not wait; others do until `Timing.write_s` after
        the last write. A task that raises is not run again: a lasting fault would be counted each
        time.
        """
        n_waiting = len(self.event_queue)
        if not self.is_idle and self._phase is _Phase.OPEN:
            for task in self._looks:
                try:
                    task()
                except Exception as exc:  # noqa: BLE001 - counted; the thread goes on
                    self._looks = tuple(each for each in self._looks if each is not task)
                    self.faults.record("link.look", exc)
        is_due = now_s >= self._written_s + self._timing.write_s
        if is_due or not n_waiting:
            return not self.event_queue.is_empty
        return len(self.event_queue) > n_waiting or self.event_queue.has_urgent

    def pass_on(self, now_s: float) -> bool:
        """Write events to the spool, without the tasks of a turn.

        False if they must wait for a turn.
        """
        if self._phase is not _Phase.OPEN or self.is_idle or self.is_ending:
            return False
        return self._guarded("link.turn", now_s, self._drain)

    def fall_asleep(self) -> bool:
        """Request a wake-up by the next event.

        False if there is one already, or `EACH_LOOK` tasks.
        """
        has_looks = bool(self._looks) and not self.is_idle
        return not has_looks and self.event_queue.fall_asleep()

    def run_upkeep(self, now_s: float) -> None:
        """Run retention and write the fault log; after the network's turn."""

        def work() -> bool:
            if self._phase is _Phase.OPEN:
                self._upkeep.run_due(now_s)
            self.faults.write_out()
            if self.is_idle and not self.is_ending and self._is_settled():
                self.outbox.rest()
            return False

        self._guarded("link.turn", now_s, work)

    def wait_s(self, now_s: float) -> float:
        """Time until the next work without new events, seconds."""
        if self._phase is _Phase.OPENING:
            return self._timing.lock_s / 30
        due_s = min(self._upkeep.wait_s(now_s), self._idle_tasks.wait_s(now_s))
        if self.is_idle:
            return max(due_s, IDLE_POLL_S)
        due_s = min(due_s, self.schedule.wait_s(now_s))
        return max(due_s, self._not_before_s - now_s)

    def may_leave(self, now_s: float, *, is_connected: bool) -> bool:
        """True if an ending run has nothing more to do, or no more time."""
        if self._end_s is None:
            return False
        is_waiting = self.delivery.hub_seen and is_connected and not self.delivery.is_complete
        is_drained = self._phase is _Phase.OPEN and self._is_finishing
        return (is_drained and not is_waiting) or now_s >= self._end_s

    def leave(self) -> None:
        """Send the last messages, then release everything; never raises."""
        with contextlib.ExitStack() as last:
            last.callback(self.ended.set)
            last.callback(self.faults.write_out)
            last.enter_context(self.faults.guarded("link.close"))
            last.callback(self.outbox.close)
            self._phase = _Phase.ENDED
            with self.faults.guarded("link.finish"):
                if self.outbox.acked < self.outbox.last_seq:
                    self.outbox.report_unwritten()
                self._warn_unrecorded()

    def _is_settled(self) -> bool:
        return self.delivery.phase is not DeliveryPhase.LIVE or self.delivery.is_complete

    @property
    def ended_why(self) -> str:
        """`why` of the session's `SessionEnded`."""
        return self._ended_why

    def forget_in_child(self) -> None:
        """Forget the parent's files in a forked child."""
        self.event_queue.close()
        self.outbox.forget_in_child()

    def _guarded(self, where: str, now_s: float, work: Callable[[], bool]) -> bool:
        if now_s < self._not_before_s and not self.is_ending:
            return False
        try:
            return work()
        except Exception as exc:  # noqa: BLE001 - counted; the other runs and the thread go on
            self._not_before_s = now_s + AFTER_FAULT_S
            self.faults.record(where, exc)
            return False

    def _turn(self, now_s: float, *, is_free: bool) -> bool:
        if self._phase is _Phase.OPENING and not self._open(now_s, is_free=is_free):
            return False
        if self.is_ending and not self._is_finishing:
            self._is_finishing = True
            self._drain()
            self.outbox.retry()
            return True
        stirred = self._drain()
        if not self.is_idle:
            self.schedule.run_due(now_s)
        self._idle_tasks.run_due(now_s)
        return self._drain() or stirred  # what the tasks have just read

    # --- start ---

    def _open(self, now_s: float, *, is_free: bool) -> bool:
        if self._lock_until_s is None:
            self._lock_until_s = now_s + self._timing.lock_s
        if not is_free:
            return False
        if not self.outbox.open():
            if not self.is_ending and now_s <= self._lock_until_s:
                return False
            self.outbox.open_without_disk(
                SpoolLocked("another process is using the spool of this run")
            )
        self._phase = _Phase.OPEN
        self._upkeep.add(self._timing.retry_s, self._retry_disk)
        self._upkeep.add(self._timing.mark_s, self.outbox.save_mark)
        self._upkeep.add(self._timing.tidy_s, self.outbox.tidy)
        self._remember_commands()
        self._leave_launcher()
        if self.outbox.folder is not None and (what := missing_home_text()):
            self._notices.homeless(what)
        return True

    def _remember_commands(self) -> None:
        if self.outbox.folder is not None:
            self._commands.seen_commands.store_in(self.outbox.folder)

    def _leave_launcher(self) -> None:
        started = self.stream_context.started
        if started.private:
            return  # its host has another name in each process: nobody could find the record
        with contextlib.suppress(OSError):  # a full or read-only disk is reported by the spool
            write_interpreter_record(
                self.stream_context.folders,
                InterpreterRecord(
                    python=sys.executable or "",
                    version=VERSION,
                    host=started.host,
                    wall_s=started.started_wall_s,
                ),
            )

    # --- each turn ---

    def _drain(self) -> bool:
        events = self.event_queue.drain()
        for event in events:
            self._commands.note(event)
            if isinstance(event, SessionEnded):
                self._ended_why = event.why
        for begin in range(0, len(events), WRITTEN_AT_ONCE):
            self.outbox.append(events[begin : begin + WRITTEN_AT_ONCE])
        self._report_dropped()
        if events:
            self._written_s = self._clock.monotonic_s()
        return bool(events)

    def _retry_disk(self) -> None:
        had_folder = self.outbox.folder is not None
        self.outbox.retry()
        if not had_folder and self.outbox.folder is not None:
            self._remember_commands()
            if self.outbox.was_removed:
                # The spool was removed, and with it perhaps the hub's record of the run.
                self.outbox.append([self.stream_context.started])
        if self.stream_context.now_s() > HUB_AWAITED_S:
            self._warn_unrecorded()

    def _warn_unrecorded(self) -> None:
        if self.outbox.degraded and not self.delivery.hub_seen:
            refused = None if self.stream_context.started.private else self.outbox.refused
            self._notices.unrecorded(self.outbox.degraded if refused is None else str(refused))

    def _report_dropped(self) -> None:
        dropped = self.event_queue.dropped
        if dropped > self._reported_dropped:
            n = dropped - self._reported_dropped
            self._reported_dropped = dropped
            text = f"{n} events were dropped while kmonitor waited for the disk."
            self.outbox.append([self._notice("events_dropped", text)])

    def _notice(self, code: str, text: str) -> Event:
        return Notice(t_s=self.stream_context.now_s(), level="warning", code=code, text=text)

    def report_shortage(self, shortage: str) -> None:
        """Report that the process lacks a resource that searching for a hub needs."""
        text = (
            f"kmonitor cannot connect to its hub: {shortage} in this process. Events are"
            " kept on disk; kmonitor retries every few seconds."
        )
        self.event_queue.put(self._notice("hub_waits", text))


def _facts(context: StreamContext) -> SessionFacts:
    return SessionFacts(
        run=context.run,
        session=context.started.session,
        host=context.started.host,
        pid=context.started.pid,
        pid_namespace=context.started.pid_namespace,
        started_wall_s=context.started.started_wall_s,
    )


class TrainingNotices:
    """Our lines in the script's own output, each once per run; agent's thread.

    Args:
        folder: Folder in which the run is recorded.
        private: True to leave the folder's name out.
        faults: Counts lines that standard error did not take.
    """

    def __init__(self, folder: Path, *, private: bool, faults: FaultLog) -> None:
        self._folder_text = "its folder" if private else str(folder)
        self._is_private = private
        self._faults = faults
        self._written: set[str] = set()

    def unrecorded(self, why: str) -> None:
        """Warn that the run is not recorded anywhere; `why` is the disk's error."""
        self._write(
            "unrecorded",
            f"this run is not being recorded: {self._folder_text} cannot be written to ({why}), "
            "and no hub is responding. Training is not affected. For details, run: kmonitor "
            "doctor",
        )

    def homeless(self, what: str) -> None:
        """Warn that files are in a temporary folder, since this user has no home."""
        self._write("homeless", NO_HOME if self._is_private else what)

    def _write(self, kind: str, text: str) -> None:
        if kind in self._written:
            return
        self._written.add(kind)
        with self._faults.guarded("link.notice"):
            write_line(text)


NO_HOME: Final = "this user has no home folder; set KMONITOR_HOME to a persistent folder."
