"""The one connection of a process to a hub: found, kept alive, shared by all runs, left."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kmonitor_agent.link.delivery import Phase, RunDelivery
from kmonitor_agent.link.hub_search import HubReach, HubSearch
from kmonitor_agent.link.timing import Timing
from kmonitor_agent.link.wire import Wire
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.local.private_files import NotPrivate
from kmonitor_agent.wire.messages.unions import ErrorMessage, Ping, Pong, ToAgent

SHORTEST_PING_S: Final = 0.1
"""A hub may ask for pings, but not for a flood of them."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a connection needs of the rest.

    Attributes:
        reach: Finds hubs.
        clock: Time.
        on_fault: Records a fault of ours, with its place.
    """

    reach: HubReach
    clock: Clock
    on_fault: Callable[[str, Exception], None]


class HubConnection:
    """Carries the messages of several runs; on the agent's thread only.

    Attributes:
        wire: The connection, or None.
    """

    def __init__(self, outside: Surroundings, timing: Timing) -> None:
        self.wire: Wire | None = None
        self._outside = outside
        self._timing = timing
        self._search = HubSearch(outside.reach, timing)
        self._deliveries: dict[str, RunDelivery] = {}
        self._pings = 0
        self._was_not_private = False
        self._ping_at_s = self._live_since_s = self._heard_s = 0.0

    @property
    def is_live(self) -> bool:
        """Whether the hub has welcomed a run over this connection."""
        return any(each.phase is Phase.LIVE for each in self._deliveries.values())

    def add(self, delivery: RunDelivery) -> None:
        """Carry one more run."""
        self._deliveries[delivery.run] = delivery
        if self.wire is not None:
            delivery.greet(self._outside.clock.monotonic_s())

    def remove(self, delivery: RunDelivery) -> None:
        """Carry it no longer."""
        if self._deliveries.get(delivery.run) is delivery:
            del self._deliveries[delivery.run]

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
        if not self._is_wanted():
            return float("inf")
        if self.wire is None:
            return max(0.0, self._search.due_s - now_s)
        due_s = min(each.due_s(now_s) for each in self._deliveries.values())
        due_s = min(due_s, self._heard_s + self._timing.dead_s)
        if self._answered():
            due_s = min(due_s, self._ping_at_s)
        return max(0.0, due_s - now_s)

    def close(self) -> None:
        """Leave the hub; `step` connects again."""
        wire, self.wire = self.wire, None
        for delivery in self._deliveries.values():
            delivery.disconnected()
        if wire is not None:
            wire.close()

    def _is_wanted(self) -> bool:
        return any(each.phase is not Phase.SUPERSEDED for each in self._deliveries.values())

    # --- finding and leaving ---

    def _look(self, now_s: float) -> None:
        if not self._is_wanted():
            return
        try:
            self.wire = self._search.find(now_s)
        except NotPrivate as exc:
            text = "No hub is used: others could have made its socket, or read this device's key."
            self._say_once("hub_not_private", text)
            if not self._was_not_private:
                self._was_not_private = True
                self._outside.on_fault("link.look", exc)
        if self.wire is not None:
            self._heard_s = now_s
            self._live_since_s = 0.0
            for delivery in self._deliveries.values():
                delivery.greet(now_s, is_other_hub=self._search.is_other)

    def _leave(self, now_s: float, *, pause_s: float = 0.0) -> None:
        since_s, self._live_since_s = self._live_since_s, 0.0
        self.close()
        was_steady = since_s > 0 and now_s - since_s > self._timing.steady_s
        self._search.left(now_s, was_steady=was_steady, pause_s=pause_s)

    def _say_once(self, code: str, text: str) -> None:
        for delivery in self._deliveries.values():
            delivery.say_once(code, text)

    # --- writing ---

    def _write(self, wire: Wire, now_s: float) -> None:
        if wire.is_bad:
            self._say_once("hub_broken", "The hub sent messages that make no sense; it was left.")
            self._leave(now_s)
        elif now_s - self._heard_s > self._timing.dead_s or not self._is_wanted():
            self._leave(now_s)
        else:
            for delivery in self._deliveries.values():
                delivery.write(wire, now_s)
            self._send_ping(wire, now_s)

    def _send_ping(self, wire: Wire, now_s: float) -> None:
        known = self._answered()
        if not known or now_s < self._ping_at_s:
            return
        self._ping_at_s = now_s + max(SHORTEST_PING_S, min(each.ping_s for each in known))
        self._pings += 1
        # One run after another: what the hub forgot of one is found without asking for all.
        run = known[self._pings % len(known)].run
        clock = self._outside.clock
        wall_s = max(0.0, clock.wall_s())
        wire.send(Ping(n=self._pings, run=run, mono=clock.monotonic_s(), wall=wall_s))

    def _answered(self) -> list[RunDelivery]:
        """Runs that the hub welcomed or refused: it is there, and pings keep it so."""
        phases = (Phase.LIVE, Phase.REFUSED)
        return [each for each in self._deliveries.values() if each.phase in phases]

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
                wire.send(Pong(n=message.n, run=message.run))
            case Pong():
                pass
            case ErrorMessage():
                self._on_error(message, now_s)
            case _:
                delivery = self._deliveries.get(message.run)
                if delivery is None:
                    return  # of a run that has ended here
                delivery.handle(message, now_s)
                if not self._live_since_s and delivery.phase is Phase.LIVE:
                    self._live_since_s = now_s
                    self._ping_at_s = now_s + max(SHORTEST_PING_S, delivery.ping_s)

    def _on_error(self, error: ErrorMessage, now_s: float) -> None:
        delivery = self._deliveries.get(error.run)
        if delivery is not None:
            delivery.refuse(error, now_s)
        elif error.run:
            return
        elif error.fatal or error.code in {"unauthorised", "superseded"}:
            self._say_once(f"hub_{error.code}", f"The hub refuses: {error.text}")
            self._leave(now_s, pause_s=self._timing.refused_s)
        elif error.code in {"busy", "quota"}:
            self._leave(now_s, pause_s=min(error.retry_ms / 1000, self._timing.refused_s))
