"""An estimate made better by what a training was measured to take.

Tier 2: one batch size was measured; the rules keep the shape of the curve, the measurement its
height. Tier 1: two or more; the peak is then a line over the batch above a floor.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from kmonitor.memory_map.estimate import MemoryMap, Plan, estimate
from kmonitor_agent.protocol.model_layout import ModelLayout

STEPS_NEEDED: Final = 5
"""Of one batch size: the first traces, and the same step differs by up to 18 %."""

_FLOOR_FACTOR: Final = 1.1
"""A transient part that is hardly above the floor of the update says nothing of feature maps."""

_ONE_BATCH_MARGINS: Final = (0.15, 0.40)
_MORE_MARGINS: Final = (0.05, 0.20)
_NEAR: Final = 4.0
_NEARER: Final = 2.0


class Measured(msgspec.Struct, frozen=True):
    """The peak of a training at one batch size.

    Attributes:
        batch: Examples a step.
        peak_bytes: The highest use by the framework's allocator in the steps.
        steps: How many were looked at.
    """

    batch: int
    peak_bytes: int
    steps: int = STEPS_NEEDED


class NotIdentifiable(Exception):
    """What was measured says nothing of what other batch sizes take.

    Attributes:
        why: In words, with what to do.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Law:
    """The transient part as a line over the batch, above a floor: max(floor, fixed + slope b).

    Attributes:
        floor_bytes: That of applying gradients.
        fixed_bytes: What does not grow with the batch.
        slope_bytes: More for each example.
    """

    floor_bytes: int
    fixed_bytes: float
    slope_bytes: float

    def transient_bytes(self, batch: int) -> int:
        """At a batch size."""
        return int(max(self.floor_bytes, self.fixed_bytes + self.slope_bytes * batch))


def calibrated(layout: ModelLayout, plan: Plan, measured: Sequence[Measured]) -> MemoryMap:
    """The estimate, corrected by what was measured of the same model, backend and device.

    Args:
        layout: Of the model.
        plan: How it is trained.
        measured: Each of at least `STEPS_NEEDED` steps; others are left out.

    Raises:
        NotIdentifiable: Nothing was measured that tells of feature maps.
    """
    found = estimate(layout, plan)
    usable = _usable(layout, plan, measured)
    if len({each.batch for each in usable}) > 1:
        return _by_law(found, layout, plan, usable)
    [one] = usable[-1:]
    kappa = _scale(layout, plan, one)
    ratio = max(plan.batch / one.batch, one.batch / plan.batch)
    margin = _ONE_BATCH_MARGINS[0] if ratio <= _NEAR else _ONE_BATCH_MARGINS[1]
    words = f"rules scaled by {kappa:.2f}, measured at batch {one.batch}"
    return _with_transient(found, int(kappa * found.transient_bytes), margin, 2, words)


def foretold(layout: ModelLayout, plan: Plan, measured: Sequence[Measured] = ()) -> MemoryMap:
    """The estimate, corrected where something was measured.

    Raises:
        NotIdentifiable: What was measured tells nothing of feature maps.
    """
    return calibrated(layout, plan, measured) if measured else estimate(layout, plan)


def scale_of(layout: ModelLayout, plan: Plan, measured: Measured) -> float:
    """How much more, or less, the transient part is than the rules say.

    Raises:
        NotIdentifiable: The peak was that of applying the gradients, whatever the batch.
    """
    _usable(layout, plan, [measured])
    return _scale(layout, plan, measured)


def law_of(layout: ModelLayout, plan: Plan, measured: Sequence[Measured]) -> Law:
    """The line through what was measured at two or more batch sizes; least squares.

    Raises:
        NotIdentifiable: Fewer than two batch sizes tell of feature maps.
    """
    usable = _usable(layout, plan, measured)
    resident = estimate(layout, plan).resident_bytes
    points = [(each.batch, each.peak_bytes - resident) for each in usable]
    if len({batch for batch, _ in points}) < 2:  # noqa: PLR2004 - a line
        raise NotIdentifiable("only one batch size was measured; a second one gives the law")
    mean_batch = sum(batch for batch, _ in points) / len(points)
    mean_bytes = sum(n_bytes for _, n_bytes in points) / len(points)
    spread = sum((batch - mean_batch) ** 2 for batch, _ in points)
    slope = sum((batch - mean_batch) * (n - mean_bytes) for batch, n in points) / spread
    slope = max(0.0, slope)
    return Law(_floor(layout, plan), mean_bytes - slope * mean_batch, slope)


def _by_law(
    found: MemoryMap, layout: ModelLayout, plan: Plan, measured: Sequence[Measured]
) -> MemoryMap:
    law = law_of(layout, plan, measured)
    largest = max(each.batch for each in measured)
    margin = _MORE_MARGINS[0] if plan.batch <= _NEARER * largest else _MORE_MARGINS[1]
    sizes = ", ".join(str(each) for each in sorted({each.batch for each in measured}))
    words = f"measured at batches {sizes}"
    return _with_transient(found, law.transient_bytes(plan.batch), margin, 1, words)


def _usable(layout: ModelLayout, plan: Plan, measured: Sequence[Measured]) -> list[Measured]:
    enough = [each for each in measured if each.steps >= STEPS_NEEDED]
    if not enough:
        raise NotIdentifiable(f"no batch size was measured for {STEPS_NEEDED} steps")
    floor, resident = _floor(layout, plan), estimate(layout, plan).resident_bytes
    telling = [each for each in enough if each.peak_bytes - resident > _FLOOR_FACTOR * floor]
    if not telling:
        raise NotIdentifiable(
            "the peak is that of applying the gradients, which does not depend on the batch: try"
            " a larger batch"
        )
    return telling


def _floor(layout: ModelLayout, plan: Plan) -> int:
    """The transient part with no feature maps at all: that of the smallest batch, nearly."""
    return estimate(
        msgspec.structs.replace(layout, calls=()), replace(plan, batch=1)
    ).transient_bytes


def _scale(layout: ModelLayout, plan: Plan, measured: Measured) -> float:
    analytic = estimate(layout, replace(plan, batch=measured.batch))
    return (measured.peak_bytes - analytic.resident_bytes) / analytic.transient_bytes


def _with_transient(
    found: MemoryMap, transient: int, margin: float, tier: int, method: str
) -> MemoryMap:
    resident = found.resident_bytes
    return msgspec.structs.replace(
        found,
        peak_bytes=resident + transient,
        low_bytes=resident + int(transient * (1 - margin)),
        high_bytes=resident + int(transient * (1 + margin)),
        transient_bytes=transient,
        tier=tier,
        method=method,
    )


class Measurements(msgspec.Struct, frozen=True):
    """What was measured, by model, backend and device, as it can be stored.

    Attributes:
        by_key: Key of `measurement_key` to the peaks.
    """

    by_key: Mapping[str, tuple[Measured, ...]] = {}

    def with_one(self, key: str, measured: Measured) -> "Measurements":
        """The same with another; of one batch size the highest peak stays."""
        same = [each for each in self.by_key.get(key, ()) if each.batch == measured.batch]
        others = [each for each in self.by_key.get(key, ()) if each.batch != measured.batch]
        highest = max([*same, measured], key=lambda each: each.peak_bytes)
        kept = msgspec.structs.replace(
            highest, steps=measured.steps + sum(each.steps for each in same)
        )
        return Measurements({**self.by_key, key: (*others, kept)})


def measurement_key(layout: ModelLayout, plan: Plan, device: str) -> str:
    """What measurements must share to be of one law: model, training, backend and device.

    Args:
        layout: Of the model.
        plan: How it is trained; its batch does not count.
        device: Name of the device, for example "NVIDIA A100-SXM4-40GB" or "CPU".
    """
    optimizer = plan.optimizer or layout.optimizer
    parts: list[Any] = [
        layout.kind,
        [[each.path, list(each.shape), each.is_trainable] for each in layout.variables],
        [list(layout.tensors[each].shape) for each in layout.inputs],
        [optimizer.kind, sorted(map(str, optimizer.settings.items()))] if optimizer else None,
        plan.precision or layout.precision,
        plan.backend or layout.backend,
        device,
    ]
    return json.dumps(parts, separators=(",", ":"))
