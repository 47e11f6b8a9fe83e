"""Buffers of the script: lists and the like that are emptied now and then, as when written away.

Before a list is emptied for the first time nothing distinguishes it from a leak. Once it was, a
rise by it is no growth as long as it holds no more than it did before, and the lows of memory do
not rise from one time to the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from kmonitor.hub.judge.causes import Cause, Confidence, GrowthExplanation
from kmonitor.hub.judge.counters import (
    Counter,
    CounterGrowth,
    CounterKind,
    PlaceKey,
    place_key,
)
from kmonitor.hub.judge.growth import has_rising_lows
from kmonitor.hub.judge.statistics import Floats
from kmonitor_agent.wire.messages.events import KeptObjects, Verdict

_EMPTIED: Final = 0.5
"""Share of its bytes down to which a place was emptied; counts may be some units apart."""

_HIGHER: Final = 2.0
"""Times the largest size before that a buffer may have: between two buffers that are a third
smaller and larger than usual."""

_LATELY: Final = 3
"""Number of last counts in which a place was emptied lately."""

_MOST: Final = 0.5
"""Share of what explained the growth from which the growth is over once that was emptied."""


@dataclass(frozen=True, slots=True)
class _Fall:
    """A time when a place was emptied.

    Attributes:
        highest: Index of the unit in which it held most.
        low: Index of the unit in which it was counted empty, or less full.
        n_bytes: Its size in the former, bytes.
    """

    highest: int
    low: int
    n_bytes: float


def _falls(values: Floats) -> list[_Fall]:
    """Times when a place was emptied, the newest last."""
    found: list[_Fall] = []
    counted = np.flatnonzero(np.isfinite(values)).tolist()
    highest = counted[0] if counted else 0
    for at in counted[1:]:
        if values[at] <= _EMPTIED * values[highest]:
            found.append(_Fall(highest, at, float(values[highest])))
            highest = at
        elif values[at] >= values[highest]:
            highest = at
    return found


def left_in_buffers(counters: Sequence[Counter], memory: Floats) -> dict[PlaceKey, float]:
    """Bytes by which each buffer may still grow until it holds more than before.

    Args:
        counters: Counters of the units that were judged.
        memory: Memory in these units, bytes, `[n]`.
    """
    found: dict[PlaceKey, float] = {}
    for one in counters:
        falls = _falls_of(one)
        if one.kept is None or not falls or has_rising_lows(memory, [each.low for each in falls]):
            continue
        left = _HIGHER * max(each.n_bytes for each in falls) - (one.kept.n_bytes or 0.0)
        if left >= 0.0:
            found[place_key(one.kept)] = left
    return found


def _falls_of(counter: Counter) -> list[_Fall]:
    return _falls(counter.values) if counter.kind is CounterKind.KEPT_BYTES else []


def was_emptied(
    grew_with: Sequence[CounterGrowth], counters: Sequence[Counter], memory: Floats
) -> bool:
    """True if most of what explained growth was emptied lately, and memory is no higher than then.

    Args:
        grew_with: Counters that explained the growth.
        counters: The same counters up to now.
        memory: Memory in these units, bytes, `[n]`.
    """
    sized = [one for one in grew_with if one.kept is not None and one.kept.n_bytes is not None]
    emptied = {place_key(one.kept) for one in counters if one.kept and _is_empty(one, memory)}
    rates = [(one.per_unit.middle, place_key(one.kept) in emptied) for one in sized if one.kept]
    total = sum(rate for rate, _ in rates)
    return total > 0.0 and sum(rate for rate, is_empty in rates if is_empty) >= _MOST * total


def _is_empty(counter: Counter, memory: Floats) -> bool:
    falls = _falls_of(counter)
    if not falls:
        return False
    last = falls[-1]
    counted = np.flatnonzero(np.isfinite(counter.values))
    is_lately = last.low >= counted[-_LATELY:][0]
    return bool(is_lately and memory[-1] <= memory[last.highest] + _EMPTIED * last.n_bytes)


def explain_emptied(
    counters: Sequence[Counter], newest: Verdict | None, *, is_over: bool
) -> GrowthExplanation | None:
    """Explanation of an earlier rise by a place that was emptied, as it was before.

    Args:
        newest: The newest verdict, which names the place; None: there is none.
        is_over: True if an alarm has ended: then it is the largest such place.
    """
    is_named = newest is not None and newest.cause in {"kept", "buffer"}
    named = newest.kept if newest is not None and is_named else None
    found: list[KeptObjects] = []
    for one in counters:
        falls = _falls_of(one)
        if falls and one.kept is not None:
            n_bytes = max(each.n_bytes for each in falls)
            is_same = named is not None and place_key(named) == place_key(one.kept)
            like = named if named is not None and is_same else one.kept
            n = _objects_in(like, n_bytes)
            if is_same or is_over:
                found.append(replace(like, count=n, n_bytes=n_bytes, capacity=n))
    if not found:
        return None
    largest = max(found, key=lambda each: each.n_bytes or 0.0)
    return GrowthExplanation(Cause.BUFFER, Confidence.COUNTED, kept=largest)


def as_buffer(counter: Counter) -> KeptObjects | None:
    """A place that was emptied, with the largest number of objects that it held as capacity."""
    falls = _falls_of(counter)
    if not falls or counter.kept is None:
        return counter.kept
    n = _objects_in(counter.kept, max(one.n_bytes for one in falls))
    return replace(counter.kept, capacity=n)


def _objects_in(kept: KeptObjects, n_bytes: float) -> int:
    """Number of objects of a place that take so many bytes."""
    each_bytes = (kept.n_bytes or 0.0) / max(1, kept.count)
    return max(1, round(n_bytes / each_bytes)) if each_bytes else kept.count
