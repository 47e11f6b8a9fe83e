"""Garbage that awaits a full collection: a rise with an end, and perhaps no leak.

Objects in reference cycles, as those of a closed matplotlib figure, are freed only by Python's
collector. A young collection frees those that died young; the others take a full one, which alone
separates garbage from what is in use. Python makes it when the objects that survived since the
last one are more than a quarter of those that it left, for which a training with two million
objects may take a hundred epochs. Until then garbage rises like a leak of Python objects, and no
count separates them. *Collect* does, so that is the advice, and the alarm waits for the
collection.

Memory waits for the collector if it is made of Python objects: a block is at most 512 bytes, and
the malloc memory of its object (a dict's table, a C structure) is of that order. Closed figures
come with 0.8 KiB a block, and arrays or native memory that leak with 14 KiB and more (the scripts
in `tests/leaks`). Or if it grows in the same way as memory that an earlier collection of this run
gave back. Or if it is no higher than what was given back before, by whatever collection
(`sawtooth`): a young one frees objects with large arrays while hardly a block comes and goes.

A full collection also speaks against garbage: the memory that it did not give back was in use. So
the last one that had something to free decides, and memory that rises from collection to
collection is judged like any other. Nor is a rise excused once blocks have grown by a quarter,
since then the collector is switched off or objects were frozen, or if the garbage still to come
does not fit.

Held memory is the sum of malloc's memory in use and Python's blocks, which are not malloc's. RAM
of the process says little about a collection, as malloc keeps freed memory. But it must grow with
held memory: pages that a library maps by itself are no Python objects.

Where the script has switched the collector off, nothing ends the rise: there is no excuse, and
growth whose holder is unknown is explained by that, unless a full collection showed that the
objects are in use.

Rejected: to wait for a collection whatever grows, as blocks rise beside many leaks of arrays. And
to trigger one: it takes seconds with many objects, and is the user's to ask for.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import pairwise
from typing import Final

import numpy as np

from kmonitor.base.trend import median, theil_sen_slope
from kmonitor.hub.judge.causes import (
    UNCOLLECTED,
    Cause,
    GrowthExplanation,
    with_collector_off,
)
from kmonitor.hub.judge.counters import BYTES_A_BLOCK, CounterGrowth, CounterKind
from kmonitor.hub.judge.evidence.sawtooth import (
    LEAST_HEIGHT,
    is_usual_tooth,
)
from kmonitor.hub.judge.growth import Growth, has_rising_lows
from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.units import Unit

_OF_GARBAGE: Final = frozenset(
    {CounterKind.NATIVE_BYTES, CounterKind.FREE_BYTES, CounterKind.BLOCKS}
)
"""Counters that garbage adds to; any other is a leak beside it, or in its place."""

_MIN_MEASURED: Final = 5
"""Minimum number of units with these counts; short epochs are not all counted."""

_MOST_A_BLOCK: Final = 2.0**11
"""Maximum bytes per block of a Python object: its own 512 at most, and as much as a table or two
from malloc. Leaks of arrays have tens of KiB."""

_TIMES_AS_FREED: Final = 2.0
"""Factor of the bytes per block that were freed: blocks and bytes are counted at the ends of
epochs only."""

_GIVEN_BACK: Final = 0.8
_SURVIVED: Final = 0.2
"""Shares of the growth since the last collection: garbage, if most of it was given back; in use,
if less than a fifth was. Between them it is both, and says nothing about later growth."""

_UNTIL_COLLECTED: Final = 0.25
"""Share of the objects that the last full collection left (`gc` calls it long_lived_pending)."""


class NoAlarm(Enum):
    """Rise without an alarm of which nothing shows the cause."""

    TOOTH = auto()
    """Memory is no higher than before it fell, and no full collection made it fall."""
    GARBAGE = auto()
    """It may be garbage, but no full collection gave anything back so far."""


@dataclass(frozen=True, slots=True)
class _Heap:
    """Counts at the ends of units, `[n]` each; and the units in which all objects were collected.

    Attributes:
        ram: Memory of the process, bytes.
        blocks: Python's blocks in use.
        held: Memory that is in use, or garbage, bytes.
        collected: Indices of the units with a full collection.
    """

    ram: Floats
    blocks: Floats
    held: Floats
    collected: list[int]

    @property
    def since(self) -> int:
        """The last unit with a full collection, or the first that was measured."""
        return self.collected[-1] if self.collected else 0


@dataclass(frozen=True, slots=True)
class _Freed:
    """Result of a full collection: its unit, the freed share of the growth, bytes per block."""

    at: int
    part: float
    a_block: float


def uncollected_growth(
    grew_with: Sequence[CounterGrowth], units: Sequence[Unit], room: float | None
) -> GrowthExplanation | NoAlarm | None:
    """The explanation, if memory rises by possible garbage that was not yet collected.

    Args:
        grew_with: Counters that grew over the same units.
        units: Units in which memory was measured, at least one.
        room: Amount by which memory may still grow, bytes; None: unknown.
    """
    if any(one.kind not in _OF_GARBAGE for one in grew_with):
        return None
    heap = _heap_of(units)
    if heap is None:
        ram = np.array([unit.at_end["ram"] for unit in units if "ram" in unit.at_end])
        return NoAlarm.TOOTH if is_usual_tooth(ram, ram, room) else None
    freed = _freed(heap)
    found = _excuse(heap, freed, room)
    newest = _newest_counted(units)
    if found is NoAlarm.GARBAGE and newest is not None and newest.is_collector_off:
        return None
    if found is not None and any(one.part >= _GIVEN_BACK for one in freed):
        return replace(UNCOLLECTED, because=tuple(grew_with))
    return found


def _newest_counted(units: Sequence[Unit]) -> Unit | None:
    """The last unit with these counts; not every short one has them."""
    return next((unit for unit in reversed(units) if math.isfinite(unit.python_blocks)), None)


def _excuse(heap: _Heap, freed: Sequence[_Freed], room: float | None) -> NoAlarm | None:
    if has_rising_lows(heap.held, heap.collected):
        return None
    if freed and freed[-1].part < _SURVIVED:
        return None
    # Teeth of before a collection that left a part of them excuse nothing.
    since = max((one.at for one in freed if one.part < _GIVEN_BACK), default=0)
    if is_usual_tooth(heap.held[since:], heap.ram[since:], room):
        return NoAlarm.TOOTH
    return NoAlarm.GARBAGE if _awaits_collection(heap, freed, room) else None


def _awaits_collection(heap: _Heap, freed: Sequence[_Freed], room: float | None) -> bool:
    """True if as much came with each block as objects take, or as was freed before."""
    proof = next((one for one in reversed(freed) if one.part >= _GIVEN_BACK), None)
    since = heap.since
    added = float(heap.blocks[-1] - heap.blocks[since])
    until_collected = _UNTIL_COLLECTED * float(heap.blocks[since])
    if proof is None:
        a_block = _bytes_a_block(heap)
        is_garbage = a_block <= _MOST_A_BLOCK
    else:
        # Just after a collection memory is as high as before, and hardly a block has come.
        a_block = proof.a_block
        most = max(_MOST_A_BLOCK, _TIMES_AS_FREED * a_block)
        grown = max(float(values[-1] - values[since]) for values in (heap.held, heap.ram))
        is_garbage = grown <= LEAST_HEIGHT + most * max(0.0, added)
    has_room = room is None or (until_collected - added) * a_block <= room
    return is_garbage and has_room and added < until_collected


def _bytes_a_block(heap: _Heap) -> float:
    """Bytes that came with each block since the last full collection, if all of them stay.

    The next young collection frees a part of what is there at the end of a unit. Only the
    level that is never undercut later came to stay.
    """
    ram, blocks, held = (
        np.minimum.accumulate(values[heap.since :][::-1])[::-1]
        for values in (heap.ram, heap.blocks, heap.held)
    )
    x = np.arange(len(blocks), dtype=np.float64)
    a_unit, *of_bytes = (theil_sen_slope(x, values) or 0.0 for values in (blocks, held, ram))
    return max(of_bytes) / a_unit if a_unit > 0.0 else np.inf


def _heap_of(units: Sequence[Unit]) -> _Heap | None:
    """The counts of the units that have them; None if there are too few."""
    rows = np.array(
        [
            (
                unit.at_end.get("ram", np.nan),
                unit.python_blocks,
                unit.malloc_bytes,
                unit.full_collections,
            )
            for unit in units
        ]
    )
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < _MIN_MEASURED:
        return None
    ram, blocks, from_malloc, collections = rows.T
    collected = np.flatnonzero(np.diff(collections) > 0.0) + 1
    return _Heap(ram, blocks, from_malloc + BYTES_A_BLOCK * blocks, collected.tolist())


def _freed(heap: _Heap) -> list[_Freed]:
    """Results of the full collections that came after some growth, the newest last."""
    found: list[_Freed] = []
    for before, at in pairwise([0, *heap.collected]):
        grown = float(heap.held[at - 1] - heap.held[before])
        if grown < LEAST_HEIGHT:
            continue
        given = float(heap.held[at - 1] - heap.held[at])
        blocks = float(heap.blocks[at - 1] - heap.blocks[at])
        found.append(_Freed(at, given / grown, given / max(1.0, blocks)))
    return found


_MOSTLY: Final = 0.7
"""Share of the units in which blocks become more."""

_ONE_A_UNIT: Final = 0.9

_OPEN: Final = frozenset({Cause.MALLOC, Cause.PYTHON, Cause.TENSORS, Cause.UNKNOWN})
"""Causes that do not say what keeps memory."""


def with_idle_collector(
    found: GrowthExplanation, growth: Growth, units: Sequence[Unit]
) -> GrowthExplanation:
    """The explanation with a collector that is off, if that explains what nothing else does.

    Args:
        units: Units in which memory was measured, to which the indices of `growth` refer.
    """
    newest = _newest_counted(units)
    if found.cause not in _OPEN or newest is None or not newest.is_collector_off:
        return found
    blocks = np.array([unit.python_blocks for unit in units[growth.first : growth.last + 1]])
    added = np.diff(blocks[np.isfinite(blocks)])
    if not len(added) or median(added) < _ONE_A_UNIT or np.mean(added > 0.0) < _MOSTLY:
        return found
    heap = _heap_of(units)
    freed = [] if heap is None else _freed(heap)
    if freed and freed[-1].part < _SURVIVED:
        return found
    is_off = newest.objects_to_full_collection == 0.0
    return with_collector_off(found, "gc.disable" if is_off else "gc.set_threshold")
