"""What a session holds: emit events, run tasks beside the training, receive commands."""

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from typing import Final

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.command_desk import OnCommand
from kmonitor_agent.link.engine import Boot, Engine
from kmonitor_agent.link.hub_choice import HubChoice
from kmonitor_agent.link.inbox import Inbox
from kmonitor_agent.link.schedule import Task
from kmonitor_agent.link.sender import Phase
from kmonitor_agent.link.status import LinkStatus
from kmonitor_agent.link.timing import Timing
from kmonitor_agent.local.clock import Clock, SystemClock
from kmonitor_agent.local.folders import Folders
from kmonitor_agent.protocol.facts import BootStarted, Event

THREAD_NAME: Final = "kmonitor-agent"

JOIN_SLACK_S: Final = 0.5
"""Beyond the network's time, what a running task or write may take at the end."""


class Link:
    """Owns the one daemon thread `kmonitor-agent`, which owns spool, socket and sampling tasks.

    Any thread may call any method; none of them raises or prints. In a forked child everything is
    a no-op, and the parent's files and sockets are left alone.

    Attributes:
        emit: Hand an event over; an append, never blocks or raises.
    """

    emit: Callable[[Event], None]

    def __init__(  # noqa: PLR0913 - the parts of a boot; all by keyword
        self,
        *,
        run: str,
        boot: str,
        folders: Folders,
        started: BootStarted,
        hub: HubChoice,
        on_command: OnCommand,
        faults: FaultLog,
        clock: Clock | None = None,
        timing: Timing | None = None,
    ) -> None:
        """Prepare; `start` begins.

        Args:
            run: Run id.
            boot: Random id of this process start, the one in `started`.
            folders: Where spool and socket lie.
            started: First event of the boot; its `t_s` is now.
            hub: Which hub to report to.
            on_command: Told, on the agent's thread, of each accepted command as it is received.
            faults: Where our own faults go.
            clock: Time; None: the system's.
            timing: Intervals; None: the usual ones.

        Raises:
            ValueError: `boot` is not the one in `started`.
        """
        if boot != started.boot:
            raise ValueError(f"boot {boot!r} is not that of its first event, {started.boot!r}")
        self._clock = SystemClock() if clock is None else clock
        self._began_s = self._clock.monotonic_s() - started.t_s
        self._started = started
        self._faults = faults
        self._inbox = Inbox()
        self.emit = self._inbox.put  # not a method that calls it: one frame less in the training
        self._engine = Engine(
            Boot(run, started, folders, hub.socket(folders), self.now_s),
            self._inbox,
            on_command,
            faults=faults,
            clock=self._clock,
            timing=Timing() if timing is None else timing,
        )
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread; `started` is the boot's first event. Once."""
        with self._faults.guarded("link.start"):
            self.emit(self._started)
            thread = threading.Thread(target=self._engine.run, name=THREAD_NAME, daemon=True)
            thread.start()
            self._thread = thread
            _alive.add(self)
            atexit.register(self.close)

    def every(self, interval_s: float, task: Task) -> None:
        """Run a task on the agent's thread, at once and then each `interval_s` seconds.

        What it raises is counted; if it costs too much it runs less often (`schedule`).
        """
        self._engine.schedule.add(interval_s, task)
        self._inbox.wake.set()

    def now_s(self) -> float:
        """Seconds since the boot started: `t_s` of an event that happens now."""
        return self._clock.monotonic_s() - self._began_s

    def close(self, *, timeout_s: float = 1.9) -> None:
        """Everything to the spool, then to a hub that is there; again is harmless.

        Args:
            timeout_s: Most seconds for the hub, so that the whole stays below two; next to none
                are taken if none was ever seen.
        """
        thread, self._thread = self._thread, None
        self._inbox.shut()
        if thread is None:
            return
        with self._faults.guarded("link.close"):
            _alive.discard(self)
            atexit.unregister(self.close)
            self._engine.stop(timeout_s)
            if thread is not threading.current_thread():
                thread.join(timeout_s + JOIN_SLACK_S)

    def status(self) -> LinkStatus:
        """How it goes, as of about now."""
        outbox, sender = self._engine.outbox, self._engine.sender
        return LinkStatus(
            hub_seen=sender.hub_seen,
            connected=sender.phase is Phase.LIVE,
            last_seq=outbox.last_seq,
            acked=outbox.acked,
            spooled_bytes=outbox.spooled_bytes,
            degraded=outbox.degraded,
            dropped=self._inbox.dropped,
            faults=sum(self._faults.counts().values()),
        )

    def _become_a_child(self) -> None:
        # The thread did not come along; its socket and descriptors are copies of the parent's.
        self._thread = None
        self._inbox.shut()
        self._engine.forget_in_child()


_alive: "weakref.WeakSet[Link]" = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for link in list(_alive):
        link._become_a_child()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    _alive.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
