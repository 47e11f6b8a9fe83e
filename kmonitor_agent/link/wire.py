"""A connection to a hub as the sender sees it."""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from kmonitor_agent.wire.messages.unions import ToAgent


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

    def close(self) -> None:
        """Leave the hub; what is queued is dropped."""
        ...
