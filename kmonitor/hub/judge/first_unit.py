"""What the first epoch did to memory: data that are kept as they are read make it rise evenly."""

from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.hub.judge.causes import FirstUnit
from kmonitor.hub.judge.growth import Floor

FIRST_FLOOR: Final = Floor(32 * 2.0**20, 0.02)
"""32 MiB, or a fiftieth of what is used: less comes with any first epoch."""

_PARTS: Final = 10
_START: Final = 4
"""Parts of the epoch that are left out: tracing and first buffers fall there."""

_LEAST_PARTS: Final = 7
"""With a sample; a busy machine leaves gaps."""

_MIDDLE: Final = 6
_LEAST_OF_HALF: Final = 0.25
_LATER: Final = 2


def first_unit(
    t_s: NDArray[np.float64],
    values: NDArray[np.float64],
    span_s: tuple[float, float],
    later: NDArray[np.float64],
) -> FirstUnit | None:
    """How memory rose while the first unit ran; None if it did not rise evenly, or by little.

    Args:
        t_s: Rising times of the samples, seconds, `[m]`.
        values: Memory at them, bytes, finite, `[m]`.
        span_s: When the unit began and ended.
        later: Smallest sample of each unit after it, `[n]`; at least two are needed.
    """
    if len(later) < _LATER:
        return None
    edges = np.searchsorted(t_s, np.linspace(*span_s, _PARTS + 1))
    parts = [values[first:last] for first, last in pairwise(edges)]
    measured = [at for at, part in enumerate(parts) if len(part)]
    if len(measured) < _LEAST_PARTS:
        return None
    # As everywhere the lower envelope: what a batch takes for a moment does not count.
    lows = [float(parts[at].min()) for at in measured]
    lowest = np.interp(np.arange(_PARTS), measured, lows)
    early, late = lowest[_MIDDLE] - lowest[_START], lowest[-1] - lowest[_MIDDLE]
    rise = early + late
    if rise < max(FIRST_FLOOR.amount, FIRST_FLOOR.part * float(np.median(lowest))):
        return None
    if min(early, late) < _LEAST_OF_HALF * rise:
        return None
    return FirstUnit(float(rise), float(np.median(later) - lowest[-1]))
