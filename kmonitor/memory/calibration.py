"""Measurements of trainings, gathered from events, and estimates corrected by them.

Tier 2: one batch size was measured; the rules give the shape of the curve, the measurement its
height. Tier 1: two or more; the peak is then a line over the batch above a floor.
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

STEPS_NEEDED: Final = 5
"""Least steps of one batch size: the first traces, and the same step differs by up to 18%."""


class PeakMeasurement(msgspec.Struct, frozen=True):
    """The peak of a training at one batch size.

    Attributes:
        batch: Examples a step.
        peak_bytes: The highest use by the framework's allocator in the steps.
        steps: How many were measured.
        between_bytes: Its use between two steps; None if that was not measured.
        device: That ran them: "CPU" or a GPU's name; empty if unknown.
    """

    batch: int
    peak_bytes: int
    steps: int = STEPS_NEEDED
    between_bytes: int | None = None
    device: str = ""


class Measurements(msgspec.Struct, frozen=True):
    """Measurements by model, backend and device, as they can be stored.

    Attributes:
        by_key: Key of `measurement_key` to the peaks.
    """

    by_key: Mapping[str, tuple[PeakMeasurement, ...]] = {}

    def with_one(self, key: str, measurement: PeakMeasurement) -> "Measurements":
        """The same with another; of one batch size the highest peak stays."""
        same = [each for each in self.by_key.get(key, ()) if each.batch == measurement.batch]
        others = [each for each in self.by_key.get(key, ()) if each.batch != measurement.batch]
        highest = max([*same, measurement], key=lambda each: each.peak_bytes)
        stored = msgspec.structs.replace(
            highest, steps=measurement.steps + sum(each.steps for each in same)
        )
        rest = {name: measurements for name, measurements in self.by_key.items() if name != key}
        return Measurements({**rest, key: (*others, stored)})

    def of(self, layout: ModelLayout, plan: Plan) -> tuple[PeakMeasurement, ...]:
        """Measurements of a model's training, on the device that was measured last.

        Args:
            plan: How it is trained; its batch does not count.
        """
        for key in reversed(list(self.by_key)):
            found = self.by_key[key]
            if key == measurement_key(layout, plan, found[-1].device):
                return found
        return ()


_COUNTS: Final = (
    "momentum", "amsgrad", "centered", "use_ema", "gradient_accumulation_steps", "global_clipnorm",
)  # fmt: skip
"""Settings of optimizers that decide what they keep; others, the learning rate, do not."""


def measurement_key(layout: ModelLayout, plan: Plan, device: str) -> str:
    """Key of measurements that follow one law: same model, training, backend and device.

    Names of layers and variables do not count: Keras numbers them again in each process.

    Args:
        plan: How it is trained; its batch does not count.
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
    """Memory of one fit, as far as its events say.

    Attributes:
        fit: Ordinal of the fit in its run.
        layout: Of its model; that of the fit before if it is the same model still. On its data's
            length, where it leaves one open and that is known.
        batch: Examples a step; None if unknown.
        peak_measurement: The peak of its first steps; None if it was not measured.
        device: That it was measured on; empty if it was not.
        open_layout: As it was sent, where `layout` is on one length; else None.
    """

    fit: int
    layout: ModelLayout
    batch: int | None
    peak_measurement: PeakMeasurement | None = None
    device: str = ""
    open_layout: ModelLayout | None = None


def fit_memories(events: Iterable[AnyEvent]) -> tuple[FitMemory, ...]:
    """The fits of one run whose model's layout is known, in order.

    Args:
        events: Of the run, in order; others than `MEMORY_EVENT_KINDS` are ignored.
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
    """As it is, where no length is known or a layer may change it."""
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
    """Measurements of fits, by model, backend and device.

    Args:
        fits: Of any runs.
    """
    found = Measurements()
    for each in fits:
        if each.peak_measurement is not None:
            key = measurement_key(each.layout, Plan(each.peak_measurement.batch), each.device)
            found = found.with_one(key, each.peak_measurement)
    return found


class NotIdentifiable(Exception):
    """The measurements say nothing about other batch sizes.

    Attributes:
        why: In words, with what to do.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def estimate_by_batch(
    layout: ModelLayout, plan: Plan, measured: Sequence[PeakMeasurement] = ()
) -> Callable[[int], MemoryMap]:
    """The estimate as a function of the batch size, corrected where something was measured.

    Args:
        plan: How it is trained; its batch does not count.
        measured: Of this training; those that do not depend on feature maps are ignored.
    """
    if usable := usable_measurements(layout, plan, measured):
        return Calibration(layout, plan, usable).at
    return lambda batch: estimate(layout, replace(plan, batch=batch))


def usable_measurements(
    layout: ModelLayout, plan: Plan, measured: Sequence[PeakMeasurement]
) -> tuple[PeakMeasurement, ...]:
    """Those that can be compared with the estimate; none if no one can.

    None either where the model leaves a length open: the length of the data is unknown.
    """
    try:
        return tuple(_usable(layout, plan, measured)) if measured else ()
    except (NotIdentifiable, OpenShape):
        return ()


_FLOOR_FACTOR: Final = 1.1
"""A transient part that is hardly above the floor of the update says nothing of feature maps."""

METER_BYTES: Final = 256 * 1024
"""TensorFlow's allocator on a CPU does not count what is smaller."""


def _usable(
    layout: ModelLayout, plan: Plan, measured: Sequence[PeakMeasurement]
) -> list[PeakMeasurement]:
    enough = [each for each in measured if each.steps >= STEPS_NEEDED]
    if not enough:
        raise NotIdentifiable(f"no batch size has been measured for at least {STEPS_NEEDED} steps")
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
"""An allocator that counts less than this of a step says little of the rest."""

_LEAST_FACTOR: Final = 0.2
"""Less than this of an estimate is no correction: something else was measured."""


def _why_not_comparable(layout: ModelLayout, plan: Plan, measurement: PeakMeasurement) -> str:
    """Why a measurement is not of what the map shows; empty where it is."""
    unseen = _unseen_bytes(plan, layout, measurement)
    if not unseen or not layout.calls:
        return ""
    at = replace(plan, batch=measurement.batch, has_rows=False)
    whole = estimate(layout, at).transient_bytes
    seen = estimate(layout, replace(at, unseen_bytes=unseen)).transient_bytes
    took = max(0, measurement.peak_bytes - _base(layout, plan, measurement))
    if seen >= _SEEN_SHARE * whole and took >= _LEAST_FACTOR * seen:
        return ""
    return (
        f"the CPU allocator does not count tensors below 256 KiB: it saw {took / 2**20:.1f} MiB"
        f" of the {whole / 2**20:.1f} MiB that a step at batch size {measurement.batch} should"
        " need; a larger batch shows more"
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
    """The transient part with no feature maps at all: that of the smallest batch, nearly."""
    return estimate(
        msgspec.structs.replace(layout, calls=()), replace(plan, batch=1, has_rows=False)
    ).transient_bytes


def _base(layout: ModelLayout, plan: Plan, measurement: PeakMeasurement) -> int:
    """Bytes that stay between steps: as measured, else by the estimate."""
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
"""Upwards of the transient part, near to what was measured and beyond, and more where there is no
rule for a layer or the step; downwards half of it. Source: `bench_calibration`, and others."""

_NEAR: Final = 4.0
_NEARER: Final = 2.0

_SCATTER: Final = 0.08
"""By which peaks of one training differ from start to start, in nine of ten. Source: as above."""

_TRUST: Final = 0.15
"""By which the slope that one batch size gives is off. Source: `bench_calibration`."""

_WORTH_NOTING: Final = 2**20
_MORE: Final = (
    "MiB of resident memory is neither weights nor optimizer state; it may be data on the device"
    " or another model, for example"
)
_OF_THE_METER: Final = (
    "the CPU allocator does not count tensors below 256 KiB: the estimate adds them"
)


class Calibration:
    """One training's estimate, corrected by what was measured of it; asked for any batch size.

    With one batch size the curve is that of the rules: moved through what was measured, and as
    much steeper as the measured part was larger than they say. Where it was smaller, half of that
    (in powers) is believed: small batches fall short for reasons that end as they grow. With more,
    the steepness is what was measured between them, as far as their distance separates it from
    the scatter of one and the same step.
    """

    def __init__(
        self, layout: ModelLayout, plan: Plan, measured: Sequence[PeakMeasurement]
    ) -> None:
        """Weigh what was measured.

        Args:
            plan: How it is trained; its batch does not count.
            measured: Each of at least `STEPS_NEEDED` steps; others are left out.

        Raises:
            NotIdentifiable: Nothing was measured that depends on feature maps.
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
        # What each took beyond what stays between steps, and what the rules say of that.
        self._points = [
            (self._estimated_bytes(each.batch), each.peak_bytes - base)
            for each, base in zip(self._measured, bases, strict=True)
        ]
        self._steepness = self._slope()

    @property
    def batches(self) -> tuple[int, ...]:
        """Batch sizes that were measured, rising."""
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
        """Without those on parts that are measured now."""
        backend = self._plan.backend or backend_of(self._layout)
        unmeasured_texts = {each.text for each in unmeasured(self._layout, backend)}
        return tuple(each for each in found.notes if each not in unmeasured_texts)

    def _estimated_bytes(self, batch: int) -> int:
        return estimate(self._layout, replace(self._seen, batch=batch)).transient_bytes

    def _slope(self) -> float:
        """Bytes for each that the rules say."""
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
        """Between measured sizes in a line from one to the next, beyond them by the slope."""
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
        return f"rules scaled by {took / estimated:.2f}, measured at batch size {sizes}{on}"

    def _note(self, found: MemoryMap, base: int) -> tuple[str, ...]:
        if self._measured[-1].between_bytes is None:
            return ()
        more = base - found.resident_bytes
        note = () if more < _WORTH_NOTING else (f"{more >> 20} {_MORE}",)
        return (*note, _OF_THE_METER) if self._seen.unseen_bytes else note


def _along(points: Sequence[tuple[int, int]], batch: int) -> int:
    """Bytes that stay between steps at a batch size: the data too, which grow with the batch.

    Args:
        points: Batch sizes, ascending, and bytes that stay.
        batch: Beyond the outermost points the line through the nearest two goes on.
    """
    if len(points) == 1:
        return points[0][1]
    nearest = max(1, min(bisect.bisect(points, (batch, 0)), len(points) - 1))
    (x0, y0), (x1, y1) = points[nearest - 1 : nearest + 1]
    return max(0, y0 + (y1 - y0) * (batch - x0) // (x1 - x0))
