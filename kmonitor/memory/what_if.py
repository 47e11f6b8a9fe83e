"""Other batch sizes and other changes of a training: the peak, the largest fit, and savings.

Searches are generators in steps of one estimate each, for callers with other work meanwhile.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from kmonitor.memory.estimate import MemoryMap, Plan, estimate
from kmonitor_agent.wire.messages.model_layout import ConfigValue, ModelLayout, OptimizerLayout

LARGEST_BATCH: Final = 2**20
"""Largest batch size that is tried."""


@dataclass(frozen=True, slots=True)
class BatchPeak:
    """The peak at one batch size, bytes.

    Attributes:
        batch: Examples per step.
        peak_bytes: The estimate.
        low_bytes: Low end of its range.
        high_bytes: High end of its range; None if unknown.
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


EstimateByBatch = Callable[[int], MemoryMap]


def searching_batches(
    estimate_batch: EstimateByBatch, limit_bytes: int
) -> Generator[None, None, BatchFit]:
    """Find the largest batch sizes whose peak stays within a limit, one estimate per step.

    Args:
        estimate_batch: The estimate of the training by batch size.
        limit_bytes: Memory limit of the framework's allocator.
    """
    known: dict[int, MemoryMap] = {}

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
"""Least saving for advice, bytes."""

_LEAST_SHARE: Final = 0.15
"""Least saving for advice as a share of the peak: starts of one training differ by that."""


class PeakReduction(msgspec.Struct, frozen=True):
    """One change and its estimated saving.

    Attributes:
        change: Kind of change: "batch", "precision", "optimizer", "input" or "accumulation".
        words: Text of the change, with its consequence for the training's result.
        saved_bytes: Saving in the peak.
        peak_bytes: Peak after the change.
    """

    change: str
    words: str
    saved_bytes: int
    peak_bytes: int


def advising(
    layout: ModelLayout,
    plan: Plan,
    estimate_batch: EstimateByBatch,
    smaller_inputs: Mapping[str, ModelLayout],
    *,
    is_on_cpu: bool = False,
) -> Generator[None, None, tuple[PeakReduction, ...]]:
    """Find changes that save memory, the largest saving first, one estimate per step.

    All are based on the estimate of the map: another batch is that estimate at the other batch.
    Where weights, slots or sizes change, the estimate is moved by the change in the rules.

    Args:
        estimate_batch: The estimate of the training by batch size.
        smaller_inputs: Layouts of the model with smaller inputs, by text of the change.
        is_on_cpu: True if the model is known to be trained on a CPU, where TensorFlow's 16-bit
            convolutions work
            on copies in 32 bits and mostly take more.
    """
    current_peak = estimate_batch(plan.batch).peak_bytes
    found: list[PeakReduction] = []
    for change in _changes(layout, plan, smaller_inputs):
        if change.kind == "precision" and is_on_cpu:
            continue
        yield
        same = estimate_batch(change.plan.batch)
        if change.kind == "batch":
            peak = same.peak_bytes
        else:
            before = estimate(layout, replace(_by_rules(plan), batch=change.plan.batch))
            yield
            after = estimate(change.layout, _by_rules(change.plan))
            peak = _moved_peak(same, before, after)
        found.append(PeakReduction(change.kind, change.text, current_peak - peak, peak))
    least = max(_LEAST_SAVED, _LEAST_SHARE * current_peak)
    useful = [each for each in found if each.saved_bytes >= least]
    return tuple(sorted(useful, key=lambda each: -each.saved_bytes))


def _by_rules(plan: Plan) -> Plan:
    """The plan without its trace, which is valid for one training only."""
    return replace(plan, traced=None, has_rows=False)


def _moved_peak(same: MemoryMap, before: MemoryMap, after: MemoryMap) -> int:
    """Peak of an estimate, moved by a change that only the rules can express."""
    resident = same.resident_bytes + after.resident_bytes - before.resident_bytes
    factor = after.transient_bytes / max(1, before.transient_bytes)
    return resident + int(same.transient_bytes * factor)


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
            yield _Change("precision", f"{policy} instead of float32, on a GPU", layout, changed)
    if optimizer is not None:
        for text, other in _optimizers(optimizer):
            yield _Change("optimizer", text, layout, replace(plan, optimizer=other))
    for text, described in smaller.items():
        yield _Change("input", text, described, plan)


def _smaller_batches(
    layout: ModelLayout, plan: Plan, optimizer: OptimizerLayout | None
) -> Iterator[_Change]:
    half = plan.batch // 2
    text = f"batch size {half} instead of {plan.batch}; this changes how the model trains"
    yield _Change("batch", text, layout, replace(plan, batch=half))
    if optimizer is None:
        return
    n = round(plan.batch / half)
    text = (
        f"batch size {half} with gradient_accumulation_steps={n}: gradients of {plan.batch}"
        f" examples, but batch normalization sees {half}"
    )
    other = _with_settings(optimizer, {**optimizer.settings, "gradient_accumulation_steps": n})
    yield _Change("accumulation", text, layout, replace(plan, batch=half, optimizer=other))


def _optimizers(optimizer: OptimizerLayout) -> Iterator[tuple[str, OptimizerLayout]]:
    for kind in ("Lion", "SGD"):
        if optimizer.kind.lower() != kind.lower():
            other = OptimizerLayout(kind=kind, loss_scaling=optimizer.loss_scaling)
            yield f"{kind} instead of {optimizer.kind}; this changes how the model trains", other
    if optimizer.settings.get("amsgrad"):
        yield "amsgrad=False", _with_settings(optimizer, {**optimizer.settings, "amsgrad": False})


def _with_settings(
    optimizer: OptimizerLayout, settings: dict[str, ConfigValue]
) -> OptimizerLayout:
    return OptimizerLayout(optimizer.kind, settings, loss_scaling=optimizer.loss_scaling)
