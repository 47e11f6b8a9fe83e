"""Rises by caches and queues of the script that hold a limited number of objects.

A `functools.lru_cache(maxsize=100)` and a `deque(maxlen=100)` fill and then grow no more. Their
end is known from the size of what they hold, so memory that rises by them is no leak, as long as
the rest of it fits.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from kmonitor.hub.judge.causes import Cause, Confidence, GrowthExplanation
from kmonitor.hub.judge.counters import (
    CODE_COUNTERS,
    Counter,
    CounterGrowth,
    kept_growth,
)
from kmonitor.hub.judge.growth import Growth
from kmonitor_agent.wire.messages.events import KeptObjects

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
) -> GrowthExplanation | None:
    """Explanation of a rise by places that fill, if their rest fits into memory; else None.

    Args:
        growth: The judgement of memory.
        grew_with: Counters that grew with it; traces and compiled code have no end.
        counters: Counters of the units that were judged.
        room: Memory that is left, bytes; None: unknown.
    """
    if growth.slope is None or any(one.kind in CODE_COUNTERS for one in grew_with):
        return None
    kept = [one for one in kept_growth(counters, growth, share=0.0) if one.kept is not None]
    filling = [one for one in kept if left_bytes(one.kept) is not None]
    others = sum(one.per_unit.middle for one in kept if _is_endless(one))
    explained = sum(one.per_unit.middle for one in filling)
    middle = growth.slope.middle
    if not filling or explained < _EXPLAINED * middle or others >= _OF_OTHERS * middle:
        return None
    left = sum(left_bytes(one.kept) or 0.0 for one in filling)
    if room is not None and left > room:
        return None
    return GrowthExplanation(
        Cause.FILLING, Confidence.COUNTED, tuple(filling), kept=filling[0].kept
    )


def left_bytes(kept: KeptObjects | None) -> float | None:
    """Bytes until a place is full; None if it has no end, or one that is not known."""
    if kept is None or kept.n_bytes is None or not kept.capacity or not kept.count:
        return None
    return kept.n_bytes / kept.count * max(0, kept.capacity - kept.count)


def is_full(kept: KeptObjects) -> bool:
    """True for a place that can hold no more objects than it has: it grows no more."""
    return kept.capacity is not None and kept.count >= kept.capacity


class _Counted(Protocol):
    """A unit in which objects were counted; see `Unit`."""

    low: dict[str, float]
    kept: list[KeptObjects]


def have_filled(kept: Sequence[KeptObjects], units: Sequence[_Counted]) -> bool:
    """True if places that are full now explain the rise of memory in units before.

    Memory that fills them is not a trend: it is to be judged from here on.

    Args:
        kept: Objects counted after these units.
    """
    full = {_key(each): each for each in kept if is_full(each) and each.n_bytes}
    return bool(full) and any(
        _explain(full, units, metric, is_on_device=metric == "vram") for metric in ("ram", "vram")
    )


_Key = tuple[str, str, str]


def _key(kept: KeptObjects) -> _Key:
    return kept.kind, kept.container, kept.place


def _explain(
    full: dict[_Key, KeptObjects], units: Sequence[_Counted], metric: str, *, is_on_device: bool
) -> bool:
    measured = [unit for unit in units if metric in unit.low]
    first: dict[_Key, tuple[float, float]] = {}
    for unit in measured:
        for each in unit.kept:
            if each.is_on_device is is_on_device and _key(each) in full:
                first.setdefault(_key(each), (each.n_bytes or 0.0, unit.low[metric]))
    gained = sum((full[key].n_bytes or 0.0) - n_bytes for key, (n_bytes, _) in first.items())
    rise = measured[-1].low[metric] - min(low for _, low in first.values()) if first else 0.0
    return rise > 0.0 and gained >= _EXPLAINED * rise


def _is_endless(one: CounterGrowth) -> bool:
    return one.kept is not None and one.kept.n_bytes is not None and not one.kept.capacity
