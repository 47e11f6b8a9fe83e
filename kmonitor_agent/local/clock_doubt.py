"""Whether the wall clock may be believed when something is to be deleted for its age.

A clock that is set a year ahead, by hand or for a dead battery, makes all that is kept old at
once. So the newest time that was ever seen is noted in a file. After a step of more than a day
nothing is deleted until a day was seen to pass: by then the clock was set back, or it was right.
Of a machine that was off for long nothing is lost by that, only kept for longer.
"""

import math
from pathlib import Path
from typing import Final, NamedTuple

from kmonitor_agent.local.plain_files import read_plain, write_private

CLOCK_NAME: Final = "clock"

_HOUR_S: Final = 3600.0
_DAY_S: Final = 24 * _HOUR_S
_MONTH_S: Final = 30 * _DAY_S
_NOTED_EVERY_S: Final = 600.0


class SeenTimes(NamedTuple):
    """What is noted.

    Attributes:
        newest_s: The newest time that was seen, UTC epoch seconds.
        unsure_s: How long must be seen to pass before the clock is believed, seconds.
    """

    newest_s: float = 0.0
    unsure_s: float = 0.0

    def then(self, wall_s: float) -> "SeenTimes":
        """What is noted when it is `wall_s`."""
        passed_s = wall_s - self.newest_s
        if passed_s < -_HOUR_S:
            return SeenTimes(wall_s)  # it was set back
        # Of a machine that is on for some hours a week, steps of days follow each other.
        if passed_s > (_MONTH_S if self.unsure_s else _DAY_S):
            return SeenTimes(wall_s, unsure_s=_DAY_S)
        seen_s = max(0.0, passed_s) if passed_s <= _HOUR_S else 0.0
        return SeenTimes(max(self.newest_s, wall_s), max(0.0, self.unsure_s - seen_s))


def is_clock_believed(folder: Path, wall_s: float) -> bool:
    """Whether what is old by the clock is old. To be asked every ten minutes or more often.

    Args:
        folder: Of what is to be deleted; it must exist.
        wall_s: The time by the clock, UTC epoch seconds.

    Raises:
        OSError: What was seen cannot be read or noted.
    """
    path = folder / CLOCK_NAME
    seen = _read(path)
    now = seen.then(wall_s)
    if abs(now.newest_s - seen.newest_s) >= _NOTED_EVERY_S:
        write_private(path, f"{now.newest_s:.0f} {now.unsure_s:.0f}\n".encode())
    return not now.unsure_s


def _read(path: Path) -> SeenTimes:
    try:
        newest_s, unsure_s = map(float, read_plain(path, 100).split())
    except (FileNotFoundError, ValueError):
        return SeenTimes()
    if not (math.isfinite(newest_s) and 0 <= unsure_s <= _DAY_S):
        return SeenTimes()
    return SeenTimes(newest_s, unsure_s)
