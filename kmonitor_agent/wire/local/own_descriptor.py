"""Descriptors of ours in a process whose script may close them, and open others in their place.

`os.closerange(3, 256)` before a daemon's work is common; what the script opens then gets our
numbers. So a number is used or closed only while it still names the file that we opened.
"""

import contextlib
import math
import os
import select
from collections.abc import Callable
from typing import Final


class OwnDescriptor:
    """A descriptor and the file that it named when it was opened.

    Attributes:
        number: -1 once it is closed or lost.
    """

    __slots__ = ("_named", "number")

    def __init__(self, number: int) -> None:
        """Take over an open descriptor. Raises: OSError."""
        self.number = number
        self._named = _named_by(number)

    def is_ours(self) -> bool:
        """True if the number still names that file; if not, it is given up for good."""
        if self.number >= 0 and _named_by(self.number) != self._named:
            self.number = -1
        return self.number >= 0

    def close(self) -> None:
        """Close it, unless it is no longer ours; again is harmless."""
        if self.is_ours():
            number, self.number = self.number, -1
            os.close(number)


def _named_by(number: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(number)
    except OSError:
        return None
    return status.st_dev, status.st_ino


_ONE: Final = (1).to_bytes(8, "little")


class AgentWakeup:
    """A descriptor that becomes readable when another thread wants the agent's thread.

    It is closed when the last reference is gone and never before: a number that was closed could
    be a file of the user's by the time that another thread writes to it.
    """

    def __init__(self) -> None:
        # With no descriptor left the thread polls at the drain interval instead of sleeping.
        self._descriptors: list[OwnDescriptor] = []
        with contextlib.suppress(OSError):
            self._descriptors += map(OwnDescriptor, _pair())

    def fileno(self) -> int:
        """The descriptor to poll; -1 if none was left, or if the script closed it."""
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
        """Sleep until it is readable, or for this time; True if it is readable."""
        return self.sleeper()(seconds)

    def sleeper(self) -> Callable[[float], bool]:
        """The same for several sleeps in a row; the descriptor's ownership is checked once.

        A descriptor that the script closes meanwhile ends a sleep, and `clear` leaves it alone.
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
