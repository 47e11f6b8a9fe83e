"""Which of a tool's numbers moved: one rule for all tools, against a healthy training's own.

A series' move is its median in the last third of its points less that in the first third. It moved
if that is more than `PART` of where it began, and more than `TIMES` what the same series did with
the same tool in a healthy training: its own move there, or its scatter (the range from the 10th to
the 90th of a hundred of its last two thirds), whichever is larger.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

TIMES = 3.0
PART = 0.05
LEAST_POINTS = 3


@dataclass(frozen=True, slots=True)
class Move:
    """Where a series began and ended.

    Attributes:
        name: As the tool has it.
        first: Median of the first third.
        last: Median of the last third.
    """

    name: str
    first: float
    last: float

    @property
    def part(self) -> float:
        """Of where it began; infinite from zero."""
        step = abs(self.last - self.first)
        return step / abs(self.first) if self.first else float("inf") if step else 0.0


def moves(
    series: Mapping[str, Sequence[float]], healthy: Mapping[str, Sequence[float]]
) -> list[Move]:
    """Those that moved, the largest part first, those from zero last.

    A series that the healthy training lacks has no noise there.
    """
    found: list[Move] = []
    for name, values in series.items():
        move = move_of(name, values)
        if move is None or move.part <= PART:
            continue
        if abs(move.last - move.first) > TIMES * noise(healthy.get(name, ())):
            found.append(move)
    return sorted(found, key=lambda move: (not move.first, -move.part))


def move_of(name: str, values: Sequence[float]) -> Move | None:
    """None where there are too few points to have thirds."""
    if len(values) < LEAST_POINTS:
        return None
    third = len(values) // 3
    return Move(name, median(values[:third]), median(values[-third:]))


def noise(values: Sequence[float]) -> float:
    """How far a series goes by itself: its move or its scatter, in its own unit."""
    move = move_of("", values)
    if move is None:
        return 0.0
    tenths = quantiles(values[len(values) // 3 :], n=10, method="inclusive")
    return max(abs(move.last - move.first), tenths[-1] - tenths[0])
