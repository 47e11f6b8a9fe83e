"""The open epoch cut into pieces of time, so that growth is seen within it, by the step.

Most large trainings have one epoch, or few and long ones. Outside of epochs the time is cut in the
same way and described by calls (`evaluate`, `predict`, `collect()`): some loops never fit.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from kmonitor.hub.judge.bounded_places import FilledPlaces
from kmonitor.hub.judge.detectors import UnitKind
from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.units import LEVELS, Unit
from kmonitor_agent.wire.messages.events import KeptObjects

LEAST_SEGMENTS: Final = 12
"""Minimum number of segments to judge: traces and first buffers fall into the first ones."""

_MOST_SEGMENTS: Final = 64
_FIRST_WIDTH_S: Final = 0.9
"""Initial width, less than a second, so that each sample begins a segment."""


class EpochSegments:
    """Owned by the judging thread.

    Attributes:
        kind: Unit of the segments: steps of the open epoch, or calls outside of any.
        closed: Pieces of time with at least one of them, the newest last; the number of each is
            the step or call that it was first sampled at.
        filled: Places of the script that became full in them.
    """

    def __init__(self) -> None:
        self._clear(UnitKind.CALL)

    def _clear(self, kind: UnitKind) -> None:
        self.kind = kind
        self.closed: list[Unit] = []
        self.filled = FilledPlaces()
        self._n_fresh = 0
        self._width_s = _FIRST_WIDTH_S
        self._counted = 0.0
        self._current: Unit | None = None

    def begin(self) -> None:
        self._clear(UnitKind.STEP)

    def end(self) -> None:
        """End the epoch: whole epochs are judged by themselves."""
        self._clear(UnitKind.CALL)

    def count(self, t_s: float, kept: list[KeptObjects]) -> None:
        """Take a count of the objects that the script keeps, made at a run time, seconds."""
        self.filled.count(kept, self.closed)
        if self._current is not None and kept:
            self._current.kept = kept
            self._current.counted_s = t_s

    def pop_n_fresh(self) -> int:
        """Number of segments closed since the last call."""
        n_fresh, self._n_fresh = self._n_fresh, 0
        return min(n_fresh, len(self.closed))

    def add(
        self, t_s: Floats, columns: Mapping[str, Floats], levels: Mapping[str, str] = LEVELS
    ) -> None:
        """Take samples.

        Samples without a new step or call are left out: a validation, a pause, a start.

        Args:
            t_s: Their run times, seconds, `[n]`.
            columns: `step`, `calls`, `code_regions`, `functions` and the fields of the levels,
                `[n]` each, NaN where not read.
            levels: See `RunUnits.levels`.
        """
        read = columns.get("step" if self.kind is UnitKind.STEP else "calls")
        if read is None:
            return
        counted = np.fmax.accumulate(np.concatenate(([self._counted], read)))
        for at in np.flatnonzero(np.diff(counted) > 0.0).tolist():
            self._begin(float(t_s[at]), float(counted[at + 1]))
            self._measure(columns, levels, at)
        self._counted = float(counted[-1])

    def _begin(self, t_s: float, number: float) -> None:
        """Begin a segment, unless the current one is too short to be complete."""
        current = self._current
        if current is not None and t_s - current.start_s < self._width_s:
            return
        if current is not None:
            self._close(current)
        # Number and time of its first sample: that is its minimum, unless memory falls.
        self._current = Unit(int(number), t_s, t_s)

    def _measure(self, columns: Mapping[str, Floats], levels: Mapping[str, str], at: int) -> None:
        current = self._current
        if current is None:
            return
        if "code_regions" in columns:
            current.code_regions = float(columns["code_regions"][at])
        if "functions" in columns:
            current.registered = float(columns["functions"][at])
        for level, name in levels.items():
            if name in columns and np.isfinite(columns[name][at]):
                value = float(columns[name][at])
                current.measured(level, value, value)

    def _close(self, unit: Unit) -> None:
        self.closed.append(unit)
        self._n_fresh += 1
        if len(self.closed) <= _MOST_SEGMENTS:
            return
        self._width_s *= 2.0
        self.closed = [_joined(*self.closed[n : n + 2]) for n in range(0, len(self.closed), 2)]


def _joined(first: Unit, second: Unit | None = None) -> Unit:
    if second is None:
        return first
    for level, low in second.low.items():
        first.measured(level, low, second.high[level])
    first.code_regions = second.code_regions
    first.registered = second.registered
    if second.kept:
        first.kept = second.kept
        first.counted_s = second.counted_s
    return first
