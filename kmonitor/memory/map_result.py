"""The memory map as one result: the map, its curve, the largest batch that fits, and advice.

Window, command, notebook and report show this and compute nothing beside it, so that all numbers
have one basis: the estimate, corrected by what was measured where that can be compared.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kmonitor.memory.calibration import (
    Calibration,
    NotIdentifiable,
    PeakMeasurement,
    estimate_by_batch,
)
from kmonitor.memory.estimate import MemoryMap, Plan, estimate
from kmonitor.memory.what_if import (
    BatchFit,
    BatchPeak,
    EstimateByBatch,
    PeakReduction,
    advising,
    searching_batches,
)
from kmonitor_agent.wire.messages.model_layout import ModelLayout

POINTS: Final = 13
"""Points of the curve; between them it is a line, with at most one bend."""

_FURTHER: Final = 2.0
_FURTHEST: Final = 64


@dataclass(frozen=True, slots=True)
class MapQuestion:
    """A training whose memory is to be estimated.

    Attributes:
        layout: Of the model.
        plan: How it is trained.
        measured: Peaks of this training; those that cannot be compared are left out.
        limit_bytes: What the framework's allocator may take; None: not known.
        smaller_inputs: The model described with smaller inputs, by a text for the change.
        batches: Of the curve, beside the training's own; empty: up to the limit.
    """

    layout: ModelLayout
    plan: Plan
    measured: Sequence[PeakMeasurement] = ()
    limit_bytes: int | None = None
    smaller_inputs: Mapping[str, ModelLayout] = field(default_factory=dict[str, ModelLayout])
    batches: Sequence[int] = ()


@dataclass(slots=True)
class MapResult:
    """The answer so far to one question.

    Attributes:
        found: The map; None until it is worked out, and where it cannot be.
        why_not: Why there is none.
        uncorrected: Why measured peaks do not correct it; empty where they do or there are none.
        batches: Batch sizes whose measured peaks correct it.
        measured: Peaks at those, as the map counts; of the training's own batch from the first.
        points: Of the curve of the peak over the batch, rising; empty until it is worked out.
        fit: The largest batches within the limit; None until then, and without a limit.
        advice: Changes that would lower the peak.
        is_whole: Whether all of it is there.
    """

    found: MemoryMap | None = None
    why_not: str = ""
    uncorrected: str = ""
    batches: tuple[int, ...] = ()
    measured: tuple[BatchPeak, ...] = ()
    points: tuple[BatchPeak, ...] = ()
    fit: BatchFit | None = None
    advice: tuple[PeakReduction, ...] = ()
    is_whole: bool = False


def begin_map(question: MapQuestion) -> MapResult:
    """The map itself; `completing` adds the rest.

    Raises:
        OpenShape: An axis besides the batch has no length.
    """
    layout = question.layout
    plan = question.plan
    result = MapResult()
    if question.measured:
        try:
            calibration = Calibration(layout, plan, question.measured)
        except NotIdentifiable as exc:
            result.uncorrected = exc.why
        else:
            result.found = calibration.at(plan.batch)
            result.batches = calibration.batches
            result.measured = (_batch_peak(result.found),) * (plan.batch in calibration.batches)
    if result.found is None:
        result.found = estimate(layout, plan)
    return result


def completing(question: MapQuestion, result: MapResult) -> Generator[None]:
    """Add the largest batch, the curve and advice, in steps of one estimate each."""
    found = result.found
    if found is None:
        return
    knows_batches = found.high_bytes is not None
    estimate_batch = _by_batch(question, found)
    yield
    measured: list[BatchPeak] = []
    for batch in result.batches:
        measured.append(_batch_peak(estimate_batch(batch)))
        yield
    result.measured = tuple(measured)
    fit = None
    if question.limit_bytes is not None and knows_batches:
        fit = yield from searching_batches(estimate_batch, question.limit_bytes)
    result.fit = fit
    points: list[BatchPeak] = []
    batches = sorted({*question.batches, found.batch}) if question.batches else ()
    for batch in (batches or _batches(found.batch, fit)) if knows_batches else ():
        yield
        points.append(_batch_peak(estimate_batch(batch)))
    result.points = tuple(points)
    result.advice = yield from advising(
        question.layout,
        question.plan,
        estimate_batch,
        question.smaller_inputs,
        is_on_cpu=_is_on_cpu(question),
    )
    result.is_whole = True


def _is_on_cpu(question: MapQuestion) -> bool:
    """True if what was traced or measured is known to be of a CPU."""
    traced = question.plan.traced
    sees_large = traced is not None and traced.program.unseen_bytes > 0
    return sees_large or any(each.device == "CPU" for each in question.measured)


def _by_batch(question: MapQuestion, found: MemoryMap) -> EstimateByBatch:
    """The estimate at a batch size, each worked out once; the map itself at its own."""
    plan = replace(question.plan, has_rows=False)
    estimate_batch = estimate_by_batch(question.layout, plan, question.measured)
    known = {found.batch: found}

    def at(batch: int) -> MemoryMap:
        if batch not in known:
            known[batch] = estimate_batch(batch)
        return known[batch]

    return at


def _batch_peak(found: MemoryMap) -> BatchPeak:
    return BatchPeak(found.batch, found.peak_bytes, found.low_bytes, found.high_bytes)


def _batches(batch: int, fit: BatchFit | None) -> list[int]:
    """Where the curve is worked out: from 1 to beyond the batch and, if it is near, the limit."""
    likely = fit.likely if fit is not None and fit.likely else 0
    last = max(_FURTHER * batch, min(1.25 * likely, _FURTHEST * batch), POINTS)
    found = {round(1 + (last - 1) * n / (POINTS - 1)) for n in range(POINTS)}
    return sorted(found | {batch})
