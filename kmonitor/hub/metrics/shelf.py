"""Where the hub lays its newest snapshot out, and the ways out take it from; what they share."""

import time
from collections.abc import Iterable, Mapping

from kmonitor.base.errors import Expected
from kmonitor.hub.metrics.metric_table import SENT, Figure
from kmonitor.hub.metrics.metric_values import Point, points
from kmonitor.hub.metrics.snapshot import Snapshot


class OutletRefused(Expected):
    """Figures cannot leave the hub on a way that was asked for; says why and what to do."""


class SnapshotShelf:
    """One snapshot, replaced as a whole: laid by the hub's loop, taken by any thread."""

    def __init__(self) -> None:
        """There is none yet."""
        self._newest: Snapshot | None = None
        self._exports: Mapping[str, int] = {}

    def lay(self, snapshot: Snapshot) -> None:
        """Replace it."""
        self._newest = snapshot

    def lay_exports(self, counts: Mapping[str, int]) -> None:
        """Replace how often figures were sent, by result; it is told beside each snapshot.

        On every way: a collector that gets nothing is not told so by itself.
        """
        self._exports = dict(counts)

    def points(self) -> list[Point]:
        """The values of the newest one; none before the first."""
        newest = self._newest
        if newest is None:
            return []
        sent = [Point(SENT, (result,), count) for result, count in self._exports.items()]
        return [*points(newest, time.monotonic()), *sent]


def by_figure(found: Iterable[Point]) -> dict[Figure, list[Point]]:
    """Values by their figure, in the table's order as far as they came in it."""
    families: dict[Figure, list[Point]] = {}
    for point in found:
        families.setdefault(point.figure, []).append(point)
    return families
