"""Plan of a fit and the cache of its data; rise of memory within the first epoch, as one fills."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from kmonitor.base.trend import median
from kmonitor.hub.judge.causes import FirstUnitRise
from kmonitor.hub.judge.growth import Floor
from kmonitor.hub.judge.statistics import Floats


@dataclass(slots=True)
class FitPlan:
    """Plan of a fit and its progress.

    Attributes:
        epochs: Planned epochs; 0: unknown.
        steps: Steps of an epoch; None: unknown.
        epochs_ended: Epochs that have ended so far.
        steps_ended: Steps of those epochs.
        cache_steps: Steps after which a cache of its data is full; None without one.
        cache_bytes: Size of the full cache; None: unknown.
    """

    epochs: int = 0
    steps: int | None = None
    epochs_ended: int = 0
    steps_ended: int = 0
    cache_steps: int | None = None
    cache_bytes: float | None = None

    @property
    def fills_cache(self) -> bool:
        """True if a cache of the data was not full yet at the last epoch's end."""
        return self.cache_steps is not None and self.steps_ended < self.cache_steps


FIRST_FLOOR: Final = Floor(32 * 2.0**20, 0.02)
"""32 MiB, or a fiftieth of the memory in use: any first epoch may take less."""

_SEGMENTS: Final = 10
_START: Final = 4
"""Number of parts of the epoch that are left out: tracing and first buffers fall there."""

_LEAST_SEGMENTS: Final = 7
"""Segments that need a sample; a busy machine leaves gaps."""

_MIDDLE: Final = 6
_LEAST_OF_HALF: Final = 0.25
_FEWEST_LATER: Final = 2


def first_unit_rise(
    t_s: Floats,
    values: Floats,
    span_s: tuple[float, float],
    later: Floats,
) -> FirstUnitRise | None:
    """Rise of memory while the first unit ran; None if it was not even, or small.

    Args:
        t_s: Rising times of the samples, seconds, `[m]`.
        values: Memory at them, bytes, finite, `[m]`.
        span_s: Begin and end of the unit.
        later: Smallest sample of each unit after it, `[n]`; at least two are needed.
    """
    if len(later) < _FEWEST_LATER:
        return None
    edges = np.searchsorted(t_s, np.linspace(*span_s, _SEGMENTS + 1))
    segments = [values[first:last] for first, last in pairwise(edges)]
    measured = [at for at, part in enumerate(segments) if len(part)]
    if len(measured) < _LEAST_SEGMENTS:
        return None
    # As everywhere the lower envelope: what a batch takes for a moment does not count.
    lows = [float(segments[at].min()) for at in measured]
    lowest = np.interp(np.arange(_SEGMENTS), measured, lows)
    early = lowest[_MIDDLE] - lowest[_START]
    late = lowest[-1] - lowest[_MIDDLE]
    rise = early + late
    if rise < max(FIRST_FLOOR.amount, FIRST_FLOOR.part * median(lowest)):
        return None
    if min(early, late) < _LEAST_OF_HALF * rise:
        return None
    return FirstUnitRise(float(rise), float(median(later) - lowest[-1]))


_MOST_KEPT: Final = 1_000
"""Maximum number of samples; above it, every second one is dropped."""


class FirstEpochSamples:
    """Samples of memory within the first epoch. Owned by the judging thread."""

    def __init__(self) -> None:
        self._t_s: list[float] = []
        self._values: list[float] = []
        self._epoch_start_s: float | None = None
        self._ended_s: float | None = None

    @property
    def is_open(self) -> bool:
        """True while the epoch runs."""
        return self._epoch_start_s is not None and self._ended_s is None

    def begin(self, t_s: float) -> None:
        """Begin the epoch; later ones change nothing."""
        if self._epoch_start_s is None:
            self._epoch_start_s = t_s

    def end(self, t_s: float) -> None:
        """End the epoch; later ends change nothing."""
        if self._ended_s is None:
            self._ended_s = t_s

    def samples(self, t_s: Floats, values: Floats) -> None:
        """Take samples, bytes, NaN where not read; none is kept outside of the first epoch."""
        if not self.is_open:
            return
        is_finite = np.isfinite(values)
        self._t_s += t_s[is_finite].tolist()
        self._values += values[is_finite].tolist()
        while len(self._t_s) > _MOST_KEPT:
            self._t_s = self._t_s[::2]
            self._values = self._values[::2]

    def found(self, later: Sequence[float]) -> FirstUnitRise | None:
        """Rise of memory in the first epoch.

        Args:
            later: Smallest sample of each epoch after it, bytes.
        """
        if self._epoch_start_s is None or self._ended_s is None:
            return None
        times = np.array(self._t_s)
        values = np.array(self._values)
        return first_unit_rise(
            times, values, (self._epoch_start_s, self._ended_s), np.array(later)
        )
