"""Clocks of agent and hub, which tests can move, and a check of the wall clock."""

import contextlib
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from kmonitor_agent.wire.local.private_files import read_plain, write_private
from kmonitor_agent.wire.messages.fields import clamp_wall


class Clock(Protocol):
    """Source of time. Intervals are measured with `monotonic_s` only."""

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes back, from an arbitrary zero."""
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
        """Seconds of `time.time`, within the bounds of messages: 1970 to 2200."""
        return clamp_wall(time.time())


CLOCK_NAME: Final = "clock"
"""File with the newest time that was seen, and the time for which the clock is not yet trusted."""

_HOUR_S: Final = 3600.0
_DAY_S: Final = 24 * _HOUR_S
_MONTH_S: Final = 30 * _DAY_S
_NOTED_EVERY_S: Final = 600.0


class WallClockCheck:
    """Detects a wall clock that jumped ahead; nothing old is deleted until it is trusted again.

    Owned by one thread; call `believes` every half hour or more often.
    """

    def __init__(self, clock: Clock, noted: Path | None = None) -> None:
        """Begin with the stored time.

        Args:
            noted: Folder with the file `clock`; None: nothing is stored.
        """
        self._clock = clock
        self._file = None if noted is None else noted / CLOCK_NAME
        self._newest_s, self._unsure_s = _read(self._file)
        self._noted_s = self._newest_s

    def believes(self) -> bool:
        """True if the clock can be trusted to tell what is old."""
        wall_s = self._clock.wall_s()
        passed_s = wall_s - self._newest_s
        if passed_s < -_HOUR_S:
            self._newest_s = wall_s  # it was set back
            self._unsure_s = 0.0
        # On a machine that is on for some hours a week, steps of days follow each other.
        elif passed_s > (_MONTH_S if self._unsure_s else _DAY_S):
            self._newest_s = wall_s
            self._unsure_s = _DAY_S
        elif passed_s > 0:
            self._newest_s = wall_s
            if passed_s <= _HOUR_S:
                self._unsure_s = max(0.0, self._unsure_s - passed_s)
        if abs(self._newest_s - self._noted_s) >= _NOTED_EVERY_S:
            self._note()
        return not self._unsure_s

    def _note(self) -> None:
        self._noted_s = self._newest_s
        if self._file is not None:
            # A full disk is no reason to keep on it what is old.
            with contextlib.suppress(OSError):
                text = f"{self._newest_s:.3f} {self._unsure_s:.3f}\n"
                write_private(self._file, text.encode())


def _read(file: Path | None) -> tuple[float, float]:
    if file is None:
        return 0.0, 0.0
    try:
        newest_s, unsure_s = map(float, read_plain(file, 100).split())
    except (OSError, ValueError):
        return 0.0, 0.0
    is_sound = math.isfinite(newest_s) and 0 <= unsure_s <= _DAY_S
    return (newest_s, unsure_s) if is_sound else (0.0, 0.0)
