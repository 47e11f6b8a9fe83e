"""A run as the subject of a memory map: its model, its batch, and its measurements."""

from dataclasses import replace

import msgspec

from kmonitor.memory.estimate import Plan
from kmonitor.memory.tensor_sizes import OpenShape, is_open, with_length
from kmonitor.ui.memory.device_split import DeviceSplitState, ResidentMemory, device_split_state
from kmonitor.ui.memory.map_estimator import MapEstimator
from kmonitor.ui.memory.subjects import MapSubject, MeasuredPeak, SizedLayout
from kmonitor.ui.text.formats import bytes_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.model_layout import ModelLayout
from kmonitor_agent.wire.messages.unions import RunSummary
from kmonitor_agent.wire.messages.view_messages import ENDED_STATES

_USUAL_BATCH = 32
_NOT_MEASURED = 3
_LENGTHS = (32, 64, 96, 128, 160, 192, 256, 512, 1024, 2048)
_USUAL_LENGTH = 128
"""Sequence length if the model leaves it open, as for a file."""


def run_subject(workspace: Workspace, run: RunSummary) -> MapSubject:
    layout = workspace.models.layout(run.run)
    if layout is not None and not layout.backend:
        layout = msgspec.structs.replace(layout, backend=run.backend)
    subject = MapSubject(
        key=run.run,
        title=run.name,
        kind="run",
        batch=_batch(workspace, run),
        measured_peak=_reading(workspace, run.run),
        limit_bytes=int(run.vram.of) if run.vram.of else None,
    )
    if layout is None:
        return replace(subject, why_none=_why_none(run))
    if is_open(layout):
        return _of_open_length(subject, layout)
    return replace(
        subject,
        sizes=(SizedLayout("", layout),),
        why_one_size=tr("a run reports its model for one size; open the model file for others"),
        measured=workspace.models.measured(layout, Plan(subject.batch)),
    )


def _of_open_length(subject: MapSubject, layout: ModelLayout) -> MapSubject:
    """Subject with its model at several lengths: a run does not report the length of its data."""
    try:
        sizes = tuple(SizedLayout(str(each), with_length(layout, each)) for each in _LENGTHS)
    except OpenShape:
        return replace(
            subject,
            why_none=tr(
                "The run's model has a variable-length input, and one of its layers may change"
                " that length."
            ),
            remedy=tr("Open the model file to try other lengths."),
        )
    return replace(
        subject,
        sizes=sizes,
        own=_LENGTHS.index(_USUAL_LENGTH),
        is_own_size_known=False,
        is_sequence=True,
        why_unmeasured=tr("the run does not report the length of its sequences"),
    )


def run_device_split(
    workspace: Workspace, run: RunSummary, of_map: MapEstimator
) -> DeviceSplitState:
    found = of_map.map_estimate.found
    is_it = of_map.subject is not None and of_map.subject.key == run.run
    if found is None or not is_it:
        memory = ResidentMemory(None, tr("the run has not reported its model"))
    else:
        template = (
            tr("weights {weights} and optimizer {slots}, from the model's variables")
            if found.tier == _NOT_MEASURED
            else tr(
                "measured between steps; weights {weights}, optimizer {slots}, data and other"
                " memory"
            )
        )
        text = template.format(
            weights=bytes_text(found.parameter_bytes), slots=bytes_text(found.slot_bytes)
        )
        memory = ResidentMemory(found.resident_bytes, text)
    return device_split_state(workspace.readings(run.run), memory, run.backend)


def with_measured(workspace: Workspace, subject: MapSubject) -> MapSubject:
    """Add measurements of the same training, from the known runs, to a file's subject."""
    if not subject.sizes:
        return subject
    layout = subject.sizes[subject.own].layout
    return replace(subject, measured=workspace.models.measured(layout, Plan(subject.batch)))


def _batch(workspace: Workspace, run: RunSummary) -> int:
    fits = workspace.models.fits(run.run)
    last_fit_batch = fits[-1].batch if fits else None
    return run.batch_size or last_fit_batch or _USUAL_BATCH


def _reading(workspace: Workspace, run: str) -> MeasuredPeak:
    """Peak of the newest fit's first steps; else the highest sampled value."""
    fits = workspace.models.fits(run)
    measured = fits[-1].peak_measurement if fits else None
    if measured is not None:
        template = tr("the framework's allocator on {device}, first {n} steps")
        source = template.format(device=measured.device or tr("the device"), n=measured.steps)
        return MeasuredPeak(measured.peak_bytes, source, measured.batch)
    readings = workspace.readings(run)
    peak = readings.value("allocator_peak_bytes")
    source = readings.source("allocator_peak_bytes")
    source_text = "" if source is None else source.source or source.absent
    unknown = tr("not reported by this run") if peak is None else tr("source unknown")
    return MeasuredPeak(peak, source_text or unknown)


def _why_none(run: RunSummary) -> str:
    if run.state in ENDED_STATES:
        return tr(
            "This run ended before it reported its model, or its version of kmonitor was too old "
            "to do so."
        )
    return tr(
        "This run has not reported its model yet; it will do so when the model is built, no "
        "later than the first step."
    )
