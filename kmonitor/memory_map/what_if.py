"""What another batch size would take, and the largest that fits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from kmonitor.memory_map.calibration import Measured, foreteller
from kmonitor.memory_map.estimate import Plan
from kmonitor_agent.protocol.model_layout import ModelLayout

LARGEST_BATCH: Final = 2**20
"""Beyond it nobody asks."""


@dataclass(frozen=True, slots=True)
class BatchPeak:
    """The peak at one batch size, bytes.

    Attributes:
        batch: Examples a step.
        peak_bytes: The estimate.
        low_bytes: It is hardly less.
        high_bytes: It is hardly more; None where that cannot be told.
    """

    batch: int
    peak_bytes: int
    low_bytes: int
    high_bytes: int | None


@dataclass(frozen=True, slots=True)
class Fit:
    """The largest batches within a limit.

    Attributes:
        certain: Fits even if the peak is as high as the interval allows; None if none does.
        likely: Fits by the estimate itself; None if none does.
    """

    certain: int | None
    likely: int | None


def peaks_over_batch(
    layout: ModelLayout, plan: Plan, batches: Sequence[int], measured: Sequence[Measured] = ()
) -> tuple[BatchPeak, ...]:
    """The curve of the peak over batch sizes.

    Args:
        layout: Of the model.
        plan: How it is trained; its batch does not count.
        batches: Sizes, each at least 1.
        measured: Of this training, to correct the estimate by.
    """
    at = foreteller(layout, plan, measured)
    found = [at(each) for each in batches]
    return tuple(
        BatchPeak(each.batch, each.peak_bytes, each.low_bytes, each.high_bytes) for each in found
    )


def largest_batches(
    layout: ModelLayout, plan: Plan, limit_bytes: int, measured: Sequence[Measured] = ()
) -> Fit:
    """The largest batch sizes whose peak stays within a limit.

    Args:
        layout: Of the model; its calls must be known.
        plan: How it is trained; its batch does not count.
        limit_bytes: What the framework's allocator may take.
        measured: Of this training, to correct the estimate by.
    """
    at = foreteller(layout, plan, measured)

    def fits_certainly(batch: int) -> bool:
        high = at(batch).high_bytes
        return high is not None and high <= limit_bytes

    return Fit(
        certain=_largest(fits_certainly),
        likely=_largest(lambda batch: at(batch).peak_bytes <= limit_bytes),
    )


def _largest(fits: Callable[[int], bool]) -> int | None:
    if not fits(1):
        return None
    below, above = 1, 2
    while above <= LARGEST_BATCH and fits(above):
        below, above = above, above * 2
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if fits(middle) else (below, middle)
    return below
