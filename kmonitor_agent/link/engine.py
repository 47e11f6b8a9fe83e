"""What the agent's thread does: run tasks, drain the inbox to the spool, talk to the hub."""

import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.command_desk import CommandDesk, OnCommand
from kmonitor_agent.link.hub_place import Sighting, look_for_hub
from kmonitor_agent.link.hub_search import HubReach
from kmonitor_agent.link.inbox import Inbox
from kmonitor_agent.link.outbox import Outbox
from kmonitor_agent.link.schedule import Schedule
from kmonitor_agent.link.sender import Phase, Sender, Surroundings
from kmonitor_agent.link.spool_writer import SpoolHeld, SpoolWriter
from kmonitor_agent.link.timing import Timing
from kmonitor_agent.link.unrecorded import Unrecorded
from kmonitor_agent.link.wire import Wire
from kmonitor_agent.local.clock import Clock
from kmonitor_agent.local.direct_address import DirectAddress
from kmonitor_agent.local.folders import Folders
from kmonitor_agent.local.key_pair import own_keys
from kmonitor_agent.local.launcher import Launcher, leave_launcher
from kmonitor_agent.local.spool_format import BootFacts
from kmonitor_agent.protocol.facts import BootEnded, BootStarted, Notice
from kmonitor_agent.release import VERSION

if TYPE_CHECKING:
    import zmq

AFTER_FAULT_S: Final = 1.0
"""Pause after a fault of our own, so that a lasting one does not spin."""

FLUSH_S: Final = 0.1
"""What ZeroMQ gets to hand the last messages to the hub."""

WAIT_LIMIT_S: Final = 60.0

HUB_AWAITED_S: Final = 5.0
"""A run that the disk refuses is not called lost before a hub had so long to be found."""

_FAR_AWAY: Final = Sighting(0, 0, 0)
"""A hub on the network leaves no file to look for: it is always tried."""


@dataclass(frozen=True, slots=True)
class Boot:
    """What an engine is for.

    Attributes:
        run: Run id.
        started: First event of the boot.
        folders: Where spool and launcher record lie.
        socket: The hub's socket, or its address on the network; None: no hub.
        now_s: The boot's `t_s`.
    """

    run: str
    started: BootStarted
    folders: Folders
    socket: Path | DirectAddress | None
    now_s: Callable[[], float]


class Engine:
    """The body of the thread `kmonitor-agent`; everything but `stop` belongs to it.

    Attributes:
        outbox: Numbered events.
        sender: The connection.
        schedule: The session's tasks.
    """

    def __init__(
        self,
        boot: Boot,
        inbox: Inbox,
        on_command: OnCommand,
        *,
        faults: FaultLog,
        clock: Clock,
        timing: Timing,
    ) -> None:
        self._boot = boot
        self._inbox = inbox
        self._faults = faults
        self._clock = clock
        self._timing = timing
        self.schedule = Schedule(faults.record)
        self.outbox = Outbox(
            SpoolWriter(boot.folders.spool, _facts(boot), clock),
            tell=inbox.put,
            now_s=boot.now_s,
            faults=faults,
            clock=clock,
        )
        self._desk = CommandDesk(
            boot.started.boot, on_command, emit=inbox.put, now_s=boot.now_s, faults=faults
        )
        self.sender = Sender(
            boot.run, boot.started, self.outbox, self._desk, self._surroundings(), timing
        )
        self._upkeep = Schedule(faults.record)
        self._unrecorded = Unrecorded(boot.folders.spool, private=boot.started.private)
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._ended = "finished"
        self._told_dropped = 0
        self._stirred_s = float("-inf")
        self._finish_s: float | None = None

    def stop(self, timeout_s: float) -> None:
        """Ask the thread to finish, with so much time for the network; from any thread."""
        self._finish_s = timeout_s
        self._inbox.wake.set()

    def run(self) -> None:
        """The thread's main; returns when it was asked to stop and is done."""
        self._guarded(self._open)
        while self._finish_s is None:
            self._guarded(self._turn)
        self._guarded(self._finish)
        self._guarded(self._close)

    def forget_in_child(self) -> None:
        """In a forked child: leave the parent's files alone. The sockets know their process."""
        self.outbox.forget_in_child()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as exc:  # noqa: BLE001 - thread main: counted, and the thread goes on
            # Where there is no memory, none may be left to count it or to wait either.
            try:  # noqa: SIM105
                self._count_and_wait(work.__name__, exc)
            except Exception:  # noqa: BLE001, S110
                pass

    def _count_and_wait(self, work: str, exc: Exception) -> None:
        self._faults.record(f"link.{work.strip('_')}", exc)
        if self._finish_s is None:
            self._inbox.wake.wait(AFTER_FAULT_S)

    # --- start ---

    def _open(self) -> None:
        self._upkeep.add(self._timing.retry_s, self._retry_disk)
        self._upkeep.add(self._timing.mark_s, self.outbox.save_mark)
        self._upkeep.add(self._timing.tidy_s, self.outbox.tidy)
        end_s = self._clock.monotonic_s() + self._timing.lock_s
        while not self.outbox.open():
            if self._finish_s is not None or self._clock.monotonic_s() > end_s:
                self.outbox.open_without_disk(SpoolHeld("another process has this run's spool"))
                break
            self._inbox.wake.wait(self._timing.lock_s / 30)
        self._remember_commands()
        self._leave_launcher()

    def _remember_commands(self) -> None:
        if self.outbox.folder is not None:
            self._desk.seen.keep_in(self.outbox.folder)

    def _leave_launcher(self) -> None:
        started = self._boot.started
        if started.private:
            return  # its host has another name in each process: nobody could find the record
        with contextlib.suppress(OSError):  # a full or read-only disk is told of by the spool
            leave_launcher(
                self._boot.folders,
                Launcher(
                    python=sys.executable or "",
                    version=VERSION,
                    host=started.host,
                    wall_s=started.started_wall_s,
                ),
            )

    # --- each turn ---

    def _turn(self) -> None:
        now_s = self._clock.monotonic_s()
        if self._drain():
            self._stirred_s = now_s
        self.schedule.run_due(now_s)
        self._drain()  # what the tasks have just read
        if self._boot.socket is not None:
            self.sender.step()
        self._upkeep.run_due(self._clock.monotonic_s())
        self._faults.write_out()
        self._rest()

    def _drain(self) -> bool:
        events = self._inbox.take()
        for event in events:
            self._desk.note(event)
            if isinstance(event, BootEnded):
                self._ended = event.why
        self.outbox.append(events)
        self._tell_dropped()
        return bool(events)

    def _rest(self) -> None:
        """Wait for what is due, a message or a wake-up; look into the inbox meanwhile."""
        now_s = self._clock.monotonic_s()
        wait_s = min(WAIT_LIMIT_S, self.schedule.wait_s(now_s), self._upkeep.wait_s(now_s))
        if self._boot.socket is not None:
            wait_s = min(wait_s, self.sender.wait_s())
        if now_s - self._stirred_s > self._timing.still_s and self._inbox.fall_asleep():
            look_s = wait_s
        else:
            look_s = self._timing.drain_s
        end_s = now_s + wait_s
        while self._finish_s is None:
            if self._is_called(min(look_s, max(0.0, end_s - now_s))):
                self._inbox.wake.clear()
                break
            now_s = self._clock.monotonic_s()
            if now_s >= end_s or not self._inbox.is_empty:
                break
        self._inbox.is_sleeping = False

    def _is_called(self, seconds: float) -> bool:
        """Sleep so long at most; whether something ended it before."""
        if self.sender.wire is not None:
            return self.sender.wire.wait(seconds, self._inbox.wake.fileno())
        return self._inbox.wake.wait(seconds)

    def _retry_disk(self) -> None:
        had_folder = self.outbox.folder is not None
        self.outbox.retry()
        if not had_folder and self.outbox.folder is not None:
            self._remember_commands()
            if self.outbox.was_removed:
                # Whoever removed the spool may have removed what the hub knew of the run too.
                self.outbox.append([self._boot.started])
        if self._boot.now_s() > HUB_AWAITED_S:
            self._tell_unrecorded()

    def _tell_unrecorded(self) -> None:
        if self.outbox.degraded and not self.sender.hub_seen:
            self._unrecorded.tell(self.outbox.degraded)

    def _tell_dropped(self) -> None:
        dropped = self._inbox.dropped
        if dropped > self._told_dropped:
            n, self._told_dropped = dropped - self._told_dropped, dropped
            text = f"{n} events found no room while kmonitor waited for the disk."
            notice = Notice(
                t_s=self._boot.now_s(), level="warning", code="events_dropped", text=text
            )
            self.outbox.append([notice])

    # --- the hub ---

    def _surroundings(self) -> Surroundings:
        return Surroundings(
            reach=HubReach(look=self._look, connect=self._connect),
            now_s=self._boot.now_s,
            emit=self._inbox.put,
            clock=self._clock,
            faults=self._faults,
        )

    def _look(self) -> Sighting | None:
        socket = self._boot.socket
        if isinstance(socket, DirectAddress):
            return _FAR_AWAY
        return None if socket is None else look_for_hub(socket)

    def _connect(self) -> Wire:
        # Imported here: with no hub in sight ZeroMQ is never loaded into the training.
        import zmq  # noqa: PLC0415

        from kmonitor_agent.link.hub_socket import HubSocket  # noqa: PLC0415

        socket = self._boot.socket
        if socket is None:
            raise FileNotFoundError
        is_far = isinstance(socket, DirectAddress)
        keys = own_keys(self._boot.folders, "agent") if is_far else None
        if self._context is None:
            self._context = zmq.Context()
        return HubSocket(self._context, socket, keys)

    # --- end ---

    def _finish(self) -> None:
        self._inbox.wake.clear()
        self._drain()
        self.outbox.retry()
        if self.sender.hub_seen:
            self._hand_over(self._clock.monotonic_s() + (self._finish_s or 0.0))
        if self.outbox.acked < self.outbox.last_seq:
            self.outbox.tell_unwritten()
        self._tell_unrecorded()

    def _hand_over(self, end_s: float) -> None:
        """Give the hub what it has not yet, until so late."""
        while self.sender.wire is not None and not self.sender.is_done:
            left_s = end_s - self._clock.monotonic_s()
            if left_s <= 0:
                break
            self.sender.wire.wait(min(left_s, self.sender.wait_s(), self._timing.drain_s), -1)
            self.sender.step()
        self.sender.say_bye(self._ended)

    def _close(self) -> None:
        with contextlib.ExitStack() as last:
            last.callback(self._faults.write_out)
            last.callback(self.outbox.close)
            last.callback(self._close_network)

    def _close_network(self) -> None:
        is_live = self.sender.phase is Phase.LIVE
        self.sender.close(linger_s=FLUSH_S if is_live else 0.0)
        if self._context is not None:
            self._context.term()


def _facts(boot: Boot) -> BootFacts:
    return BootFacts(
        run=boot.run,
        boot=boot.started.boot,
        host=boot.started.host,
        pid=boot.started.pid,
        pid_namespace=boot.started.pid_namespace,
        started_wall_s=boot.started.started_wall_s,
    )
