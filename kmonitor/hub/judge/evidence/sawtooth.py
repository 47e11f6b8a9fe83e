"""Saw-teeth: memory that rises for some units, and was given back in full before.

Each tooth is as much as comes between two collections. A young collection of Python's gives back
what a full one would, and no count shows it: the fall itself is the evidence. Teeth like those
before need no alarm as long as they are no higher. A leak beside them raises their lows, and with
them the level that is compared: it is that above the lowest of the last lows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kmonitor.hub.judge.growth import MAX_UNITS, has_rising_lows
from kmonitor.hub.judge.statistics import Floats

LEAST_HEIGHT: Final = 6 * 2.0**20
"""Smallest growth, bytes: less is no growth for `RAM_FLOOR`, and its end says nothing."""

_AT_LOW: Final = 0.2
"""Level up to which it is low, as a part of the fall to the low that follows."""

_LAST_TEETH: Final = 3
_SAME_STEP: Final = 2.0
"""Factor between the largest steps of teeth of one kind: memory that was taken at once, and given
back, excuses no slower growth."""

_HIGHER: Final = 1.25
_HIGHER_THAN_FIRST: Final = 2.0
"""Times the height of earlier teeth that a tooth may have. The first of all began where nobody
knows: in the warm-up collections are more frequent."""


@dataclass(frozen=True, slots=True)
class _Tooth:
    """A rise that was given back.

    Attributes:
        begin: Index of the last unit at the level to which it fell.
        end: Index of the first unit after the fall.
        height: Rise from the beginning to the highest unit.
        step: Largest rise in one unit.
    """

    begin: int
    end: int
    height: float
    step: float


def _teeth(values: Floats) -> list[_Tooth]:
    """Rises that were given back, the newest last."""
    found: list[_Tooth] = []
    since = highest = 0
    for at in range(1, len(values)):
        if values[at] >= values[highest]:
            highest = at
        elif values[highest] - values[at] >= LEAST_HEIGHT:
            tooth = _tooth(values, since, highest, at)
            if tooth is not None:
                found.append(tooth)
            if tooth is not None or values[at] <= values[since]:
                since = highest = at
    return found


def _tooth(values: Floats, since: int, highest: int, end: int) -> _Tooth | None:
    """The rise up to the highest unit, if the fall after it leads to a level of before."""
    rise = values[since:highest]
    is_low = rise <= values[end] + _AT_LOW * (values[highest] - values[end])
    if not len(rise) or (not is_low.any() and values[end] > rise.min()):
        return None
    begin = since + int(is_low.nonzero()[0][-1] if is_low.any() else rise.argmin())
    height = float(values[highest] - values[begin])
    if height < LEAST_HEIGHT:
        return None
    step = float(np.diff(values[begin : highest + 1]).max())
    return _Tooth(begin, end, height, step)


def is_usual_tooth(held: Floats, ram: Floats, room: float | None) -> bool:
    """True if memory is no higher than in the last teeth, and as much has room.

    Args:
        held: Memory in use or garbage, bytes, one value per unit, finite, `[n]`.
        ram: Memory of the process, which must not grow beside it, bytes, `[n]`.
        room: Amount by which memory may still grow, bytes; None: unknown.
    """
    held = held[-MAX_UNITS:]
    ram = ram[-MAX_UNITS:]
    teeth = _teeth(held)
    last = teeth[-_LAST_TEETH:]
    if not last or has_rising_lows(held, [one.end for one in teeth]):
        return False
    lows = (index for one in last for index in (one.begin, one.end))
    floor = min(lows, key=held.__getitem__)
    grown = max(float(values[-1] - values[floor]) for values in (held, ram))
    left = _highest(held, last) - grown
    return left >= 0.0 and (room is None or left <= room)


def _highest(values: Floats, last: Sequence[_Tooth]) -> float:
    """Height that a tooth may have after these, bytes; 0 if it rises in another way."""
    rise = values[last[-1].end :]
    step = float(np.diff(rise).max(initial=0.0))
    is_low = rise[-1] - rise[0] <= LEAST_HEIGHT
    alike = [one.height for one in last if is_low or _are_alike(one.step, step)]
    if not alike:
        return 0.0
    return LEAST_HEIGHT + max(alike) * (_HIGHER if len(alike) > 1 else _HIGHER_THAN_FIRST)


def _are_alike(first: float, second: float) -> bool:
    return max(first, second) <= _SAME_STEP * min(first, second)
