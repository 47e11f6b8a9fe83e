"""One run's side of protocol KM1: hello, batches, acks, rewind, commands. Others own the socket.

A process has one connection to its hub for all its runs. A problem of one run (a newer process
took it over, the hub refuses it, it is behind) stays with that run: the connection and the other
runs continue.

Events are on disk before they are sent, and dropped once the hub has committed them. Training, hub
and network may therefore die at any moment: the hub's welcome names the last event that it has
committed, and sending continues behind it. That may send an event twice, but loses none.
The hub ignores a sequence number that it has, so delivering twice costs bandwidth and nothing
else; to deliver exactly once would take a second round trip for each batch.

A window of unacknowledged events bounds what a slow hub costs in memory here. The training thread
takes no part in any of this: it hands over events and never waits.
"""

import enum
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

import msgspec

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.outbox import Outbox
from kmonitor_agent.link.timing import Timing
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.local.private_files import read_own, write_private
from kmonitor_agent.wire.messages.commands import FINAL_STATES, Command, CommandState
from kmonitor_agent.wire.messages.events import CommandProgress, Event, Notice, SessionStarted
from kmonitor_agent.wire.messages.fields import (
    MAX_BATCH_BYTES,
    MAX_BATCH_EVENTS,
    MAX_WINDOW_EVENTS,
    MINOR_VERSIONS,
)
from kmonitor_agent.wire.messages.unions import (
    Ack,
    Batch,
    Bye,
    ErrorMessage,
    Hello,
    HelloAgain,
    Nack,
    ToAgent,
    Welcome,
)

SEND_AT_ONCE: Final = 4
"""Maximum number of batches sent in one turn of the agent's loop, so that a backlog does not hold
the GIL."""

_BYES: Final[dict[str, Literal["finished", "error", "restart", "stop"]]] = {
    "finished": "finished",
    "failed": "error",
    "interrupted": "stop",
    "stopped": "stop",
    "restart": "restart",
}


class DeliveryPhase(enum.Enum):
    """Stage of a run's session with the hub."""

    AWAY = "no connection"
    GREETING = "connecting: no reply to hello yet"
    LIVE = "welcomed"
    REFUSED = "the hub is rejecting this run for now"
    SUPERSEDED = "a newer process of the run has taken over; this one no longer sends data"


@dataclass(frozen=True, slots=True)
class DeliveryContext:
    """Parts of a run that its delivery needs.

    Attributes:
        run: Run id.
        started: First event of the session.
        outbox: Numbered events.
        now_s: Returns the session's `t_s`.
    """

    run: str
    started: SessionStarted
    outbox: Outbox
    on_command: Callable[[Command], None]
    emit: Callable[[Event], None]
    now_s: Callable[[], float]
    faults: FaultLog


class HubChannel(Protocol):
    """One connection; `HubSocket` is the real one, tests script others."""

    @property
    def is_bad(self) -> bool:
        """True if the hub sent too many invalid messages."""
        ...

    def send(self, message: msgspec.Struct) -> bool:
        """Queue a message; False if the queue is full and the message was not taken."""
        ...

    def received(self) -> Iterator[ToAgent]:
        """Messages that have arrived since the last call."""
        ...

    def close(self) -> None:
        """Leave the hub; queued messages are dropped."""
        ...


ToRun = Welcome | Ack | HelloAgain | Nack | Command
"""Messages of a hub that are for one run."""


class RunDelivery:
    """Delivers one run's outbox, in order, over the current connection; agent's thread.

    Attributes:
        phase: Stage of the session with the hub.
        hub_seen: True if a hub ever welcomed this run.
        ping_s: Time between pings that the welcoming hub requested, seconds.
    """

    def __init__(self, context: DeliveryContext, clock: Clock, timing: Timing) -> None:
        self.phase = DeliveryPhase.AWAY
        self.hub_seen = False
        self.ping_s = timing.ping_s
        self._delivery_context = context
        self._clock = clock
        self._timing = timing
        self._send_window = SendWindow()
        self._reported: set[str] = set()
        self._hello_at_s = self._not_before_s = float("-inf")
        self._read_at_s = self._progress_s = 0.0

    @property
    def run(self) -> str:
        return self._delivery_context.run

    @property
    def is_complete(self) -> bool:
        """True if the hub has everything, or will get nothing more from here."""
        outbox = self._delivery_context.outbox
        return self.phase is DeliveryPhase.SUPERSEDED or outbox.acked >= outbox.last_seq

    @property
    def is_settled(self) -> bool:
        """True if the hub has sent what is needed to send the rest, or nothing will be sent."""
        match self.phase:
            case DeliveryPhase.LIVE:
                sent = self._send_window.next_seq - 1
                return sent >= self._delivery_context.outbox.last_seq
            case DeliveryPhase.GREETING:
                return False
            case _:
                return True

    def connected(self, now_s: float, *, is_other_hub: bool = False) -> None:
        """Note a new connection: send hello next, after a pause if this hub refused the run."""
        if self.phase is DeliveryPhase.SUPERSEDED:
            return
        if is_other_hub:
            self._not_before_s = now_s
        self.phase = (
            DeliveryPhase.GREETING if now_s >= self._not_before_s else DeliveryPhase.REFUSED
        )
        self._hello_at_s = max(now_s, self._not_before_s)

    def disconnected(self) -> None:
        if self.phase is not DeliveryPhase.SUPERSEDED:
            self.phase = DeliveryPhase.AWAY

    def due_s(self, now_s: float) -> float:
        """Monotonic time of the next work of `write`, without external events."""
        if self.phase in (DeliveryPhase.GREETING, DeliveryPhase.REFUSED):
            return self._hello_at_s
        if self.phase is DeliveryPhase.LIVE and self._has_more():
            return max(self._read_at_s, now_s + self._timing.drain_s / 10)
        return float("inf")

    def write(self, channel: HubChannel, now_s: float) -> None:
        """Send the messages that are due."""
        if self.phase is DeliveryPhase.REFUSED and now_s >= self._hello_at_s:
            self.connected(now_s)
        if self.phase is DeliveryPhase.GREETING:
            self._send_hello(channel, now_s)
        elif self.phase is DeliveryPhase.LIVE:
            self._send_batches(channel, now_s)

    def handle(self, message: ToRun, now_s: float) -> None:
        if isinstance(message, Command):
            self._delivery_context.on_command(message)
        elif isinstance(message, Welcome):
            self._on_welcome(message, now_s)
        elif self.phase is not DeliveryPhase.LIVE:
            return
        elif isinstance(message, HelloAgain):
            self.connected(now_s)
        else:
            self._on_progress(message, now_s)

    def refuse(self, error: ErrorMessage, now_s: float) -> None:
        """Pause or end delivery of this run alone; the hub cannot serve it."""
        if error.code == "superseded":
            self.phase = DeliveryPhase.SUPERSEDED
            self.notify_once(
                "superseded", "Another process of this run is now reporting to the hub."
            )
        elif error.fatal or error.code == "unauthorized":
            self._reject(
                now_s, f"hub_{error.code}", f"The hub refused the connection: {error.text}"
            )
        elif error.code in {"busy", "quota"}:
            self._pause(now_s, min(error.retry_ms / 1000, self._timing.refused_s))

    def send_bye(self, channel: HubChannel, why: str) -> None:
        """Report to a connected hub that the run ends here (`why` of its `SessionEnded`)."""
        if self.phase is DeliveryPhase.LIVE:
            ending = _BYES.get(why, "finished")
            channel.send(
                Bye(run=self.run, last=self._delivery_context.outbox.last_seq, why=ending)
            )

    def notify_once(self, code: str, text: str) -> None:
        """Add a notice to the run, once per code."""
        if code not in self._reported:
            self._reported.add(code)
            t_s = self._delivery_context.now_s()
            self._delivery_context.emit(
                Notice(t_s=t_s, level="error", code=code, text=text[:4096])
            )

    def _reject(self, now_s: float, code: str, text: str) -> None:
        self.notify_once(code, text)
        self._pause(now_s, self._timing.refused_s)

    def _pause(self, now_s: float, seconds: float) -> None:
        self.phase = DeliveryPhase.REFUSED
        self._hello_at_s = self._not_before_s = now_s + seconds

    # --- writing ---

    def _send_hello(self, channel: HubChannel, now_s: float) -> None:
        if now_s < self._hello_at_s:
            return
        self._hello_at_s = now_s + self._timing.hello_s
        started = self._delivery_context.started
        outbox = self._delivery_context.outbox
        channel.send(
            Hello(
                run=self.run,
                session=started.session,
                minor_versions=MINOR_VERSIONS,
                first=outbox.first_seq,
                last=outbox.last_seq,
                pid=started.pid,
                pid_namespace=started.pid_namespace,
                host=started.host,
                started_wall_s=started.started_wall_s,
                monotonic_s=self._delivery_context.now_s(),
            )
        )

    def _has_more(self) -> bool:
        return (
            self._send_window.next_seq <= self._delivery_context.outbox.last_seq
            and self._send_window.allowed() > 0
        )

    def _send_batches(self, channel: HubChannel, now_s: float) -> None:
        if now_s < self._read_at_s:
            return
        for _ in range(SEND_AT_ONCE):
            if not self._has_more() or not self._send_batch(channel, now_s):
                break
        in_flight = self._send_window.next_seq - 1 > self._send_window.acked
        if not in_flight:
            self._progress_s = now_s
        elif now_s - self._progress_s > self._timing.stall_s:
            self._progress_s = now_s
            self.connected(now_s)

    def _send_batch(self, channel: HubChannel, now_s: float) -> bool:
        first = self._send_window.next_seq
        try:
            bodies = self._delivery_context.outbox.read(
                first, self._send_window.allowed(), MAX_BATCH_BYTES
            )
        except OSError as exc:
            self._delivery_context.faults.record("link.read", exc)
            self._read_at_s = now_s + self._timing.retry_s
            return False
        batch = Batch(
            run=self.run,
            session=self._delivery_context.started.session,
            first=first,
            events=bodies,
        )
        if not channel.send(batch):
            return False
        self._send_window.sent(len(bodies))
        return True

    # --- reading ---

    def _on_welcome(self, welcome: Welcome, now_s: float) -> None:
        # A second one answers a hello from before the first: what was sent since holds.
        if (
            self.phase is not DeliveryPhase.GREETING
            or welcome.session != self._delivery_context.started.session
        ):
            return
        if not MINOR_VERSIONS[0] <= welcome.minor_version <= MINOR_VERSIONS[1]:
            text = (
                "The hub uses a different protocol version; install the same kmonitor version"
                " for the hub and for this script."
            )
            self._reject(now_s, "hub_version", text)
            return
        if welcome.acked > self._delivery_context.outbox.last_seq:
            text = (
                "The hub claims to have events that this run never sent; the spool keeps"
                " everything."
            )
            self._reject(now_s, "hub_ahead", text)
            return
        self.hub_seen = True
        self.phase = DeliveryPhase.LIVE
        self._delivery_context.outbox.set_acked(welcome.acked)
        self._send_window.rewind(welcome.acked, welcome.max_batch)
        self.ping_s = min(welcome.ping_ms / 1000, self._timing.ping_s)
        self._progress_s = now_s

    def _on_progress(self, message: Ack | Nack, now_s: float) -> None:
        self._progress_s = now_s
        outbox = self._delivery_context.outbox
        if isinstance(message, Nack):
            blamed = self._send_window.refused(message.first, message.n)
            if blamed is not None:
                outbox.replace(blamed, f"refused by the hub: {message.why}")
        elif message.acked > outbox.last_seq:
            text = "The hub acknowledged events that were never sent; the spool keeps everything."
            self._reject(now_s, "hub_ahead", text)
        elif message.acked > self._send_window.acked:
            self._send_window.ack(message.acked)
            outbox.set_acked(message.acked)


class SendWindow:
    """Number of events that may be on their way to the hub; numbers only, no events.

    Attributes:
        next_seq: First number not sent yet.
        acked: Newest number that the hub has committed.
    """

    def __init__(self) -> None:
        self.next_seq = 1
        self.acked = 0
        self._max_batch: int = MAX_BATCH_EVENTS
        self._careful_batch: int = MAX_BATCH_EVENTS
        self._careful_until = 0

    def rewind(self, acked: int, max_batch: int) -> None:
        """Begin again behind `acked`, with batches that the hub can take; at a welcome."""
        self.acked = acked
        self.next_seq = acked + 1
        self._max_batch = min(max_batch, MAX_BATCH_EVENTS)
        self._careful_until = self._careful_until if self._careful_until > acked else 0

    def allowed(self) -> int:
        """Maximum number of events in the next batch; 0: wait for the hub."""
        in_flight = self.next_seq - 1 - self.acked
        if self._careful_until:
            # One batch at a time: what the hub says next is then about this one.
            return 0 if in_flight else min(self._careful_batch, self._max_batch)
        return max(0, min(self._max_batch, MAX_WINDOW_EVENTS - in_flight))

    def sent(self, n: int) -> None:
        """Note that `n` more events are on their way."""
        self.next_seq += n

    def ack(self, acked: int) -> None:
        """Note that the hub committed up to this number."""
        self.acked = acked
        self.next_seq = max(self.next_seq, acked + 1)
        if acked >= self._careful_until:
            self._careful_until = 0

    def refused(self, first: int, n: int) -> int | None:
        """Halve a batch that the hub refused, or return the number of the single event in it."""
        if first + n - 1 <= self.acked or first >= self.next_seq:
            return None
        self._careful_until = max(self._careful_until, first + n - 1)
        self._careful_batch = max(1, n // 2)
        self.next_seq = max(first, self.acked + 1)
        return first if n == 1 else None


HELD_LIMIT: Final = 16
"""Maximum number of commands waiting or running."""

OnCommand = Callable[[Command], None]


class CommandInbox:
    """Accepts commands of the hub, each once, at most 16 at a time; agent's thread only.

    Ids of received commands are kept in the run's folder, so that no later process of the run
    executes one again.

    Args:
        session_id: This process's id.
        on_command: Called with each accepted command, when it is received.
        emit: Emits an event.
        now_s: Returns the session's `t_s`.
    """

    def __init__(
        self,
        session_id: str,
        on_command: OnCommand,
        *,
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        faults: FaultLog,
    ) -> None:
        self.seen_commands = SeenCommands()
        self._session_id = session_id
        self._on_command = on_command
        self._emit = emit
        self._now_s = now_s
        self._faults = faults
        self._held: set[str] = set()

    def receive(self, command: Command) -> None:
        """Accept, refuse or (a repetition) ignore a command; never raises."""
        if command.id in self.seen_commands:
            return
        self._remember(command.id)
        if command.session != self._session_id:
            self._report(command, "refused", "it was for another process of this run")
        elif len(self._held) >= HELD_LIMIT:
            self._report(command, "refused", f"{HELD_LIMIT} commands are already waiting")
        else:
            self._held.add(command.id)
            self._hand_over(command)

    def note(self, event: Event) -> None:
        """Process an event on its way to the spool: a final state frees the command's slot."""
        if isinstance(event, CommandProgress) and event.state in FINAL_STATES:
            self._held.discard(event.id)

    def _remember(self, command_id: str) -> None:
        # Before it is handed over: a crash in between loses the command, never runs it twice.
        try:
            self.seen_commands.add(command_id)
        except OSError as exc:
            self._faults.record("link.commands", exc)

    def _hand_over(self, command: Command) -> None:
        try:
            self._on_command(command)
        except Exception as exc:  # noqa: BLE001 - the session's fault must not end this thread
            self._faults.record("link.on_command", exc)
            self._report(command, "failed", f"internal kmonitor error: {type(exc).__name__}")

    def _report(self, command: Command, state: CommandState, why: str) -> None:
        self._emit(
            CommandProgress(
                t_s=self._now_s(), id=command.id, name=command.name, state=state, why=why
            )
        )


COMMANDS_NAME: Final = "commands"
"""File name in the run's folder: one id per line, oldest first."""

SEEN_LIMIT: Final = 1024
"""Number of ids remembered; a hub repeats a command during its time to live, 16 can be open."""

COMMANDS_BYTES: Final = SEEN_LIMIT * 65
"""Maximum size of the file, bytes."""

_ID: Final = re.compile(r"^[0-9A-Za-z_-]{1,64}$")


class SeenCommands:
    """A bounded set of ids that survives the process; on the agent's thread only."""

    def __init__(self, folder: Path | None = None) -> None:
        """Read the ids that the folder holds; None: remember in memory only."""
        self._ids: dict[str, None] = {}
        self._path: Path | None = None
        if folder is not None:
            self.store_in(folder)

    def __contains__(self, command_id: str) -> bool:
        return command_id in self._ids

    def store_in(self, folder: Path) -> None:
        """Add the ids that the folder holds, and write new ones there from now on."""
        self._path = folder / COMMANDS_NAME
        try:
            lines = read_own(self._path, COMMANDS_BYTES).decode("ascii").splitlines()
        except (OSError, UnicodeDecodeError):
            lines = []
        known = [line for line in lines if _ID.match(line)]
        self._ids = dict.fromkeys([*known, *self._ids])
        self._cut()

    def add(self, command_id: str) -> None:
        """Remember an id.

        Raises:
            OSError: The id could not be written; it is remembered by this process only.
        """
        self._ids[command_id] = None
        self._cut()
        if self._path is not None:
            write_private(self._path, "".join(f"{i}\n" for i in self._ids).encode("ascii"))

    def _cut(self) -> None:
        while len(self._ids) > SEEN_LIMIT:
            del self._ids[next(iter(self._ids))]
