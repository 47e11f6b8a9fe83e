"""Evidence of *Diagnose*: lines of Python that allocated memory, and types that became numerous.

Lines are traced from a safe point to the end of an epoch or fit. Memory that was allocated before
is not traced, so that a queue whose oldest entries are taken out seems to grow by all that was put
in. Buffers of tensors are allocated by native code: only the number of their objects, against the
diagnosis before, shows that Python keeps them.
"""

import math
import sys
from dataclasses import dataclass, replace
from typing import Final

from kmonitor.base.trend import Slope
from kmonitor.hub.judge.causes import Cause, GrowthExplanation, Remedy
from kmonitor.hub.judge.counters import CounterGrowth, CounterKind
from kmonitor.hub.judge.detectors import UnitKind
from kmonitor.hub.judge.growth import Growth
from kmonitor_agent.wire.messages.events import (
    Diagnosis,
    EpochEnded,
    EpochStarted,
    Event,
    FitEnded,
    SessionStarted,
)

_SHARE_EXPLAINED: Final = 0.4
"""Share of the growth from which an allocation explains it."""

_MOST_EXPLAINED: Final = 1.5
"""Multiple of the growth beyond which most of what was allocated replaces what was freed."""

_ONE_A_UNIT: Final = 0.9


@dataclass(frozen=True, slots=True)
class DiagnosedGrowth:
    """Findings of diagnoses on growth.

    Attributes:
        lines: Bytes that Python allocated and did not free, if they explain the growth.
        line: Line that allocated most of what was in use after an epoch, if that is more than the
            growth, so that older memory was freed; else empty.
        objects: Objects that became more numerous from unit to unit; None: none, or not compared.
        is_native: True if Python does not retain what grows.
        is_complete: True if another diagnosis would show no more.
    """

    lines: tuple[CounterGrowth, ...] = ()
    line: str = ""
    objects: CounterGrowth | None = None
    is_native: bool = False
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class _Lines:
    """Allocations of lines that were traced.

    Attributes:
        n_bytes: Allocated and in use at the end, bytes.
        line: Line that allocated most.
        is_epoch: True if a whole epoch was traced.
    """

    n_bytes: float
    line: str
    is_epoch: bool


class Diagnoses:
    """Diagnoses of a process; owned by the judging thread."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._ended = {UnitKind.EPOCH: 0, UnitKind.FIT: 0}
        self._epoch_began_s = -math.inf
        self._counted_s = math.inf
        self._counted_at = dict(self._ended)
        self._lines: _Lines | None = None
        self._grown: dict[str, int] | None = None
        self._grown_in = dict(self._ended)

    def read(self, t_s: float, event: Event) -> None:
        """Take the next event of the run; most change nothing.

        Args:
            t_s: Its run time, seconds.
        """
        match event:
            case SessionStarted():
                self._clear()
            case EpochStarted():
                self._epoch_began_s = t_s
            case EpochEnded():
                self._ended[UnitKind.EPOCH] += 1
            case FitEnded():
                self._ended[UnitKind.FIT] += 1
            case Diagnosis():
                self._diagnosed(t_s, event)
            case _:
                pass

    def _diagnosed(self, t_s: float, event: Diagnosis) -> None:
        if event.allocations:
            n_bytes = sum(max(0, each.grown_bytes) for each in event.allocations)
            is_epoch = self._counted_s <= self._epoch_began_s
            self._lines = _Lines(float(n_bytes), event.allocations[0].location, is_epoch)
        if not event.objects:
            return
        units = {kind: n - self._counted_at[kind] for kind, n in self._ended.items()}
        grown = {each.kind: each.grown for each in event.objects if each.grown is not None}
        if grown and any(units.values()):
            self._grown = grown
            self._grown_in = units
        self._counted_s = t_s
        self._counted_at = dict(self._ended)

    def found(self, growth: Growth, kind: UnitKind) -> DiagnosedGrowth:
        """Findings on growth per unit.

        Args:
            kind: Kind of the units.
        """
        lines = self._lines
        if lines is None or growth.slope is None:
            return DiagnosedGrowth()
        units = self._grown_in.get(kind, 0) if self._grown is not None else 0
        n_bytes = lines.n_bytes * self._epochs_in(kind, lines)
        share = n_bytes / max(1.0, growth.slope.middle)
        explains = _SHARE_EXPLAINED <= share <= _MOST_EXPLAINED
        # One look has no interval.
        slope = Slope(n_bytes, n_bytes, n_bytes)
        objects = self._grown_objects(units)
        is_seen = lines.is_epoch and kind is UnitKind.EPOCH
        return DiagnosedGrowth(
            (CounterGrowth(CounterKind.PYTHON_BYTES, slope, lines.line),) if explains else (),
            lines.line if share > _MOST_EXPLAINED else "",
            objects,
            is_native=is_seen and units > 0 and share < _SHARE_EXPLAINED and objects is None,
            is_complete=units > 0 and (is_seen or kind is UnitKind.FIT),
        )

    def _epochs_in(self, kind: UnitKind, lines: _Lines) -> float:
        """Number of traced spans in a unit."""
        if kind is not UnitKind.FIT or not lines.is_epoch:
            return 1.0
        return max(1.0, self._ended[UnitKind.EPOCH] / max(1, self._ended[UnitKind.FIT]))

    def _grown_objects(self, units: int) -> CounterGrowth | None:
        """Type with most new objects, of those that may hold memory that native code allocated."""
        for kind, grown in (self._grown or {}).items() if units else ():
            per_unit = grown / units
            if per_unit >= _ONE_A_UNIT and _may_hold_buffers(kind):
                slope = Slope(per_unit, per_unit, per_unit)
                return CounterGrowth(CounterKind.KEPT_OBJECTS, slope, kind)
        return None


_OPEN: Final = frozenset({Cause.MALLOC, Cause.TENSORS, Cause.UNKNOWN})
"""Causes that a type of objects which became more numerous makes clearer."""


def with_diagnosis(found: GrowthExplanation, diagnosed: DiagnosedGrowth) -> GrowthExplanation:
    """The explanation with what diagnoses add to it, and what to do next instead of another."""
    objects = diagnosed.objects if found.cause in _OPEN else None
    if objects is not None:
        found = replace(found, because=(*found.because, objects))
    if found.cause is Cause.MALLOC:
        found = replace(found, function=diagnosed.line or None)
    if not (diagnosed.is_complete or diagnosed.lines or diagnosed.line):
        return found
    next_step = _next_step(found, diagnosed)
    advice = (next_step if each is Remedy.DIAGNOSE else each for each in found.advice)
    return replace(found, advice=tuple(each for each in advice if each is not None))


def _next_step(found: GrowthExplanation, diagnosed: DiagnosedGrowth) -> Remedy | None:
    """Advice in place of another diagnosis; None with a cause that has others."""
    if found.cause is Cause.PYTHON and diagnosed.lines:
        return Remedy.LOOK_AT_LINE
    if found.cause not in _OPEN | {Cause.PYTHON}:
        return None
    is_named = found.cause in _OPEN and diagnosed.objects is not None
    return Remedy.FIND_HOLDER if is_named else Remedy.BISECT


_HOLD: Final = frozenset({"builtins.function", "builtins.cell"})
_WITHOUT_BUFFERS: Final = sys.stdlib_module_names | {"builtins", "kmonitor_agent"}
"""Packages whose objects are containers and the like."""


def _may_hold_buffers(kind: str) -> bool:
    """False for containers and the like, which grow with what they hold."""
    return kind in _HOLD or kind.partition(".")[0] not in _WITHOUT_BUFFERS
