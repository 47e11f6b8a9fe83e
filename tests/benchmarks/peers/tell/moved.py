"""Numbers of a tool that moved: one rule for all tools, against a healthy training's own.

The first fifth of a series' points is left out: a training starts then. Its move is from the
median of the first third of the rest to that of the last third, in proportion: the larger by the
smaller, less 1. It moved if that is more than `PART`, and more than `TIMES` what the same series
did with the same tool in a healthy training: its own move there, or its quartiles' distance in
proportion, whichever is larger.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median, quantiles

TIMES = 3.0
PART = 0.05
LEAST_POINTS = 3
_START_PART = 5


@dataclass(frozen=True, slots=True)
class Move:
    """Begin and end of a series.

    Attributes:
        name: The tool's name for it.
        first: Median of the first third.
        last: Median of the last third.
    """

    name: str
    first: float
    last: float

    @property
    def part(self) -> float:
        """Size of the move, in proportion."""
        return _apart(self.first, self.last)


def moves(
    series: Mapping[str, Sequence[float]], healthy: Mapping[str, Sequence[float]]
) -> list[Move]:
    """Those that moved, the farthest first, those from or to zero last.

    A series that the healthy training lacks has no noise there.
    """
    found: list[Move] = []
    for name, values in series.items():
        move = move_of(name, values)
        if move is not None and move.part > max(PART, TIMES * noise(healthy.get(name, ()))):
            found.append(move)
    return sorted(found, key=lambda move: (move.part == inf, -move.part))


def move_of(name: str, values: Sequence[float]) -> Move | None:
    """None where there are too few points to have thirds."""
    running = _running(values)
    if len(running) < LEAST_POINTS:
        return None
    third = len(running) // 3
    return Move(name, median(running[:third]), median(running[-third:]))


def noise(values: Sequence[float]) -> float:
    """Move of a series without a cause, in proportion."""
    move = move_of("", values)
    if move is None:
        return 0.0
    low, _middle, high = quantiles(_running(values), n=4, method="inclusive")
    return max(move.part, _apart(low, high))


def _running(values: Sequence[float]) -> Sequence[float]:
    return values[len(values) // _START_PART :]


def _apart(one: float, other: float) -> float:
    low, high = sorted((one, other))
    if low == high:
        return 0.0
    return high / low - 1.0 if low > 0.0 else inf
