"""A connection to a hub as the sender sees it."""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from kmonitor_agent.protocol.messages import ToAgent


class Wire(Protocol):
    """One connection; `HubSocket` is the real one, tests script others."""

    @property
    def is_bad(self) -> bool:
        """Whether the hub sent too much that makes no sense."""
        ...

    def send(self, message: msgspec.Struct) -> bool:
        """Queue a message; False when the queue is full, then it was not taken."""
        ...

    def received(self) -> Iterator[ToAgent]:
        """What has arrived since the last call."""
        ...

    def wait(self, seconds: float, descriptor: int) -> bool:
        """Sleep so long, or until a message or a file descriptor (-1: none) is there; whether."""
        ...

    def close(self, *, linger_s: float = 0.0) -> None:
        """Close at once, or give what is queued so many seconds."""
        ...
