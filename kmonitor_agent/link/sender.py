"""The agent's side of protocol KM1 (hello, batches, acks, rewind, pings) over one connection."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.command_desk import CommandDesk
from kmonitor_agent.link.hub_search import HubReach, HubSearch
from kmonitor_agent.link.outbox import Outbox
from kmonitor_agent.link.pace import SEND_AT_ONCE, Pace
from kmonitor_agent.link.timing import Timing
from kmonitor_agent.link.wire import Wire
from kmonitor_agent.local.clock import Clock
from kmonitor_agent.local.sockets import NotPrivate
from kmonitor_agent.protocol.commands import Command
from kmonitor_agent.protocol.facts import BootStarted, Event, Notice
from kmonitor_agent.protocol.messages import (
    Ack,
    Again,
    Batch,
    Bye,
    ErrorMessage,
    Hello,
    Nack,
    Ping,
    Pong,
    ToAgent,
    Welcome,
)
from kmonitor_agent.protocol.version import MAX_BATCH_BYTES, MINOR_VERSIONS

SHORTEST_PING_S: Final = 0.1
"""A hub may ask for pings, but not for a flood of them."""


class Phase(enum.Enum):
    """Where the connection stands."""

    AWAY = "no connection"
    GREETING = "hello said, no welcome yet"
    LIVE = "welcomed"
    SUPERSEDED = "a newer process of the run has taken over; nothing is sent any more"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the sender needs of the rest.

    Attributes:
        reach: Finds hubs.
        now_s: The boot's `t_s`.
        emit: Emits an event.
        clock: Time.
        faults: Where our own faults go.
    """

    reach: HubReach
    now_s: Callable[[], float]
    emit: Callable[[Event], None]
    clock: Clock
    faults: FaultLog


class Sender:
    """Delivers the outbox, in order, to whichever hub is there; on the agent's thread only.

    Attributes:
        phase: Where the connection stands.
        wire: The connection, or None.
        hub_seen: Whether a hub ever welcomed this process.
    """

    def __init__(
        self,
        run: str,
        started: BootStarted,
        outbox: Outbox,
        desk: CommandDesk,
        outside: Surroundings,
        timing: Timing,
    ) -> None:
        self.phase = Phase.AWAY
        self.wire: Wire | None = None
        self.hub_seen = False
        self._run = run
        self._started = started
        self._outbox = outbox
        self._desk = desk
        self._outside = outside
        self._timing = timing
        self._pace = Pace()
        self._search = HubSearch(outside.reach, timing)
        self._said: set[str] = set()
        self._ping_s = timing.ping_s
        self._pings = 0
        self._hello_at_s = self._ping_at_s = self._read_at_s = 0.0
        self._live_since_s = self._heard_s = self._progress_s = 0.0

    @property
    def is_done(self) -> bool:
        """Whether the hub has everything, or will get nothing more from here."""
        return self.phase is Phase.SUPERSEDED or self._outbox.acked >= self._outbox.last_seq

    def step(self) -> None:
        """Read what came, then do what is due; never blocks."""
        now_s = self._outside.clock.monotonic_s()
        if self.wire is None:
            self._look(now_s)
        if self.wire is not None:
            self._read(self.wire, now_s)
        if self.wire is not None:
            self._write(self.wire, now_s)

    def wait_s(self) -> float:
        """Seconds until `step` has something to do by itself."""
        now_s = self._outside.clock.monotonic_s()
        match self.phase:
            case Phase.SUPERSEDED:
                return float("inf")
            case Phase.AWAY:
                due_s = self._search.due_s
            case Phase.GREETING:
                due_s = min(self._hello_at_s, self._heard_s + self._timing.dead_s)
            case Phase.LIVE:
                due_s = min(self._ping_at_s, self._heard_s + self._timing.dead_s)
                if self._has_more():
                    due_s = min(due_s, max(self._read_at_s, now_s + self._timing.drain_s / 10))
        return max(0.0, due_s - now_s)

    def say_bye(self, why: str) -> None:
        """Tell a hub that is there that this process ends (`why` of its `BootEnded`)."""
        if self.wire is not None and self.phase is Phase.LIVE:
            told = _BYES.get(why, "finished")
            self.wire.send(Bye(run=self._run, last=self._outbox.last_seq, why=told))

    def close(self, *, linger_s: float = 0.0) -> None:
        """Close the connection; it can be opened again by `step`."""
        wire, self.wire = self.wire, None
        if self.phase is not Phase.SUPERSEDED:
            self.phase = Phase.AWAY
        if wire is not None:
            wire.close(linger_s=linger_s)

    # --- finding a hub, and leaving it ---

    def _look(self, now_s: float) -> None:
        if self.phase is Phase.SUPERSEDED:
            return
        try:
            self.wire = self._search.find(now_s)
        except NotPrivate as exc:
            text = "No hub is used: others could have made its socket, or read this device's key."
            if self._say_once("hub_not_private", text):
                self._outside.faults.record("link.look", exc)
        if self.wire is not None:
            self._heard_s = now_s
            self._greet(now_s)

    def _leave(self, now_s: float, *, pause_s: float = 0.0) -> None:
        self.close()
        since_s, self._live_since_s = self._live_since_s, 0.0
        was_steady = since_s > 0 and now_s - since_s > self._timing.steady_s
        self._search.left(now_s, was_steady=was_steady, pause_s=pause_s)

    def _reject(self, now_s: float, code: str, text: str) -> None:
        self._say_once(code, text)
        self._leave(now_s, pause_s=self._timing.refused_s)

    def _say_once(self, code: str, text: str) -> bool:
        if code in self._said:
            return False
        self._said.add(code)
        t_s = self._outside.now_s()
        self._outside.emit(Notice(t_s=t_s, level="error", code=code, text=text[:4096]))
        return True

    # --- writing ---

    def _greet(self, now_s: float) -> None:
        self.phase = Phase.GREETING
        self._hello_at_s = now_s

    def _write(self, wire: Wire, now_s: float) -> None:
        if wire.is_bad:
            self._say_once("hub_broken", "The hub sent messages that make no sense; it was left.")
            self._leave(now_s)
        elif now_s - self._heard_s > self._timing.dead_s:
            self._leave(now_s)
        elif self.phase is Phase.GREETING:
            self._say_hello(wire, now_s)
        else:
            self._send_batches(wire, now_s)
            self._send_ping(wire, now_s)

    def _say_hello(self, wire: Wire, now_s: float) -> None:
        if now_s < self._hello_at_s:
            return
        self._hello_at_s = now_s + self._timing.hello_s
        wire.send(
            Hello(
                run=self._run,
                boot=self._started.boot,
                proto=MINOR_VERSIONS,
                first=self._outbox.first_seq,
                last=self._outbox.last_seq,
                pid=self._started.pid,
                pid_namespace=self._started.pid_namespace,
                host=self._started.host,
                start_wall=self._started.started_wall_s,
                mono=self._outside.now_s(),
            )
        )

    def _has_more(self) -> bool:
        return self._pace.next_seq <= self._outbox.last_seq and self._pace.allowed() > 0

    def _send_batches(self, wire: Wire, now_s: float) -> None:
        if now_s < self._read_at_s:
            return
        for _ in range(SEND_AT_ONCE):
            if not self._has_more() or not self._send_batch(wire, now_s):
                break
        in_flight = self._pace.next_seq - 1 > self._pace.acked
        if not in_flight:
            self._progress_s = now_s
        elif now_s - self._progress_s > self._timing.stall_s:
            self._progress_s = now_s
            self._greet(now_s)

    def _send_batch(self, wire: Wire, now_s: float) -> bool:
        first = self._pace.next_seq
        try:
            bodies = self._outbox.read(first, self._pace.allowed(), MAX_BATCH_BYTES)
        except OSError as exc:
            self._outside.faults.record("link.read", exc)
            self._read_at_s = now_s + self._timing.retry_s
            return False
        batch = Batch(run=self._run, boot=self._started.boot, first=first, events=bodies)
        if not wire.send(batch):
            return False
        self._pace.sent(len(bodies))
        return True

    def _send_ping(self, wire: Wire, now_s: float) -> None:
        if now_s < self._ping_at_s:
            return
        self._ping_at_s = now_s + self._ping_s
        self._pings += 1
        clock = self._outside.clock
        last, mono = self._outbox.last_seq, self._outside.now_s()
        wire.send(Ping(n=self._pings, last=last, mono=mono, wall=max(0.0, clock.wall_s())))

    # --- reading ---

    def _read(self, wire: Wire, now_s: float) -> None:
        for message in wire.received():
            self._heard_s = now_s
            self._handle(wire, message, now_s)
            if self.wire is not wire:
                return

    def _handle(self, wire: Wire, message: ToAgent, now_s: float) -> None:
        match message:
            case Ping():
                wire.send(Pong(n=message.n, last=self._outbox.last_seq))
            case Pong():
                pass
            case ErrorMessage():
                self._on_error(message, now_s)
            case Command():
                self._desk.take(message)
            case _:
                self._on_delivery(message, now_s)

    def _on_delivery(self, message: Welcome | Ack | Again | Nack, now_s: float) -> None:
        if isinstance(message, Welcome):
            self._on_welcome(message, now_s)
        elif self.phase is not Phase.LIVE:
            return
        elif isinstance(message, Again):
            self._greet(now_s)
        elif message.run == self._run:
            self._on_progress(message, now_s)

    def _on_welcome(self, welcome: Welcome, now_s: float) -> None:
        # A second one answers a hello from before the first: what was sent since stands.
        if self.phase is not Phase.GREETING or welcome.boot != self._started.boot:
            return
        if not MINOR_VERSIONS[0] <= welcome.proto <= MINOR_VERSIONS[1]:
            self._reject(now_s, "hub_version", "The hub speaks another version; update it.")
            return
        if welcome.acked > self._outbox.last_seq:
            text = "The hub claims events that this run never sent; the spool keeps them all."
            self._reject(now_s, "hub_ahead", text)
            return
        self.hub_seen = True
        self.phase = Phase.LIVE
        self._outbox.set_acked(welcome.acked)
        self._pace.rewind(welcome.acked, welcome.max_batch)
        self._ping_s = max(SHORTEST_PING_S, min(welcome.ping_ms / 1000, self._timing.ping_s))
        self._ping_at_s = now_s + self._ping_s
        self._progress_s = now_s
        self._live_since_s = self._live_since_s or now_s

    def _on_progress(self, message: Ack | Nack, now_s: float) -> None:
        self._progress_s = now_s
        if isinstance(message, Nack):
            blamed = self._pace.refused(message.first, message.n)
            if blamed is not None:
                self._outbox.replace(blamed, f"refused by the hub: {message.why}")
        elif message.acked > self._outbox.last_seq:
            text = "The hub acknowledges what was never sent; the spool keeps it all."
            self._reject(now_s, "hub_ahead", text)
        elif message.acked > self._pace.acked:
            self._pace.ack(message.acked)
            self._outbox.set_acked(message.acked)

    def _on_error(self, error: ErrorMessage, now_s: float) -> None:
        if error.code == "superseded":
            self.close()
            self.phase = Phase.SUPERSEDED
            self._say_once("superseded", "Another process of this run reports to the hub now.")
        elif error.fatal or error.code == "unauthorised":
            self._reject(now_s, f"hub_{error.code}", f"The hub refuses: {error.text}")
        elif error.code in {"busy", "quota"}:
            pause_s = min(error.retry_ms / 1000, self._timing.refused_s)
            self._leave(now_s, pause_s=pause_s)


_BYES: Final[dict[str, Literal["finished", "error", "restart", "stop"]]] = {
    "finished": "finished",
    "failed": "error",
    "interrupted": "stop",
    "stopped": "stop",
    "restart": "restart",
}
