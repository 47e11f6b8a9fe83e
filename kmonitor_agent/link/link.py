"""One run's link: emits events, runs tasks beside the training, and receives commands."""

from collections.abc import Callable
from dataclasses import dataclass

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.agent_thread import AGENT, EXIT_NETWORK_S, AgentThread
from kmonitor_agent.link.delivery import DeliveryPhase, OnCommand
from kmonitor_agent.link.hub_choice import HubChoice
from kmonitor_agent.link.run_stream import EventQueue, RunStream, StreamContext
from kmonitor_agent.link.timing import Task
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import Event, SessionStarted


class Link:
    """Path of one run's events to disk and hub, through the agent's thread of the process.

    Any thread may call any method; none of them raises or prints. In a forked child everything is
    a no-op, and the parent's files and sockets are left alone.

    Attributes:
        emit: Queues an event; a plain append, never blocks or raises.
        is_started: True if the agent's thread serves the run, or did until it ended.
    """

    emit: Callable[[Event], None]

    def __init__(  # noqa: PLR0913 - the parts of a session; all by keyword
        self,
        *,
        run: str,
        session_id: str,
        folders: Folders,
        started: SessionStarted,
        hub: HubChoice,
        on_command: OnCommand,
        faults: FaultLog,
        agent: AgentThread = AGENT,
    ) -> None:
        """Nothing is opened before `start`.

        Args:
            session_id: Random id of this process start, equal to the one in `started`.
            folders: Folders of spool and socket.
            started: First event of the session; its `t_s` is now.
            hub: Which hub to report to.
            on_command: Called on the agent's thread with each accepted command.
            agent: Agent's thread that serves the run; tests have their own.

        Raises:
            ValueError: `session_id` is not the one in `started`.
        """
        if session_id != started.session:
            raise ValueError(
                f"session {session_id!r} does not match that of its first event,"
                f" {started.session!r}"
            )
        self._agent = agent
        self._clock = agent.clock
        self._began_s = self._clock.monotonic_s() - started.t_s
        self._faults = faults
        self._event_queue = EventQueue(agent.wakeup)
        self.emit = (
            self._event_queue.put
        )  # not a method that calls it: one frame less in the training
        self.is_started = False
        self._stream = RunStream(
            StreamContext(run, started, folders, hub.socket(folders), self.now_s),
            self._event_queue,
            on_command,
            faults=faults,
            clock=self._clock,
            timing=agent.timing,
        )
        self.emit(started)

    def start(self) -> None:
        """Begin to serve the run, `started` first; call it again if no thread could be started."""
        if self.is_started or self._stream.is_ending:
            return
        with self._faults.guarded("link.start"):
            self._agent.add(self._stream)
            self.is_started = True

    def every(self, interval_s: float, task: Task, *, while_idle: bool = False) -> None:
        """Run a task on the agent's thread, at once and then each `interval_s` seconds.

        Exceptions of the task are counted; an expensive task runs less often (`TaskSchedule`).

        Args:
            interval_s: Time between two runs, seconds; `EACH_LOOK`: each time that the queue is
                checked, for a task of some microseconds, which is not run again once it raised.
            while_idle: True to run it also while the run is idle.
        """
        self._stream.every(interval_s, task, while_idle=while_idle)
        self._agent.wakeup.set()

    def now_s(self) -> float:
        """Seconds since the session started: `t_s` of an event that happens now."""
        return self._clock.monotonic_s() - self._began_s

    def set_idle(self, *, is_idle: bool) -> None:
        """Set if this run is idle while another run of the process is active."""
        self._stream.is_idle = is_idle
        if not is_idle:
            self._agent.wakeup.set()

    def end(self, *, timeout_s: float) -> None:
        """Write everything to the spool, then send it to a connected hub; does not wait."""
        self._event_queue.close()
        self._stream.end(timeout_s)
        self._agent.wakeup.set()

    def close(self, *, timeout_s: float = EXIT_NETWORK_S) -> None:
        """End the run as `end` does, and wait; calling it again is harmless.

        Args:
            timeout_s: Maximum time for the hub, seconds; almost none is used if no hub was ever
                seen.
        """
        self._event_queue.close()
        if self.is_started:
            with self._faults.guarded("link.close"):
                self._agent.end([self._stream], timeout_s)

    def status(self) -> "LinkStatus":
        """State of the link as of about now."""
        outbox = self._stream.outbox
        delivery = self._stream.delivery
        return LinkStatus(
            hub_seen=delivery.hub_seen,
            connected=delivery.phase is DeliveryPhase.LIVE,
            last_seq=outbox.last_seq,
            acked=outbox.acked,
            spooled_bytes=outbox.spooled_bytes,
            degraded=outbox.degraded,
            dropped=self._event_queue.dropped,
            faults=sum(self._faults.counts().values()),
        )


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """State of a link at one moment; reading it costs nothing and touches no file.

    Attributes:
        hub_seen: True if a hub ever welcomed this process.
        connected: True while connected to a hub that welcomed it.
        last_seq: Newest sequence number assigned.
        acked: Newest sequence number that the hub has committed.
        spooled_bytes: Size of this session's events on disk, bytes.
        degraded: Reason why the disk is not used, as text; empty if it is used.
        dropped: Number of events that found no room in memory.
        faults: Number of our own faults, all parts together.
    """

    hub_seen: bool
    connected: bool
    last_seq: int
    acked: int
    spooled_bytes: int
    degraded: str
    dropped: int
    faults: int
