"""Measurements of trainings, collected from events, and estimates corrected by them.

Calibration level 2: one batch size was measured; the rules give the shape of the curve, the
measurement its height. Level 1: two or more; the peak is then a line over the batch above a floor.
"""

import bisect
import hashlib
import itertools
import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from kmonitor.memory.estimate import MemoryMap, Plan, backend_of, estimate, unmeasured
from kmonitor.memory.optimizer_slots import slots_of
from kmonitor.memory.peak_parts import rescaled
from kmonitor.memory.tensor_sizes import OpenShape, variable_bytes, with_length
from kmonitor_agent.wire.messages.events import AnyEvent, FitStarted, LayoutPart, StepPeak
from kmonitor_agent.wire.messages.model_layout import (
    ModelLayout,
    OptimizerLayout,
    join_layout_parts,
)
from kmonitor_agent.wire.text import binary_size

STEPS_NEEDED: Final = 5
"""Least steps per batch size: the first step traces, and equal steps differ by up to 18%."""


class PeakMeasurement(msgspec.Struct, frozen=True):
    """The peak of a training at one batch size.

    Attributes:
        batch: Examples per step.
        peak_bytes: The highest use by the framework's allocator in the steps.
        steps: Number of measured steps.
        between_bytes: The allocator's use between two steps; None if not measured.
        device: Device of the steps: "CPU" or a GPU's name; empty if unknown.
    """

    batch: int
    peak_bytes: int
    steps: int = STEPS_NEEDED
    between_bytes: int | None = None
    device: str = ""


class Measurements(msgspec.Struct, frozen=True):
    """Measurements by model, backend and device, as they can be stored.

    Attributes:
        by_key: Peaks by `measurement_key`.
    """

    by_key: Mapping[str, tuple[PeakMeasurement, ...]] = {}

    def with_one(self, key: str, measurement: PeakMeasurement) -> "Measurements":
        """Copy with another measurement; per batch size only the highest peak is kept."""
        same = [each for each in self.by_key.get(key, ()) if each.batch == measurement.batch]
        others = [each for each in self.by_key.get(key, ()) if each.batch != measurement.batch]
        highest = max([*same, measurement], key=lambda each: each.peak_bytes)
        stored = msgspec.structs.replace(
            highest, steps=measurement.steps + sum(each.steps for each in same)
        )
        rest = {name: measurements for name, measurements in self.by_key.items() if name != key}
        return Measurements({**rest, key: (*others, stored)})

    def of(self, layout: ModelLayout, plan: Plan) -> tuple[PeakMeasurement, ...]:
        """Return measurements of a model's training, on the device of the last measurement.

        Args:
            plan: Training plan; its batch is ignored.
        """
        for key in reversed(list(self.by_key)):
            found = self.by_key[key]
            if key == measurement_key(layout, plan, found[-1].device):
                return found
        return ()


_COUNTS: Final = (
    "momentum", "amsgrad", "centered", "use_ema", "gradient_accumulation_steps", "global_clipnorm",
)  # fmt: skip
"""Settings of optimizers that affect their memory; others, such as the learning rate, do not."""


def measurement_key(layout: ModelLayout, plan: Plan, device: str) -> str:
    """Key of comparable measurements: same model, training, backend and device.

    Names of layers and variables are ignored: Keras numbers them again in each process.

    Args:
        plan: Training plan; its batch is ignored.
        device: Name of the device, for example "NVIDIA A100-SXM4-40GB" or "CPU".
    """
    optimizer = plan.optimizer or layout.optimizer
    outputs = [layout.tensors[each] for call in layout.calls for each in call.outputs]
    parts: list[Any] = [
        sorted(each.kind for each in layout.layers),
        sorted([list(each.shape), each.is_trainable] for each in layout.variables),
        [list(layout.tensors[each].shape) for each in layout.inputs],
        sorted(str([list(each.shape), each.dtype]) for each in outputs),
        _key_of(optimizer),
        plan.precision or layout.precision,
        plan.backend or backend_of(layout),
    ]
    encoded = json.dumps(parts, separators=(",", ":"))
    return f"{hashlib.sha256(encoded.encode()).hexdigest()} {device}"


def _key_of(optimizer: OptimizerLayout | None) -> list[Any] | None:
    if optimizer is None:
        return None
    chosen = [name for name in _COUNTS if optimizer.settings.get(name)]
    return [optimizer.kind.lower(), chosen, optimizer.loss_scaling]


MEMORY_EVENT_KINDS = ("fit_start", "layout", "step_peak")
"""Types of the events that `fit_memories` reads, as requested from a hub."""


@dataclass(frozen=True, slots=True)
class FitMemory:
    """Memory of one fit, from its events.

    Attributes:
        fit: Ordinal of the fit in its run.
        layout: Layout of the model; that of the fit before if the model is the same. An open
            length
            is replaced by that of the data, if known.
        batch: Examples per step; None if unknown.
        peak_measurement: The peak of the first steps; None if not measured.
        device: Device of the measurement; empty without one.
        open_layout: Layout as sent, where the length in `layout` was replaced; else None.
    """

    fit: int
    layout: ModelLayout
    batch: int | None
    peak_measurement: PeakMeasurement | None = None
    device: str = ""
    open_layout: ModelLayout | None = None


def fit_memories(events: Iterable[AnyEvent]) -> tuple[FitMemory, ...]:
    """Return the fits of one run with a known layout, in order.

    Args:
        events: Events of the run, in order; all except `MEMORY_EVENT_KINDS` are ignored.
    """
    parts: dict[int, list[LayoutPart]] = {}
    fit_starts: dict[int, FitStarted] = {}
    peaks: dict[int, StepPeak] = {}
    for event in events:
        match event:
            case FitStarted():
                fit_starts[event.fit] = event
            case LayoutPart():
                parts.setdefault(event.fit, []).append(event)
            case StepPeak():
                peaks[event.fit] = event
            case _:
                pass
    layout: ModelLayout | None = None
    found: list[FitMemory] = []
    for fit in sorted({*fit_starts, *parts, *peaks}):
        if fit in parts:
            layout = join_layout_parts(parts[fit])
        if layout is not None:
            found.append(_memory(fit, layout, fit_starts.get(fit), peaks.get(fit)))
    return tuple(found)


def _memory(
    fit: int, stored_layout: ModelLayout, fit_start: FitStarted | None, peak: StepPeak | None
) -> FitMemory:
    batch = (fit_start.batch_size if fit_start else None) or (peak.batch if peak else None)
    layout = _on_length(stored_layout, fit_start.sequence_length if fit_start else None)
    return FitMemory(
        fit,
        layout,
        batch,
        _measured(peak),
        peak.device if peak else "",
        stored_layout if layout is not stored_layout else None,
    )


def _on_length(layout: ModelLayout, length: int | None) -> ModelLayout:
    """The layout on one length; unchanged if no length is known or a layer may change it."""
    try:
        return with_length(layout, length) if length else layout
    except OpenShape:
        return layout


def _measured(peak: StepPeak | None) -> PeakMeasurement | None:
    if peak is None:
        return None
    return PeakMeasurement(
        batch=peak.batch,
        peak_bytes=int(peak.peak_bytes),
        steps=peak.steps,
        between_bytes=int(peak.between_bytes),
        device=peak.device,
    )


def measurements_of(fits: Iterable[FitMemory]) -> Measurements:
    """Return the measurements of fits, by model, backend and device.

    Args:
        fits: Fits of any runs.
    """
    found = Measurements()
    for each in fits:
        if each.peak_measurement is not None:
            key = measurement_key(each.layout, Plan(each.peak_measurement.batch), each.device)
            found = found.with_one(key, each.peak_measurement)
    return found


class NotIdentifiable(Exception):
    """The measurements allow no conclusion about other batch sizes.

    Attributes:
        why: Reason as text, with a remedy.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def estimate_by_batch(
    layout: ModelLayout, plan: Plan, measured: Sequence[PeakMeasurement] = ()
) -> Callable[[int], MemoryMap]:
    """Return the estimate as a function of the batch size, corrected by measurements if any.

    Args:
        plan: Training plan; its batch is ignored.
        measured: Measurements of this training; those independent of feature maps are ignored.
    """
    if usable := usable_measurements(layout, plan, measured):
        return Calibration(layout, plan, usable).at
    return lambda batch: estimate(layout, replace(plan, batch=batch))


def usable_measurements(
    layout: ModelLayout, plan: Plan, measured: Sequence[PeakMeasurement]
) -> tuple[PeakMeasurement, ...]:
    """Return the measurements that are comparable with the estimate; may be empty.

    Empty also if the model leaves a length open, since the length of the data is unknown.
    """
    try:
        return tuple(_usable(layout, plan, measured)) if measured else ()
    except (NotIdentifiable, OpenShape):
        return ()


_FLOOR_FACTOR: Final = 1.1
"""Least ratio of the transient part to the floor of the update.

A smaller transient part does not depend on feature maps.
"""

METER_BYTES: Final = 256 * 1024
"""Size below which TensorFlow's allocator on a CPU does not count tensors, bytes."""


def _usable(
    layout: ModelLayout, plan: Plan, measured: Sequence[PeakMeasurement]
) -> list[PeakMeasurement]:
    enough = [each for each in measured if each.steps >= STEPS_NEEDED]
    if not enough:
        raise NotIdentifiable(f"no batch size has been measured over {STEPS_NEEDED} or more steps")
    reasons = [_why_not_comparable(layout, plan, each) for each in enough]
    comparable = [each for each, why in zip(enough, reasons, strict=True) if not why]
    if not comparable:
        raise NotIdentifiable(reasons[-1])
    batch_dependent = [
        each
        for each in comparable
        if each.peak_bytes - _base(layout, plan, each)
        > _FLOOR_FACTOR
        * _floor(layout, replace(plan, unseen_bytes=_unseen_bytes(plan, layout, each)))
    ]
    if not batch_dependent:
        raise NotIdentifiable(
            "at this batch size, the peak occurs when gradients are applied, so it does not "
            "show how memory grows with the batch size; measure with a larger batch"
        )
    return batch_dependent


_SEEN_SHARE: Final = 0.5
"""Least share of a step that the allocator must count for a useful measurement."""

_LEAST_FACTOR: Final = 0.2
"""Least ratio of measurement to estimate; below it, something else was measured."""


def _why_not_comparable(layout: ModelLayout, plan: Plan, measurement: PeakMeasurement) -> str:
    """Reason why a measurement is not comparable with the map; empty if it is."""
    unseen = _unseen_bytes(plan, layout, measurement)
    if not unseen or not layout.calls:
        return ""
    at = replace(plan, batch=measurement.batch, has_rows=False)
    whole = estimate(layout, at).transient_bytes
    seen = estimate(layout, replace(at, unseen_bytes=unseen)).transient_bytes
    took = max(0, measurement.peak_bytes - _base(layout, plan, measurement))
    if seen >= _SEEN_SHARE * whole and took >= _LEAST_FACTOR * seen:
        return ""
    larger = max(took, whole)
    seen_text = binary_size(took, unit_of=larger)
    whole_text = binary_size(whole, unit_of=larger)
    return (
        f"the CPU allocator does not count tensors below 256 KiB: it saw {seen_text} of the"
        f" {whole_text} that a step at batch size {measurement.batch} should need; a larger batch"
        " shows more"
    )


def _uncounted_bytes(layout: ModelLayout, plan: Plan) -> int:
    """Variables and slots that the allocator of a CPU does not count, bytes."""
    slots = slots_of(plan.optimizer or layout.optimizer, layout.variables)
    small = [index for index, each in enumerate(layout.variables)
             if variable_bytes(each) < METER_BYTES]  # fmt: skip
    counters = slots.total_bytes - sum(slots.by_variable)
    return counters + sum(
        variable_bytes(layout.variables[index]) + slots.by_variable[index] for index in small
    )


def _floor(layout: ModelLayout, plan: Plan) -> int:
    """Transient part without any feature maps, bytes: nearly that of the smallest batch."""
    return estimate(
        msgspec.structs.replace(layout, calls=()), replace(plan, batch=1, has_rows=False)
    ).transient_bytes


def _base(layout: ModelLayout, plan: Plan, measurement: PeakMeasurement) -> int:
    """Bytes that stay between steps: measured, or else estimated."""
    if measurement.between_bytes is not None:
        return measurement.between_bytes
    return estimate(layout, replace(plan, batch=1, has_rows=False)).resident_bytes


def _unseen_bytes(plan: Plan, layout: ModelLayout, measurement: PeakMeasurement) -> int:
    """Size below which the measured allocator does not count tensors, bytes."""
    is_tensorflow = (plan.backend or backend_of(layout)) != "torch" and layout.backend != "jax"
    return METER_BYTES if measurement.device == "CPU" and is_tensorflow else 0


_ONE_BATCH_MARGINS: Final = (0.50, 0.70)
_MORE_MARGINS: Final = (0.30, 0.60)
_UNKNOWN_MARGIN: Final = 0.50
"""Further margin where there is no rule for a layer or the step.

The margins above are upwards of the transient part, near the measurements and beyond; downwards
half of them applies. Source: `bench_calibration`, and others.
"""

_NEAR: Final = 4.0
_NEARER: Final = 2.0

_SCATTER: Final = 0.08
"""Scatter of a training's peak over nine of ten starts, as a fraction. Source: as above."""

_TRUST: Final = 0.15
"""Relative error of the slope from one batch size. Source: `bench_calibration`."""

_WORTH_NOTING: Final = 2**20
_MORE: Final = (
    "of resident memory is neither weights nor optimizer state; it may be data on the device"
    " or another model, for example"
)
_OF_THE_METER: Final = (
    "the CPU allocator does not count tensors below 256 KiB: the estimate adds them"
)


class Calibration:
    """Estimate of one training for any batch size, corrected by measurements.

    With one batch size the curve is that of the rules: moved through the measurement, and steeper
    by the ratio of measured to estimated transient part. A ratio below 1 is only half applied (its
    square root): small batches fall short for reasons that vanish as they grow. With more batch
    sizes, the slope between the measurements is used, weighted by how far their distance exceeds
    the scatter of equal steps.
    """

    def __init__(
        self, layout: ModelLayout, plan: Plan, measured: Sequence[PeakMeasurement]
    ) -> None:
        """Weigh the measurements.

        Args:
            plan: Training plan; its batch is ignored.
            measured: Measurements; those of fewer than `STEPS_NEEDED` steps are left out.

        Raises:
            NotIdentifiable: No measurement depends on feature maps.
        """
        usable = _usable(layout, plan, measured)
        self._layout = layout
        unseen = _unseen_bytes(plan, layout, usable[-1])
        self._seen = replace(plan, unseen_bytes=unseen, has_rows=False)
        self._plan = plan
        self._floor_bytes = _floor(layout, self._seen)
        by_batch = {each.batch: each for each in sorted(usable, key=lambda each: each.peak_bytes)}
        self._measured = [by_batch[batch] for batch in sorted(by_batch)]
        bases = [_base(layout, plan, each) for each in self._measured]
        # The map is of all tensors, whatever an allocator counts.
        uncounted = [_uncounted_bytes(layout, plan) if unseen and each.between_bytes is not None
                     else 0 for each in self._measured]  # fmt: skip
        self._bases = [
            (each.batch, base + more)
            for each, base, more in zip(self._measured, bases, uncounted, strict=True)
        ]
        # For each batch, the estimate and the measurement of the memory beyond the part that
        # stays between steps.
        self._points = [
            (self._estimated_bytes(each.batch), each.peak_bytes - base)
            for each, base in zip(self._measured, bases, strict=True)
        ]
        self._steepness = self._slope()

    @property
    def batches(self) -> tuple[int, ...]:
        """Measured batch sizes, rising."""
        return tuple(each.batch for each in self._measured)

    def at(self, batch: int) -> MemoryMap:
        """The corrected estimate at a batch size."""
        found = estimate(self._layout, replace(self._plan, batch=batch))
        seen = self._estimated_bytes(batch)
        transient = int(max(self._floor_bytes, self._transient(seen)))
        transient += max(0, found.transient_bytes - seen)
        margin = self._margin(batch)
        base = max(_along(self._bases, batch), found.parameter_bytes + found.slot_bytes)
        layers = rescaled(found.layers, transient, base) if self._plan.has_rows else ()
        is_known = not (found.uncovered or self._layout.why_no_calls)
        most = transient * (1 + margin + (0 if is_known else _UNKNOWN_MARGIN))
        return msgspec.structs.replace(
            found,
            peak_bytes=base + transient,
            low_bytes=base + int(transient * (1 - margin / 2)),
            high_bytes=base + int(most) if self._layout.calls else None,
            resident_bytes=base,
            transient_bytes=transient,
            kept_bytes=sum(each.kept_bytes for each in layers),
            layers=layers,
            tier=2 if len(self._measured) == 1 else 1,
            method=self._description(),
            notes=(*self._notes_of_rules(found), *self._note(found, base)),
        )

    def _notes_of_rules(self, found: MemoryMap) -> tuple[str, ...]:
        """Notes of the rules, without those on parts that are now measured."""
        backend = self._plan.backend or backend_of(self._layout)
        unmeasured_texts = {each.text for each in unmeasured(self._layout, backend)}
        return tuple(each for each in found.notes if each not in unmeasured_texts)

    def _estimated_bytes(self, batch: int) -> int:
        return estimate(self._layout, replace(self._seen, batch=batch)).transient_bytes

    def _slope(self) -> float:
        """Slope of measured bytes per byte estimated by the rules."""
        estimated, took = self._points[-1]
        kappa = took / estimated
        believed = max(kappa, math.sqrt(kappa))
        xs, ys = zip(*self._points, strict=True)
        if len(set(xs)) == 1:
            return believed
        spread = statistics.pstdev(xs) * math.sqrt(len(xs))
        certain = (spread / (_SCATTER * (self._bases[-1][1] + took))) ** 2
        assumed = 1 / (_TRUST * believed) ** 2
        line = statistics.linear_regression(xs, ys)
        return max(0.0, (certain * line.slope + assumed * believed) / (certain + assumed))

    def _transient(self, estimated: int) -> float:
        """Transient bytes: interpolated between measured sizes, beyond them by the slope."""
        for (x0, y0), (x1, y1) in itertools.pairwise(self._points):
            if x0 <= estimated <= x1 and x0 < x1:
                return y0 + (y1 - y0) * (estimated - x0) / (x1 - x0)
        x, y = self._points[0] if estimated < self._points[0][0] else self._points[-1]
        return y + self._steepness * (estimated - x)

    def _margin(self, batch: int) -> float:
        first = self._measured[0].batch
        last = self._measured[-1].batch
        ratio = max(batch / last, first / batch, 1.0)
        if len(self._measured) > 1:
            return _MORE_MARGINS[ratio > _NEARER]
        return _ONE_BATCH_MARGINS[ratio > _NEAR]

    def _description(self) -> str:
        sizes = ", ".join(str(each.batch) for each in self._measured)
        device = self._measured[-1].device
        on = f" on {device}" if device else ""
        if len(self._measured) > 1:
            return f"measured at batch sizes {sizes}{on}"
        estimated, took = self._points[0]
        return f"estimate scaled by {took / estimated:.2f}, measured at batch size {sizes}{on}"

    def _note(self, found: MemoryMap, base: int) -> tuple[str, ...]:
        if self._measured[-1].between_bytes is None:
            return ()
        more = base - found.resident_bytes
        note = () if more < _WORTH_NOTING else (f"{binary_size(more)} {_MORE}",)
        return (*note, _OF_THE_METER) if self._seen.unseen_bytes else note


def _along(points: Sequence[tuple[int, int]], batch: int) -> int:
    """Bytes that stay between steps at a batch size, with the data, which grow with the batch.

    Args:
        points: Batch sizes, ascending, and bytes that stay.
        batch: Batch size; beyond the outermost points the line through the nearest two continues.
    """
    if len(points) == 1:
        return points[0][1]
    nearest = max(1, min(bisect.bisect(points, (batch, 0)), len(points) - 1))
    (x0, y0), (x1, y1) = points[nearest - 1 : nearest + 1]
    return max(0, y0 + (y1 - y0) * (batch - x0) // (x1 - x0))
