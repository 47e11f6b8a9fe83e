"""Time as the agent and the hub read it, so that tests can move it."""

import time
from dataclasses import dataclass
from typing import Protocol

from kmonitor_agent.wire.messages.fields import wall_within


class Clock(Protocol):
    """Where time comes from. Intervals are taken on `monotonic_s` only."""

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes back; its zero means nothing."""
        ...

    def wall_s(self) -> float:
        """UTC epoch seconds; may jump."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's own clocks."""

    def monotonic_s(self) -> float:
        """Seconds of `time.monotonic`."""
        return time.monotonic()

    def wall_s(self) -> float:
        """Seconds of `time.time`, as far as messages can say them: 1970 to 2200."""
        return wall_within(time.time())
