"""The memory map as one result: the map, its curve, the largest batch that fits, and advice.

Window, command, notebook and report show this result and compute nothing else, so that all numbers
have the same basis: the estimate, corrected by comparable measurements.
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
"""Points of the curve; between two of them it is a line with at most one bend."""

_FURTHER: Final = 2.0
_FURTHEST: Final = 64


@dataclass(frozen=True, slots=True)
class MapQuestion:
    """A training whose memory is to be estimated.

    Attributes:
        measured: Measured peaks of this training; those that are not comparable are left out.
        limit_bytes: Memory limit of the framework's allocator; None: not known.
        smaller_inputs: Layouts of the model with smaller inputs, by text of the change.
        batches: Batch sizes of the curve, beside the training's own; empty: up to the limit.
    """

    layout: ModelLayout
    plan: Plan
    measured: Sequence[PeakMeasurement] = ()
    limit_bytes: int | None = None
    smaller_inputs: Mapping[str, ModelLayout] = field(default_factory=dict[str, ModelLayout])
    batches: Sequence[int] = ()


@dataclass(slots=True)
class MapResult:
    """The result so far for one question.

    Attributes:
        found: The map; None until it is computed, or if it cannot be.
        why_not: Reason why there is no map.
        uncorrected: Reason why measured peaks do not correct the map; empty if they do or there
            are none.
        batches: Batch sizes whose measured peaks correct the map.
        measured: Measured peaks in the map's terms; that of the training's own batch is there from
            the beginning, the others later.
        points: Points of the peak's curve over the batch, rising; empty until computed.
        fit: The largest batches within the limit; None until computed, and without a limit.
        advice: Changes that would lower the peak.
        is_whole: True if the result is complete.
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
    """Compute the map itself; `completing` adds the rest.

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
    """True if the trace or a measurement is known to come from a CPU."""
    traced = question.plan.traced
    sees_large = traced is not None and traced.program.unseen_bytes > 0
    return sees_large or any(each.device == "CPU" for each in question.measured)


def _by_batch(question: MapQuestion, found: MemoryMap) -> EstimateByBatch:
    """The estimate by batch size, each computed once; the map itself at its own batch size."""
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
    """Batch sizes of the curve's points: from 1 to beyond the batch and a limit, if near."""
    likely = fit.likely if fit is not None and fit.likely else 0
    last = max(_FURTHER * batch, min(1.25 * likely, _FURTHEST * batch), POINTS)
    found = {round(1 + (last - 1) * n / (POINTS - 1)) for n in range(POINTS)}
    return sorted(found | {batch})
