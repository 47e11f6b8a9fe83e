"""The open epoch cut into pieces of time, so that growth is seen within it, by the step.

Most large trainings have one epoch, or few and long ones.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from kmonitor.hub.judge.statistics import Floats
from kmonitor.hub.judge.units import LEVELS, Unit
from kmonitor_agent.wire.messages.events import KeptObjects

LEAST_SEGMENTS: Final = 12
"""Fewer are not judged: what the first steps trace and take falls there."""

_MOST_SEGMENTS: Final = 64
_FIRST_WIDTH_S: Final = 0.9
"""Less than a second, so that each sample begins one."""


class EpochSegments:
    """Owned by the judging thread.

    Attributes:
        closed: Pieces of the open epoch in which steps were made, the newest last; each one's
            number is the step that it was first sampled at.
    """

    def __init__(self) -> None:
        self._clear(is_open=False)

    def _clear(self, *, is_open: bool) -> None:
        self.closed: list[Unit] = []
        self._n_fresh = 0
        self._is_open = is_open
        self._width_s = _FIRST_WIDTH_S
        self._step = 0.0
        self._current: Unit | None = None

    def begin(self) -> None:
        """An epoch began."""
        self._clear(is_open=True)

    def end(self) -> None:
        """It ended: whole epochs say the rest."""
        self._clear(is_open=False)

    def count(self, kept: list[KeptObjects]) -> None:
        """What the script keeps was counted."""
        if self._current is not None and kept:
            self._current.kept = kept

    def pop_n_fresh(self) -> int:
        """How many were closed since this was asked last."""
        n_fresh, self._n_fresh = self._n_fresh, 0
        return min(n_fresh, len(self.closed))

    def add(self, t_s: Floats, columns: Mapping[str, Floats]) -> None:
        """Take samples; those without a new step are left out: a validation, a pause, a start.

        Args:
            t_s: Their run times, seconds, `[n]`.
            columns: `step`, `ram_bytes`, `vram_bytes`, `code_regions`, `functions` of them, `[n]`
                each, NaN where not read.
        """
        if not self._is_open or "step" not in columns:
            return
        steps = np.fmax.accumulate(np.concatenate(([self._step], columns["step"])))
        for at in np.flatnonzero(np.diff(steps) > 0.0).tolist():
            self._add(float(t_s[at]), float(steps[at + 1]), columns, at)
        self._step = float(steps[-1])

    def _add(self, t_s: float, step: float, columns: Mapping[str, Floats], at: int) -> None:
        current = self._current
        if current is None or t_s - current.start_s >= self._width_s:
            if current is not None:
                self._close(current)
            # What it holds least it held first, unless memory falls: that is its step and time.
            current = self._current = Unit(int(step), t_s, t_s)
        if "code_regions" in columns:
            current.code_regions = float(columns["code_regions"][at])
        if "functions" in columns:
            current.registered = float(columns["functions"][at])
        for level, name in LEVELS.items():
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
    first.code_regions, first.registered = second.code_regions, second.registered
    first.kept = second.kept or first.kept
    return first
