"""Readings that are repeated as rarely as their cost requires."""

import math
import time
from collections.abc import Callable
from typing import Generic, TypeVar, cast

_T = TypeVar("_T")


class Paced(Generic[_T]):
    """A reading of one thread, repeated so rarely that it costs at most a part of a core.

    Args:
        core_fraction: Maximum part of a core that reading may cost.
        while_changing: Maximum part of a core after a reading that differs from the one before;
            None: `core_fraction`.
    """

    def __init__(
        self, read: Callable[[], _T], core_fraction: float, *, while_changing: float | None = None
    ) -> None:
        self._read = read
        self._fraction = core_fraction
        self._while_changing = core_fraction if while_changing is None else while_changing
        self._due_s = self._read_at_s = -math.inf
        self._took_s = 0.0
        self._newest: _T | None = None

    @property
    def is_due(self) -> bool:
        """True if the pause after the last reading is over."""
        return time.monotonic() >= self._due_s

    def expire(self) -> None:
        """End the pause: the next reading is taken at once."""
        self._due_s = -math.inf

    def hasten(self) -> None:
        """Pause no longer than after a changed reading: the next one is expected to change."""
        self._due_s = min(self._due_s, self._read_at_s + self._took_s / self._while_changing)

    def newest(self) -> _T:
        """The last reading, or a new one if its pause is over."""
        newest = self._newest
        if not self.is_due:
            return cast("_T", newest)
        began_s = time.thread_time()
        now = self._newest = self._read()
        self._took_s = time.thread_time() - began_s
        self._read_at_s = time.monotonic()
        is_changing = newest is not None and now != newest
        fraction = self._while_changing if is_changing else self._fraction
        self._due_s = self._read_at_s + self._took_s / fraction
        return now
