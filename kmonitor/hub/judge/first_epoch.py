"""Samples of memory of a process's first epoch, kept while the judgement may need them."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.hub.judge.causes import FirstUnit
from kmonitor.hub.judge.first_unit import first_unit

Floats = NDArray[np.float64]

_MOST_KEPT: Final = 1_000
"""Of more, every second one is dropped."""


class FirstEpoch:
    """Owned by the judging thread."""

    def __init__(self) -> None:
        self._t_s: list[float] = []
        self._values: list[float] = []
        self._began_s: float | None = None
        self._ended_s: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether it runs."""
        return self._began_s is not None and self._ended_s is None

    def begin(self, t_s: float) -> None:
        """An epoch began; later ones change nothing."""
        if self._began_s is None:
            self._began_s = t_s

    def end(self, t_s: float) -> None:
        """An epoch ended; later ones change nothing."""
        if self._ended_s is None:
            self._ended_s = t_s

    def samples(self, t_s: Floats, values: Floats) -> None:
        """Take samples, bytes, NaN where not read; outside of the first epoch none is kept."""
        if not self.is_open:
            return
        is_there = np.isfinite(values)
        self._t_s += t_s[is_there].tolist()
        self._values += values[is_there].tolist()
        while len(self._t_s) > _MOST_KEPT:
            self._t_s, self._values = self._t_s[::2], self._values[::2]

    def found(self, later: Sequence[float]) -> FirstUnit | None:
        """What it did to memory.

        Args:
            later: Smallest sample of each epoch after it, bytes.
        """
        if self._began_s is None or self._ended_s is None:
            return None
        times, values = np.array(self._t_s), np.array(self._values)
        return first_unit(times, values, (self._began_s, self._ended_s), np.array(later))
