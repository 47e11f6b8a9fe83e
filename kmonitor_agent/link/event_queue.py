"""Where threads leave events for the agent's thread, which looks by itself: an append."""

import contextlib
import math
import os
import select
from collections import deque
from collections.abc import Callable
from typing import Final

from kmonitor_agent.wire.local.own_descriptor import OwnDescriptor
from kmonitor_agent.wire.messages.events import Event

EVENTS_LIMIT: Final = 262_144
"""Events held while the agent's thread is stuck (a hung disk); the oldest go first.

Days of epochs: that thread reads the samples itself, so only a loop of emits can ever reach it.
"""

_ONE: Final = (1).to_bytes(8, "little")


class AgentWakeup:
    """A descriptor that becomes readable when someone wants the agent's thread.

    It is closed when the last reference is gone and never before: a number that was closed could
    be a file of the user's by the time that another thread writes to it.
    """

    def __init__(self) -> None:
        # With no descriptor left the thread polls at the drain interval instead of sleeping.
        self._descriptors: list[OwnDescriptor] = []
        with contextlib.suppress(OSError):
            self._descriptors += map(OwnDescriptor, _pair())

    def fileno(self) -> int:
        """What to poll; -1 if there is no descriptor: none was left, or the script closed it."""
        return self._number(0)

    def _number(self, end: int) -> int:
        # Both or none: who waits has to be one whom `set` can wake.
        is_there = bool(self._descriptors) and all(each.is_ours() for each in self._descriptors)
        return self._descriptors[end].number if is_there else -1

    def set(self) -> None:
        """Make it readable; about 10 us, since it lets the other thread run."""
        with contextlib.suppress(OSError):  # full means readable already
            os.write(self._number(-1), _ONE)

    def wait(self, seconds: float) -> bool:
        """Sleep until it is readable, or so long; whether it is."""
        return self.sleeper()(seconds)

    def sleeper(self) -> Callable[[float], bool]:
        """The same for many sleeps in a row: it is checked once that the descriptor is ours.

        One that the script closes meanwhile ends a sleep, and `clear` leaves it alone.
        """
        number = self.fileno()
        if not hasattr(select, "poll"):  # select() ends at descriptor 1023, trainings do not
            ready = [number] if number >= 0 else []
            return lambda seconds: bool(select.select(ready, [], [], seconds)[0])
        poll = select.poll()
        if number >= 0:
            poll.register(number, select.POLLIN)
        return lambda seconds: bool(poll.poll(math.ceil(seconds * 1000)))

    def clear(self) -> None:
        """Make it unreadable."""
        with contextlib.suppress(OSError):  # empty means clear already
            os.read(self.fileno(), 4096)

    def __del__(self) -> None:
        for descriptor in self._descriptors:
            descriptor.close()


def _pair() -> tuple[int, ...]:
    """One to read and one to write, or one that does both."""
    if hasattr(os, "eventfd"):
        return (os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC),)
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    return read, write


class EventQueue:
    """Events in the order in which they were emitted; `put` is for any thread.

    To wake a thread costs the emitter 10 us, and up to 5 ms where that thread then takes the GIL
    first: so the agent's thread looks here by itself at the drain interval, and asks to be woken
    only after a long silence. `put` is as bare as can be, since it is called after a step that
    has filled the processor's caches with other things: each name that it looks up shows.

    Attributes:
        agent_wakeup: Polled by the agent's thread.
        is_closed: Nothing is taken any more: closed, or a forked child.
        is_sleeping: Set by the agent's thread when it no longer looks here; a `put` wakes it.
        dropped: Events that found no room since the start.
    """

    __slots__ = ("_events", "agent_wakeup", "dropped", "is_closed", "is_sleeping")

    def __init__(self, wakeup: AgentWakeup) -> None:
        self.agent_wakeup = wakeup
        self.is_closed = False
        self.is_sleeping = False
        self.dropped = 0
        self._events: deque[Event] = deque(maxlen=EVENTS_LIMIT)

    @property
    def is_empty(self) -> bool:
        """Whether nothing lies here now."""
        return not self._events

    def put(self, event: Event) -> None:
        """Leave an event; neither blocks nor raises."""
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
        """Everything that lies here now, in order; for the agent's thread."""
        # As many as there are now: an emitter in a loop must not hold the agent's thread here.
        # One can be gone from a full ring meanwhile only if another takes its place.
        return [self._events.popleft() for _ in range(len(self._events))]

    def fall_asleep(self) -> bool:
        """Ask to be woken by the next `put`; False if something lies here already."""
        self.is_sleeping = self.agent_wakeup.fileno() >= 0
        # In this order: a `put` that came before the flag is seen here, a later one sees the flag.
        if self._events:
            self.is_sleeping = False
        return self.is_sleeping

    def close(self) -> None:
        """Take nothing from now on."""
        self.is_closed = True
