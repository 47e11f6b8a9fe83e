"""A memory map's parts out of a run's events: what its fits train, and what was measured of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from kmonitor.memory.calibration import Measured, Measurements, measurement_key
from kmonitor.memory.estimate import Plan
from kmonitor.memory.open_lengths import with_length
from kmonitor.memory.tensor_sizes import OpenShape
from kmonitor_agent.wire.messages.events import AnyEvent, FitStarted, LayoutPart, StepPeak
from kmonitor_agent.wire.messages.memory_facts import layout_of_parts
from kmonitor_agent.wire.messages.model_layout import ModelLayout

KINDS = ("fit_start", "layout", "step_peak")
"""Types of the events that are looked at, as a hub is asked for them."""


@dataclass(frozen=True, slots=True)
class FitMemory:
    """What is known of the memory of one fit.

    Attributes:
        fit: Ordinal of the fit in its run.
        layout: Of its model; that of the fit before if it is the same model still. On its data's
            length, where it leaves one open and that is known.
        batch: Examples a step; None if nothing told it.
        measured: The peak of its first steps; None if it was not told.
        device: That it was measured on; empty if it was not.
        open_layout: As it was told, where `layout` is on one length; else None.
    """

    fit: int
    layout: ModelLayout
    batch: int | None
    measured: Measured | None = None
    device: str = ""
    open_layout: ModelLayout | None = None


def fit_memories(events: Iterable[AnyEvent]) -> tuple[FitMemory, ...]:
    """The fits of one run whose model's layout was told, in order.

    Args:
        events: Of the run, in order; others than `KINDS` are passed over.
    """
    parts: dict[int, list[LayoutPart]] = {}
    begun: dict[int, FitStarted] = {}
    peaks: dict[int, StepPeak] = {}
    for event in events:
        match event:
            case FitStarted():
                begun[event.fit] = event
            case LayoutPart():
                parts.setdefault(event.fit, []).append(event)
            case StepPeak():
                peaks[event.fit] = event
            case _:
                pass
    layout: ModelLayout | None = None
    found: list[FitMemory] = []
    for fit in sorted({*begun, *parts, *peaks}):
        if fit in parts:
            layout = layout_of_parts(parts[fit])
        if layout is not None:
            found.append(_memory(fit, layout, begun.get(fit), peaks.get(fit)))
    return tuple(found)


def _memory(
    fit: int, told: ModelLayout, begun: FitStarted | None, peak: StepPeak | None
) -> FitMemory:
    batch = (begun.batch_size if begun else None) or (peak.batch if peak else None)
    layout = _on_length(told, begun.sequence_length if begun else None)
    return FitMemory(
        fit,
        layout,
        batch,
        _measured(peak),
        peak.device if peak else "",
        told if layout is not told else None,
    )


def _on_length(layout: ModelLayout, length: int | None) -> ModelLayout:
    """As it is, where no length is known or a layer may change it."""
    try:
        return with_length(layout, length) if length else layout
    except OpenShape:
        return layout


def measurements_of(fits: Iterable[FitMemory]) -> Measurements:
    """What was measured in fits, by model, backend and device.

    Args:
        fits: Of any runs.
    """
    found = Measurements()
    for each in fits:
        if each.measured is not None:
            key = measurement_key(each.layout, Plan(each.measured.batch), each.device)
            found = found.with_one(key, each.measured)
    return found


def _measured(peak: StepPeak | None) -> Measured | None:
    if peak is None:
        return None
    return Measured(
        batch=peak.batch,
        peak_bytes=int(peak.peak_bytes),
        steps=peak.steps,
        between_bytes=int(peak.between_bytes),
        device=peak.device,
    )
