"""Connection of a process to a hub, shared by all runs: finding, keeping alive, leaving.

A hub on this host is found by its socket file, which must be safe to trust (`find_hub_socket`);
after leaving a hub, `HubSearch` pauses longer each time.
"""

import os
import random
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kmonitor_agent.link.delivery import DeliveryPhase, HubChannel, RunDelivery
from kmonitor_agent.link.timing import Timing
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.local.private_files import NotPrivate, check_private_folder
from kmonitor_agent.wire.messages.unions import Ack, ErrorMessage, Ping, Pong, ToAgent


@dataclass(frozen=True, slots=True)
class SocketIdentity:
    """Identity of a socket file; a later file at the same path compares unequal.

    Attributes:
        device: Device number of its file system.
        changed_ns: Time of its last status change, nanoseconds.
    """

    device: int
    inode: int
    changed_ns: int


def find_hub_socket(path: Path) -> SocketIdentity | None:
    """The hub's socket if it exists; a few microseconds, so twice a second is fine.

    Raises:
        NotPrivate: Another user could have created it.
    """
    try:
        check_private_folder(path.parent)
        status = path.lstat()
    except NotPrivate:
        raise
    except OSError:
        return None
    if not stat.S_ISSOCK(status.st_mode):
        raise NotPrivate(path, "is not a socket; remove it")
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        raise NotPrivate(path, f"belongs to user ID {status.st_uid}; remove it")
    return SocketIdentity(status.st_dev, status.st_ino, status.st_ctime_ns)


_OWN: Final = random.Random()  # noqa: S311 - no secret
"""Our own generator, seeded by the system.

Keras draws the seeds of initializers and of Dropout from Python's global generator: a number drawn
there by our thread would change the next model.
"""


@dataclass(frozen=True, slots=True)
class HubDialer:
    """Functions that find a hub and connect to it.

    Attributes:
        find_socket: Finds the hub's socket; raises NotPrivate.
        connect: Opens a connection to the hub; None while the process lacks the resources.
        jitter: Returns a random number, 0.5..1, that spreads reconnections.
    """

    find_socket: Callable[[], SocketIdentity | None]
    connect: Callable[[], HubChannel | None]
    jitter: Callable[[], float] = lambda: _OWN.uniform(0.5, 1.0)


SHORTEST_PING_S: Final = 0.1
"""Minimum time between pings that a hub may request, seconds."""

_QUIET_S: Final = 1.25
"""Minimum time from an acknowledgement to the next ping, seconds.

Samples are acknowledged once a second, up to `Timing.drain_s` late.
"""


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """Dependencies of a connection.

    Attributes:
        hub_dialer: Finds hubs.
        on_fault: Records a fault of ours, with its location.
    """

    hub_dialer: HubDialer
    clock: Clock
    on_fault: Callable[[str, Exception], None]


class HubConnection:
    """Carries the messages of several runs; on the agent's thread only.

    Attributes:
        hub_channel: The connection, or None.
        has_news: True if the last `step` read more than acknowledgements and pings.
    """

    def __init__(self, context: ConnectionContext, timing: Timing) -> None:
        self.hub_channel: HubChannel | None = None
        self.has_news = False
        self._connection_context = context
        self._timing = timing
        self._search = HubSearch(context.hub_dialer, timing)
        self._deliveries: dict[str, RunDelivery] = {}
        self._pings = 0
        self._was_not_private = False
        self._ping_at_s = self._live_since_s = self._received_s = self._acked_s = 0.0

    @property
    def is_live(self) -> bool:
        """True if the hub has welcomed a run over this connection."""
        return any(each.phase is DeliveryPhase.LIVE for each in self._deliveries.values())

    @property
    def is_settled(self) -> bool:
        """True if no answer is awaited before more can be sent."""
        return all(each.is_settled for each in self._deliveries.values())

    def add(self, delivery: RunDelivery) -> None:
        self._deliveries[delivery.run] = delivery
        if self.hub_channel is not None:
            delivery.connected(self._connection_context.clock.monotonic_s())

    def remove(self, delivery: RunDelivery) -> None:
        if self._deliveries.get(delivery.run) is delivery:
            del self._deliveries[delivery.run]

    def step(self) -> None:
        """Read new messages, then do the due work; never blocks."""
        now_s = self._connection_context.clock.monotonic_s()
        self.has_news = False
        if self.hub_channel is None:
            self._try_connect(now_s)
        if self.hub_channel is not None:
            self._read(self.hub_channel, now_s)
        if self.hub_channel is not None:
            self._write(self.hub_channel, now_s)

    def wait_s(self) -> float:
        """Time until the next work of `step` without messages, seconds."""
        now_s = self._connection_context.clock.monotonic_s()
        if not self._is_wanted():
            return float("inf")
        if self.hub_channel is None:
            return max(0.0, self._search.due_s - now_s)
        due_s = min(each.due_s(now_s) for each in self._deliveries.values())
        due_s = min(due_s, self._received_s + self._timing.dead_s)
        if known := self._answered():
            due_s = min(due_s, self._ping_due_s(known))
        return max(0.0, due_s - now_s)

    def close(self) -> None:
        """Leave the hub; `step` connects again."""
        channel, self.hub_channel = self.hub_channel, None
        for delivery in self._deliveries.values():
            delivery.disconnected()
        if channel is not None:
            channel.close()

    def _is_wanted(self) -> bool:
        return any(
            each.phase is not DeliveryPhase.SUPERSEDED for each in self._deliveries.values()
        )

    # --- finding and leaving ---

    def _try_connect(self, now_s: float) -> None:
        if not self._is_wanted():
            return
        try:
            self.hub_channel = self._search.find(now_s)
        except NotPrivate as exc:
            text = (
                "The hub is not used: other users could have created its socket or read this"
                " machine's key."
            )
            self._notify_once("hub_not_private", text)
            if not self._was_not_private:
                self._was_not_private = True
                self._connection_context.on_fault("link.connect", exc)
        if self.hub_channel is not None:
            self._received_s = now_s
            self._live_since_s = 0.0
            for delivery in self._deliveries.values():
                delivery.connected(now_s, is_other_hub=self._search.is_other)

    def _leave(self, now_s: float, *, pause_s: float = 0.0) -> None:
        since_s, self._live_since_s = self._live_since_s, 0.0
        self.close()
        was_steady = since_s > 0 and now_s - since_s > self._timing.steady_s
        self._search.back_off(now_s, was_steady=was_steady, pause_s=pause_s)

    def _notify_once(self, code: str, text: str) -> None:
        for delivery in self._deliveries.values():
            delivery.notify_once(code, text)

    # --- writing ---

    def _write(self, channel: HubChannel, now_s: float) -> None:
        if channel.is_bad:
            self._notify_once(
                "hub_broken", "The hub sent invalid messages; the connection was closed."
            )
            self._leave(now_s)
        elif now_s - self._received_s > self._timing.dead_s or not self._is_wanted():
            self._leave(now_s)
        else:
            for delivery in self._deliveries.values():
                delivery.write(channel, now_s)
            self._send_ping(channel, now_s)

    def _send_ping(self, channel: HubChannel, now_s: float) -> None:
        known = self._answered()
        if not known or now_s < self._ping_due_s(known):
            return
        self._ping_at_s = now_s + max(SHORTEST_PING_S, min(each.ping_s for each in known))
        self._pings += 1
        # One run after another: what the hub forgot of one is found without asking for all.
        run = known[self._pings % len(known)].run
        clock = self._connection_context.clock
        wall_s = max(0.0, clock.wall_s())
        channel.send(Ping(n=self._pings, run=run, monotonic_s=clock.monotonic_s(), wall=wall_s))

    def _ping_due_s(self, known: list[RunDelivery]) -> float:
        """Monotonic time of the next ping; a hub that acknowledges the only run's events lives."""
        if len(known) > 1:
            return self._ping_at_s
        return max(self._ping_at_s, self._acked_s + _QUIET_S)

    def _answered(self) -> list[RunDelivery]:
        """Runs that the hub welcomed or refused; pings keep the connection alive."""
        phases = (DeliveryPhase.LIVE, DeliveryPhase.REFUSED)
        return [each for each in self._deliveries.values() if each.phase in phases]

    # --- reading ---

    def _read(self, channel: HubChannel, now_s: float) -> None:
        for message in channel.received():
            self._received_s = now_s
            if isinstance(message, Ack):
                self._acked_s = now_s
            self.has_news |= not isinstance(message, Ack | Ping | Pong)
            self._handle(channel, message, now_s)
            if self.hub_channel is not channel:
                return

    def _handle(self, channel: HubChannel, message: ToAgent, now_s: float) -> None:
        match message:
            case Ping():
                channel.send(Pong(n=message.n, run=message.run))
            case Pong():
                pass
            case ErrorMessage():
                self._on_error(message, now_s)
            case _:
                delivery = self._deliveries.get(message.run)
                if delivery is None:
                    return  # of a run that has ended here
                delivery.handle(message, now_s)
                if not self._live_since_s and delivery.phase is DeliveryPhase.LIVE:
                    self._live_since_s = now_s
                    self._ping_at_s = now_s + max(SHORTEST_PING_S, delivery.ping_s)

    def _on_error(self, error: ErrorMessage, now_s: float) -> None:
        delivery = self._deliveries.get(error.run)
        if delivery is not None:
            delivery.refuse(error, now_s)
        elif error.run:
            return
        elif error.fatal or error.code in {"unauthorized", "superseded"}:
            self._notify_once(f"hub_{error.code}", f"The hub refused the connection: {error.text}")
            self._leave(now_s, pause_s=self._timing.refused_s)
        elif error.code in {"busy", "quota"}:
            self._leave(now_s, pause_s=min(error.retry_ms / 1000, self._timing.refused_s))


class HubSearch:
    """Searches cheaply for a socket, with longer pauses each time that a hub had to be left.

    Attributes:
        is_other: True if the last found hub differs from the one before.
    """

    def __init__(self, dialer: HubDialer, timing: Timing) -> None:
        self._hub_dialer = dialer
        self._timing = timing
        self._socket_identity: SocketIdentity | None = None
        self._pause_s = timing.backoff_s
        self._search_at_s = self._not_before_s = float("-inf")
        self.is_other = False

    @property
    def due_s(self) -> float:
        """Monotonic time of the next search."""
        return self._search_at_s

    def find(self, now_s: float) -> HubChannel | None:
        """Return a new connection if a hub's socket exists and a try is due.

        Raises:
            NotPrivate: Another user could have created the socket.
        """
        if now_s < self._search_at_s:
            return None
        self._search_at_s = now_s + self._timing.search_s
        identity = self._hub_dialer.find_socket()
        if identity is None:
            return None
        # Another socket than the one that was left: a hub has just started, no need to wait.
        if identity == self._socket_identity and now_s < self._not_before_s:
            self._search_at_s = min(self._search_at_s, self._not_before_s)
            return None
        channel = self._hub_dialer.connect()
        if channel is not None:
            self.is_other = identity != self._socket_identity
            self._socket_identity = identity
        return channel

    def back_off(self, now_s: float, *, was_steady: bool, pause_s: float = 0.0) -> None:
        """Pause after leaving a hub, jittered, and twice as long the next time.

        Args:
            now_s: Monotonic time.
            was_steady: True if the session had lasted; pauses begin short again.
        """
        if was_steady:
            self._pause_s = self._timing.backoff_s
        self._not_before_s = now_s + max(self._pause_s * self._hub_dialer.jitter(), pause_s)
        self._search_at_s = min(now_s + self._timing.search_s, self._not_before_s)
        self._pause_s = min(self._pause_s * 2, self._timing.backoff_limit_s)
