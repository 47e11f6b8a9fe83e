"""The lower envelope: what memory falls back to, whatever comes and goes above it."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

SIGMA_OF_MAD: Final = 1.4826
"""Median absolute deviation to standard deviation, of normal noise."""


def lower_envelope(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Smallest of each block of so many values, in order.

    Blocks end with the last value; the first values that fill no block are left out.

    Args:
        values: `[n]`.
        width: At least 1.

    Source: the trend of the heap after each collection, HPjmeter user's guide.
    """
    n_blocks = len(values) // width
    kept = values[len(values) - n_blocks * width :]
    return kept.reshape(n_blocks, width).min(axis=1)


def block_width(n: int) -> int:
    """Values in a block for a series of so many: wider when there are enough."""
    for below, width in ((12, 1), (24, 2), (60, 3), (120, 4)):
        if n < below:
            return width
    return n // 40


def noise_of(values: NDArray[np.float64]) -> float:
    """Standard deviation of what changes from value to value, in the unit of the values.

    A steady trend does not count, a fifth of wild values hardly. 0 for fewer than two values.

    Args:
        values: `[n]`.

    Source: von Neumann 1941 (differences), with the median absolute deviation for robustness.
    """
    steps = np.diff(values)
    if not len(steps):
        return 0.0
    return SIGMA_OF_MAD * float(np.median(np.abs(steps - np.median(steps)))) / math.sqrt(2.0)
