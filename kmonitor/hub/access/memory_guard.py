"""Whether the hub's memory grows as no honest peer makes it grow.

A message of endless empty frames costs its sender two bytes a frame and the receiver sixty-four:
neither MAXMSGSIZE nor a high-water mark counts them, and libzmq aborts when memory runs out. So
the hub looks at itself, and ends every connection in time.
"""

import ctypes
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import psutil

from kmonitor_agent.wire.local.clock import Clock

LOOK_EVERY_S: Final = 0.05

JUMP_BYTES: Final = 200 * 1024 * 1024
"""More than this within a second is a flood."""

WORK_JUMP_BYTES: Final = 1024 * 1024 * 1024
"""The same while the hub itself thins a long series, which takes hundreds of megabytes."""

CLIMB_BYTES: Final = 600 * 1024 * 1024
"""A slower flood: so much more than after the start or the last one."""

_WINDOW_S: Final = 1.0
_SETTLE_S: Final = 1.0


class MemoryGuard:
    """Owned by the hub's main thread."""

    def __init__(self, clock: Clock, rss_bytes: Callable[[], int] | None = None) -> None:
        """Args: `rss_bytes`: the resident set; None: this process's."""
        self._clock = clock
        self._rss_bytes = rss_bytes or _own_rss_bytes()
        self._seen: deque[tuple[float, int]] = deque()
        self._base_bytes: int | None = None
        self._trim_at_s: float | None = None
        self._worked_s = float("-inf")

    def look(self, *, is_working: bool = False) -> bool:
        """Whether memory has jumped since the last look; all is forgotten then.

        Args:
            is_working: The hub computes something large.
        """
        now_s, rss = self._clock.monotonic_s(), self._rss_bytes()
        if is_working:
            self._worked_s = now_s
        if self._trim_at_s is not None and now_s >= self._trim_at_s:
            self._trim_at_s = None
            trim()
            rss = self._rss_bytes()
            self._base_bytes = None
        self._seen.append((now_s, rss))
        while now_s - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()
        base = self._base_bytes = rss if self._base_bytes is None else self._base_bytes
        lowest = min(seen for _, seen in self._seen)
        has_worked = now_s - self._worked_s <= _WINDOW_S
        if has_worked:
            self._base_bytes = base = max(base, rss - JUMP_BYTES)
        jump = WORK_JUMP_BYTES if has_worked else JUMP_BYTES
        if rss - lowest <= jump and rss - base <= CLIMB_BYTES:
            return False
        self._seen.clear()
        self._base_bytes = rss
        # What the closed connections held is given back by ZeroMQ's own threads.
        self._trim_at_s = now_s + _SETTLE_S
        return True


def trim() -> None:
    """Give freed memory back to the system, where the C library can."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _own_rss_bytes() -> Callable[[], int]:
    process = psutil.Process()
    return lambda: int(process.memory_info().rss)
