"""Finds a hub, and after one was left decides when to try again."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kmonitor_agent.link.hub_place import Sighting
from kmonitor_agent.link.timing import Timing
from kmonitor_agent.link.wire import Wire

_OWN: Final = random.Random()  # noqa: S311 - no secret
"""Our own generator, seeded by the system. Keras takes the seeds of initializers and of Dropout
from Python's global one: a number drawn there by a thread of ours changes the next model."""


@dataclass(frozen=True, slots=True)
class HubReach:
    """How a hub is found and connected to.

    Attributes:
        look: Finds the hub's socket; raises NotPrivate.
        connect: Opens a connection to it; None while the process is short of what that takes.
        jitter: A random number, 0.5..1, that spreads reconnections.
    """

    look: Callable[[], Sighting | None]
    connect: Callable[[], Wire | None]
    jitter: Callable[[], float] = lambda: _OWN.uniform(0.5, 1.0)


class HubSearch:
    """Looks cheaply for a socket, and pauses longer each time that a hub had to be left.

    Attributes:
        is_other: Whether the hub that was found last is another one than the one before.
    """

    def __init__(self, reach: HubReach, timing: Timing) -> None:
        self._reach = reach
        self._timing = timing
        self._sighting: Sighting | None = None
        self._pause_s = timing.backoff_s
        self._look_at_s = self._not_before_s = float("-inf")
        self.is_other = False

    @property
    def due_s(self) -> float:
        """Monotonic time of the next look."""
        return self._look_at_s

    def find(self, now_s: float) -> Wire | None:
        """A new connection if a hub's socket is there and it is time to try it.

        Raises:
            NotPrivate: Somebody else could have put the socket there.
        """
        if now_s < self._look_at_s:
            return None
        self._look_at_s = now_s + self._timing.look_s
        seen = self._reach.look()
        if seen is None:
            return None
        # Another socket than the one that was left: a hub has just started, no need to wait.
        if seen == self._sighting and now_s < self._not_before_s:
            self._look_at_s = min(self._look_at_s, self._not_before_s)
            return None
        wire = self._reach.connect()
        if wire is not None:
            self.is_other = seen != self._sighting
            self._sighting = seen
        return wire

    def left(self, now_s: float, *, was_steady: bool, pause_s: float = 0.0) -> None:
        """A hub was left: wait, jittered, and twice as long the next time.

        Args:
            now_s: Monotonic time.
            was_steady: The session had lasted; the pause begins anew.
            pause_s: Shortest pause.
        """
        if was_steady:
            self._pause_s = self._timing.backoff_s
        self._not_before_s = now_s + max(self._pause_s * self._reach.jitter(), pause_s)
        self._look_at_s = min(now_s + self._timing.look_s, self._not_before_s)
        self._pause_s = min(self._pause_s * 2, self._timing.backoff_limit_s)
