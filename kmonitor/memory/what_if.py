"""What another batch size would take, and the largest that fits."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Final

from kmonitor.memory.calibration import Measured, foreteller
from kmonitor.memory.estimate import MemoryMap, Plan
from kmonitor_agent.wire.messages.model_layout import ModelLayout

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
    search = searching_batches(layout, plan, limit_bytes, measured)
    while True:
        try:
            next(search)
        except StopIteration as ended:
            found: Fit = ended.value
            return found


def searching_batches(
    layout: ModelLayout, plan: Plan, limit_bytes: int, measured: Sequence[Measured] = ()
) -> Generator[None, None, Fit]:
    """The same in steps of one estimate each, for who has other things to do meanwhile.

    Args:
        layout: As there, also for all that follow.
        plan: As there.
        limit_bytes: As there.
        measured: As there.
    """
    known: dict[int, MemoryMap] = {}
    foretell = foreteller(layout, plan, measured)

    def at(batch: int) -> Generator[None, None, MemoryMap]:
        if batch not in known:
            known[batch] = foretell(batch)
            yield
        return known[batch]

    def fits_certainly(batch: int) -> Generator[None, None, bool]:
        high = (yield from at(batch)).high_bytes
        return high is not None and high <= limit_bytes

    def fits_likely(batch: int) -> Generator[None, None, bool]:
        return (yield from at(batch)).peak_bytes <= limit_bytes

    certain = yield from _largest(fits_certainly)
    likely = yield from _largest(fits_likely)
    return Fit(certain, likely)


def _largest(
    fits: Callable[[int], Generator[None, None, bool]],
) -> Generator[None, None, int | None]:
    if not (yield from fits(1)):
        return None
    below, above = 1, 2
    while above <= LARGEST_BATCH and (yield from fits(above)):
        below, above = above, above * 2
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if (yield from fits(middle)) else (below, middle)
    return below
