"""Other batch sizes and other changes of a training: the peak, the largest fit, what would save.

Each search exists twice: as a function, and as a generator in steps of one estimate each, for
callers that have other work meanwhile.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import msgspec

from kmonitor.memory.calibration import PeakMeasurement, estimate_by_batch
from kmonitor.memory.estimate import MemoryMap, Plan, estimate
from kmonitor_agent.wire.messages.model_layout import ConfigValue, ModelLayout, OptimizerLayout

LARGEST_BATCH: Final = 2**20
"""No larger batch is tried."""


@dataclass(frozen=True, slots=True)
class BatchPeak:
    """The peak at one batch size, bytes.

    Attributes:
        batch: Examples a step.
        peak_bytes: The estimate.
        low_bytes: It is hardly less.
        high_bytes: It is hardly more; None where that is unknown.
    """

    batch: int
    peak_bytes: int
    low_bytes: int
    high_bytes: int | None


@dataclass(frozen=True, slots=True)
class BatchFit:
    """The largest batches within a limit.

    Attributes:
        certain: Fits even if the peak is as high as the interval allows; None if none does.
        likely: Fits by the estimate itself; None if none does.
    """

    certain: int | None
    likely: int | None


def peaks_over_batch(
    layout: ModelLayout,
    plan: Plan,
    batches: Sequence[int],
    measured: Sequence[PeakMeasurement] = (),
) -> tuple[BatchPeak, ...]:
    """The curve of the peak over batch sizes.

    Args:
        layout: Of the model.
        plan: How it is trained; its batch does not count.
        batches: Sizes, each at least 1.
        measured: Of this training, to correct the estimate by.
    """
    at = estimate_by_batch(layout, plan, measured)
    found = [at(each) for each in batches]
    return tuple(
        BatchPeak(each.batch, each.peak_bytes, each.low_bytes, each.high_bytes) for each in found
    )


def largest_batches(
    layout: ModelLayout, plan: Plan, limit_bytes: int, measured: Sequence[PeakMeasurement] = ()
) -> BatchFit:
    """The largest batch sizes whose peak stays within a limit.

    Args:
        layout: Of the model; its calls must be known.
        plan: How it is trained; its batch does not count.
        limit_bytes: What the framework's allocator may take.
        measured: Of this training, to correct the estimate by.
    """
    return _completed(searching_batches(layout, plan, limit_bytes, measured))


def searching_batches(
    layout: ModelLayout, plan: Plan, limit_bytes: int, measured: Sequence[PeakMeasurement] = ()
) -> Generator[None, None, BatchFit]:
    """`largest_batches` in steps of one estimate each."""
    known: dict[int, MemoryMap] = {}
    estimate_batch = estimate_by_batch(layout, plan, measured)

    def at(batch: int) -> Generator[None, None, MemoryMap]:
        if batch not in known:
            known[batch] = estimate_batch(batch)
            yield
        return known[batch]

    def fits_certainly(batch: int) -> Generator[None, None, bool]:
        high = (yield from at(batch)).high_bytes
        return high is not None and high <= limit_bytes

    def fits_likely(batch: int) -> Generator[None, None, bool]:
        return (yield from at(batch)).peak_bytes <= limit_bytes

    certain = yield from _largest(fits_certainly)
    likely = yield from _largest(fits_likely)
    return BatchFit(certain, likely)


_Result = TypeVar("_Result")


def _completed(work: Generator[None, None, _Result]) -> _Result:
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: _Result = ended.value
            return result


def _largest(
    fits: Callable[[int], Generator[None, None, bool]],
) -> Generator[None, None, int | None]:
    if not (yield from fits(1)):
        return None
    below = 1
    above = 2
    while above <= LARGEST_BATCH and (yield from fits(above)):
        below, above = above, above * 2
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if (yield from fits(middle)) else (below, middle)
    return below


_LEAST_SAVED: Final = 2**20
"""Less than this is no advice, bytes."""


class PeakReduction(msgspec.Struct, frozen=True):
    """One change and what it is estimated to save.

    Attributes:
        change: What to do: "batch", "precision", "optimizer", "input" or "accumulation".
        words: As text, with what it means for the training's result.
        saved_bytes: Of the peak.
        peak_bytes: What the peak would be.
    """

    change: str
    words: str
    saved_bytes: int
    peak_bytes: int


def advise(
    layout: ModelLayout,
    plan: Plan,
    smaller_inputs: Mapping[str, ModelLayout] | None = None,
) -> tuple[PeakReduction, ...]:
    """Changes that save memory, the largest saving first; none that would take more.

    Args:
        layout: Of the model.
        plan: How it is trained.
        smaller_inputs: The same model described with smaller inputs, by words for them.
    """
    return _completed(advising(layout, plan, smaller_inputs))


def advising(
    layout: ModelLayout,
    plan: Plan,
    smaller_inputs: Mapping[str, ModelLayout] | None = None,
) -> Generator[None, None, tuple[PeakReduction, ...]]:
    """`advise` in steps of one estimate each."""
    current_peak = estimate(layout, plan).peak_bytes
    found: list[PeakReduction] = []
    for change in _changes(layout, plan, smaller_inputs or {}):
        yield
        peak = estimate(change.layout, change.plan).peak_bytes
        found.append(PeakReduction(change.kind, change.text, current_peak - peak, peak))
    useful = [each for each in found if each.saved_bytes >= _LEAST_SAVED]
    return tuple(sorted(useful, key=lambda each: -each.saved_bytes))


@dataclass(frozen=True, slots=True)
class _Change:
    kind: str
    text: str
    layout: ModelLayout
    plan: Plan


def _changes(
    layout: ModelLayout, plan: Plan, smaller: Mapping[str, ModelLayout]
) -> Iterator[_Change]:
    optimizer = plan.optimizer or layout.optimizer
    if plan.batch > 1:
        yield from _smaller_batches(layout, plan, optimizer)
    if (plan.precision or layout.precision) == "float32":
        for policy in ("mixed_bfloat16", "mixed_float16"):
            changed = replace(plan, precision=policy)
            yield _Change("precision", f"{policy} instead of float32", layout, changed)
    if optimizer is not None:
        for text, other in _optimizers(optimizer):
            yield _Change("optimizer", text, layout, replace(plan, optimizer=other))
    for text, described in smaller.items():
        yield _Change("input", text, described, plan)


def _smaller_batches(
    layout: ModelLayout, plan: Plan, optimizer: OptimizerLayout | None
) -> Iterator[_Change]:
    half = plan.batch // 2
    text = f"batch {half} instead of {plan.batch}; it changes how training goes"
    yield _Change("batch", text, layout, replace(plan, batch=half))
    if optimizer is None:
        return
    n = round(plan.batch / half)
    text = (
        f"batch {half} with gradient_accumulation_steps={n}: gradients of {plan.batch} examples,"
        f" but batch normalization sees {half}"
    )
    other = _with_settings(optimizer, {**optimizer.settings, "gradient_accumulation_steps": n})
    yield _Change("accumulation", text, layout, replace(plan, batch=half, optimizer=other))


def _optimizers(optimizer: OptimizerLayout) -> Iterator[tuple[str, OptimizerLayout]]:
    for kind in ("Lion", "SGD"):
        if optimizer.kind.lower() != kind.lower():
            other = OptimizerLayout(kind=kind, loss_scaling=optimizer.loss_scaling)
            yield f"{kind} instead of {optimizer.kind}; it trains differently", other
    if optimizer.settings.get("amsgrad"):
        yield "amsgrad=False", _with_settings(optimizer, {**optimizer.settings, "amsgrad": False})


def _with_settings(
    optimizer: OptimizerLayout, settings: dict[str, ConfigValue]
) -> OptimizerLayout:
    return OptimizerLayout(optimizer.kind, settings, loss_scaling=optimizer.loss_scaling)
