"""Whether the wall clock may be believed when something is to be deleted for its age.

A clock that is set a year ahead, by hand or for a dead battery, makes all that is kept old at
once. So after a step of more than a day nothing is deleted until a day was seen to pass: by then
the clock was set back, or it was right. A process that begins knows of no time before, unless one
before it noted the newest time that it had seen. Of a machine that was off for long nothing is
lost by that, only kept for longer.
"""

import contextlib
import math
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.local.plain_files import read_plain, write_private

CLOCK_NAME: Final = "clock"
"""File with the newest time that was seen, and for how long the clock is not believed yet."""

_HOUR_S: Final = 3600.0
_DAY_S: Final = 24 * _HOUR_S
_MONTH_S: Final = 30 * _DAY_S
_NOTED_EVERY_S: Final = 600.0


class ClockDoubt:
    """Owned by one thread; to be asked every half hour or more often."""

    def __init__(self, clock: Clock, noted: Path | None = None) -> None:
        """Begin with what was noted.

        Args:
            clock: Time.
            noted: Folder with the file `clock`; None: nothing is noted.
        """
        self._clock = clock
        self._file = None if noted is None else noted / CLOCK_NAME
        self._newest_s, self._unsure_s = _read(self._file)
        self._noted_s = self._newest_s

    def believes(self) -> bool:
        """Whether what is old by the clock is old."""
        wall_s = self._clock.wall_s()
        passed_s = wall_s - self._newest_s
        if passed_s < -_HOUR_S:
            self._newest_s, self._unsure_s = wall_s, 0.0  # it was set back
        # Of a machine that is on for some hours a week, steps of days follow each other.
        elif passed_s > (_MONTH_S if self._unsure_s else _DAY_S):
            self._newest_s, self._unsure_s = wall_s, _DAY_S
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
                told = f"{self._newest_s:.3f} {self._unsure_s:.3f}\n"
                write_private(self._file, told.encode())


def _read(file: Path | None) -> tuple[float, float]:
    if file is None:
        return 0.0, 0.0
    try:
        newest_s, unsure_s = map(float, read_plain(file, 100).split())
    except (OSError, ValueError):
        return 0.0, 0.0
    is_sound = math.isfinite(newest_s) and 0 <= unsure_s <= _DAY_S
    return (newest_s, unsure_s) if is_sound else (0.0, 0.0)
