"""Rises by caches and queues of the script that hold a limited number of objects.

A `functools.lru_cache(maxsize=100)` and a `deque(maxlen=100)` fill and then grow no more. Their
end is known from the size of what they hold, so memory that rises by them is no leak, as long as
the rest of it fits.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, TypeVar

from kmonitor.hub.judge.causes import Cause, Confidence, GrowthExplanation
from kmonitor.hub.judge.counters import (
    CODE_COUNTERS,
    Counter,
    CounterGrowth,
    PlaceKey,
    kept_growth,
    place_key,
)
from kmonitor.hub.judge.emptied_places import as_buffer, explain_emptied, left_in_buffers
from kmonitor.hub.judge.growth import Growth
from kmonitor.hub.judge.statistics import Floats
from kmonitor_agent.wire.messages.events import KeptObjects, Verdict
from kmonitor_agent.wire.messages.verdict_events import VerdictMetric

_EXPLAINED: Final = 0.5
"""Share of the growth from which places that fill explain it; objects have an overhead, as the
elements of a dataset's cache have."""

_OF_OTHERS: Final = 0.25
"""Share of the growth from which another place, which has no end, is growth in spite of them."""


def filling_places(
    growth: Growth,
    grew_with: Sequence[CounterGrowth],
    counters: Sequence[Counter],
    room: float | None,
    memory: Floats,
) -> GrowthExplanation | None:
    """Explanation of a rise by places that fill, if their rest fits into memory; else None.

    A buffer that is emptied now and then fills up to what it held before.

    Args:
        growth: The judgement of memory.
        grew_with: Counters that grew with it; traces and compiled code have no end.
        counters: Counters of the units that were judged.
        room: Memory that is left, bytes; None: unknown.
        memory: Memory in these units, bytes, `[n]`.
    """
    if growth.slope is None or any(one.kind in CODE_COUNTERS for one in grew_with):
        return None
    kept = [one for one in kept_growth(counters, growth, share=0.0) if one.kept is not None]
    buffers = left_in_buffers(counters, memory)
    left = [_left_bytes(one, buffers) for one in kept]
    filling = [one for one, n_bytes in zip(kept, left, strict=True) if n_bytes is not None]
    others = sum(one.per_unit.middle for one in kept if _is_endless(one) and one not in filling)
    explained = sum(one.per_unit.middle for one in filling)
    middle = growth.slope.middle
    if not filling or explained < _EXPLAINED * middle or others >= _OF_OTHERS * middle:
        return None
    if room is not None and sum(each or 0.0 for each in left) > room:
        return None
    largest = filling[0].kept
    cause = Cause.FILLING if left_bytes(largest) is not None else Cause.BUFFER
    if cause is Cause.BUFFER:
        largest = next(as_buffer(one) for one in counters if one.kept is largest)
    return GrowthExplanation(cause, Confidence.COUNTED, tuple(filling), kept=largest)


def _left_bytes(one: CounterGrowth, buffers: Mapping[PlaceKey, float]) -> float | None:
    left = left_bytes(one.kept)
    if left is not None or one.kept is None or is_full(one.kept):
        return left
    return buffers.get(place_key(one.kept))


def left_bytes(kept: KeptObjects | None) -> float | None:
    """Bytes until a place is full; None if it is, has no end, or one that is not known.

    In a full one objects may still grow.
    """
    if kept is None or kept.n_bytes is None or not kept.capacity or not kept.count:
        return None
    return None if is_full(kept) else kept.n_bytes / kept.count * (kept.capacity - kept.count)


def is_full(kept: KeptObjects) -> bool:
    """True for a place that can hold no more objects than it has."""
    return kept.capacity is not None and kept.count >= kept.capacity


def _stopped_place(counters: Sequence[Counter], newest: Verdict | None) -> KeptObjects | None:
    """The place that the newest verdict names, if it has stopped growing since; else None."""
    if newest is None or newest.kept is None or newest.cause not in {"kept", "filling"}:
        return None
    key = place_key(newest.kept)
    places = (one.kept for one in counters if one.has_stopped and one.kept is not None)
    return next((each for each in places if place_key(each) == key), None)


_GIVEN_BACK: Final = 0.5
"""Share of a place's bytes by which memory has to fall until it is no longer said to be full."""


def explain_end(
    full: KeptObjects | None,
    counters: Sequence[Counter],
    newest: Verdict | None,
    lows: Sequence[float],
    *,
    is_over: bool,
) -> GrowthExplanation | None:
    """Explanation of an earlier rise by a place that is full, was emptied or has stopped growing.

    None where there is none, or if memory is no more what it was when the place was full.

    Args:
        full: The place that became full last; None: none did.
        counters: Counters of the units that were judged.
        newest: The newest verdict, which names the other places; None: there is none.
        lows: Memory in these units, at least one, bytes.
        is_over: True if an alarm has just ended: a place may have stopped growing.
    """
    emptied = explain_emptied(counters, newest, is_over=is_over)
    if full is None and emptied is not None:
        return emptied
    place = full or (_stopped_place(counters, newest) if is_over else None)
    if place is None or max(lows) - lows[-1] > _GIVEN_BACK * (place.n_bytes or math.inf):
        return None
    return GrowthExplanation(Cause.FILLING, Confidence.COUNTED, kept=place)


class _Counted(Protocol):
    """A unit in which objects were counted; see `Unit`."""

    number: int
    low: dict[str, float]
    kept: list[KeptObjects]


_AnyUnit = TypeVar("_AnyUnit", bound=_Counted)
_MEMORY: Final[tuple[VerdictMetric, ...]] = ("ram", "vram")


class FilledPlaces:
    """Places that became full, and the units in which they filled: these show no trend of memory.

    Memory that a place explains is judged from there on; the graph, times and counts have nothing
    to do with it. Owned by the judging thread.
    """

    def __init__(self) -> None:
        self._full: dict[VerdictMetric, tuple[int, KeptObjects]] = {}

    def full_place(self, metric: VerdictMetric) -> KeptObjects | None:
        """The largest of the places that became full last; None: none did."""
        return self._full[metric][1] if metric in self._full else None

    def later(self, metric: VerdictMetric, units: Sequence[_AnyUnit]) -> list[_AnyUnit]:
        """The units since the metric's memory no longer rises by places that fill."""
        last = self._full[metric][0] if metric in self._full else -1
        return [unit for unit in units if unit.number > last]

    def count(self, kept: Sequence[KeptObjects], units: Sequence[_Counted]) -> None:
        """Take a count of the objects that the script keeps.

        Args:
            kept: Objects counted after these units.
            units: Complete units, the newest last.
        """
        full = [each for each in kept if is_full(each) and each.n_bytes]
        for metric in _MEMORY if full else ():
            place = _filled(full, self.later(metric, units), metric)
            if place is not None:
                self._full[metric] = units[-1].number, place


def _filled(
    full: Sequence[KeptObjects], units: Sequence[_Counted], metric: VerdictMetric
) -> KeptObjects | None:
    """The largest full place, if full places explain the rise in these units; else None."""
    measured = [unit for unit in units if metric in unit.low]
    first: dict[PlaceKey, tuple[KeptObjects, float]] = {}
    for unit in measured:
        for each in unit.kept:
            if each.is_on_device is (metric == "vram"):
                first.setdefault(place_key(each), (each, unit.low[metric]))
    # Bytes of a place that was full before are those of larger objects: they have no end.
    filled = [
        each
        for each in full
        if place_key(each) in first and not is_full(first[place_key(each)][0])
    ]
    if not filled:
        return None
    begun = [first[place_key(each)] for each in filled]
    gained = sum(each.n_bytes or 0.0 for each in filled)
    gained -= sum(each.n_bytes or 0.0 for each, _ in begun)
    rise = measured[-1].low[metric] - min(low for _, low in begun)
    explains = rise > 0.0 and gained >= _EXPLAINED * rise
    return max(filled, key=lambda each: each.n_bytes or 0.0) if explains else None


def _is_endless(one: CounterGrowth) -> bool:
    kept = one.kept
    if kept is None or kept.n_bytes is None:
        return False
    return not kept.capacity or is_full(kept)
