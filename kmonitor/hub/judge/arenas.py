"""Freed memory that malloc keeps in one arena after another: a rise with an end, and no leak.

glibc has several arenas, at most eight a core, and gives each thread one of them. A block that is
freed can be used again only in its own arena. A buffer that a pool of threads fills in each epoch,
as that of `Dataset.shuffle`, leaves free memory in one arena, in the next epoch in another, until
each has held as much as is in use at one time. Meanwhile memory rises as with a leak: with a
buffer of 14 MiB and two cores by 70 MiB in ten to thirty epochs (tensorflow#54299).

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
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from kmonitor.hub.judge.counters import CounterGrowth, CounterKind
from kmonitor.hub.judge.growth import RAM_FLOOR, Growth, judge_growth
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
