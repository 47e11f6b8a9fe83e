"""Two ways in which malloc's memory rises to an end, and no leak: arenas and pools.

Arenas: freed memory that malloc keeps in one after another. glibc has several, at most eight a
core, and gives each thread one of them. A block that is freed can be used again only in its own
arena. A buffer that a pool of threads fills in each epoch, as that of `Dataset.shuffle`, leaves
free memory in one arena, in the next epoch in another, until each has held as much as is in use at
one time. Meanwhile memory rises as with a leak: with a buffer of 14 MiB and two cores by 70 MiB in
ten to thirty epochs (tensorflow#54299).

No single arena grows then: the free memory of the fullest one bounds them all. A heap that
fragments has no such bound, since each epoch leaves more free memory in its arena than the last
one could use (tensorflow#2942). So memory is judged a second time, without the free memory that
malloc keeps in all arenas but the fullest. Where that grows by at most half as much, and is no
growth of its own, the rise is attributed to the arenas. Holes that spread over k arenas alike are
then seen at a k-th of their rate, thus later.

Rejected: to take only memory at the top of each arena, which holes cannot be part of. Small blocks
that stay in use lie above the buffer's, so that nearly all of its memory is below them. And to
bound the rise by the size of the shuffle buffer, which says nothing of other threads' buffers, and
with eight arenas a core would excuse leaks for hundreds of epochs.

Pools: TensorFlow's allocator takes a region from malloc when it has no room for a tensor, each
twice as large as the last one: of 8, 16, 32, 64 MiB. Its pages are resident once they are used,
over several epochs after it was taken and before the next one is, so that the jumps of a pool look
like slow growth (nanoGPT#287). So what rises beyond the usual in these epochs, and at most what
malloc took, is judged as if it had come with its region. The level before and after stays.

Rejected: to count a whole region when it is taken. The part that is never used would be growth,
and a leak in the pool, or beside it, would look like a few jumps.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from kmonitor.base.trend import median
from kmonitor.hub.judge.counters import CounterGrowth, CounterKind
from kmonitor.hub.judge.growth import RAM_FLOOR, Growth, judge_growth
from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.units import Unit
from kmonitor_agent.wire.messages.verdict_events import ArenaFill

_MIN_MEASURED: Final = 5
"""Minimum number of units with counts of malloc, as for other counters; short epochs are not all
counted."""

_LEFT_OVER: Final = 0.5
"""Share of the growth per unit: more than half must come from other arenas than the fullest."""


def arenas_that_fill(
    growth: Growth, grew_with: Sequence[CounterGrowth], units: Sequence[Unit], room: float | None
) -> ArenaFill | None:
    """Memory that malloc's arenas keep, if it explains rising memory, and has room; else None.

    Args:
        growth: The judgement of memory.
        grew_with: Counters that grew over the same units; anything but free memory is a leak
            beside it, or in its place.
        units: Measured units, to which the judgement's indices refer.
        room: Amount by which memory may still grow, bytes; None: unknown.
    """
    if growth.slope is None or any(one.kind is not CounterKind.FREE_BYTES for one in grew_with):
        return None
    measured = [at for at, unit in enumerate(units) if "ram_of_one_arena" in unit.at_end]
    if len(measured) < _MIN_MEASURED:
        return None
    values = [units[at].at_end["ram_of_one_arena"] for at in measured]
    of_one = judge_growth(np.interp(np.arange(len(units)), measured, values), RAM_FLOOR)
    if of_one.is_growing or of_one.slope is None:
        return None
    if of_one.slope.middle > _LEFT_OVER * growth.slope.middle:
        return None
    newest = units[measured[-1]]
    fill = ArenaFill(
        int(newest.malloc_arenas), newest.malloc_free_bytes, newest.malloc_largest_free_bytes
    )
    to_come = fill.arenas * fill.largest_bytes - fill.free_bytes
    return fill if room is None or to_come <= room else None


_LEAST_REGION: Final = 6 * 2.0**20
"""Bytes that malloc takes in one unit, and that are not used in it, from which they are a region
of a pool."""

_LARGER: Final = 1.25
"""Factor by which a region is larger than those before, at least: else they are allocations that
a script repeats and does not use."""

_USED_BEFORE: Final = 6
_USED_AFTER: Final = 10
"""Units before and after a region is taken in which that before, or it, comes into use."""


def moved_to_regions(units: Sequence[Unit]) -> Floats:
    """Corrections of memory at each unit's end so that a pool grows as it takes a region, `[n]`.

    Bytes to be added, estimated from what malloc took of the system and by how much memory rose; 0
    where malloc was not counted.
    """
    ram = _counted(unit.at_end.get("ram", math.nan) for unit in units)
    taken = _changes(_counted(unit.malloc_bytes + unit.malloc_free_bytes for unit in units))
    rises = _changes(ram)
    regions = np.where(np.isfinite(ram), taken - np.maximum(rises, 0.0), 0.0)
    lasting = _changes(np.minimum.accumulate(ram[::-1])[::-1])
    moved = np.zeros(len(units))
    largest = unused = 0.0
    for at in np.flatnonzero(regions >= _LEAST_REGION):
        if taken[at] < _LARGER * largest:
            continue
        largest = taken[at]
        unused += regions[at]
        around = slice(max(0, at - _USED_BEFORE), at + _USED_AFTER + 1)
        beyond = np.maximum(lasting[around] - max(0.0, median(rises[around])), 0.0)
        beyond[at - around.start] = 0.0
        used = np.diff(np.minimum(np.cumsum(beyond), unused), prepend=0.0)
        lasting[around] -= used
        moved[around] -= used
        moved[at] += used.sum()
        unused -= used.sum()
    return np.cumsum(moved)


def _counted(values: Iterable[float]) -> Floats:
    """Values, and the last one before where there is none; NaN before the first, `[n]`."""
    found = np.fromiter(values, dtype=np.float64)
    last = np.maximum.accumulate(np.where(np.isfinite(found), np.arange(len(found)), 0))
    return found[last]


def _changes(values: Floats) -> Floats:
    return np.nan_to_num(np.diff(values, prepend=values[:1]))
