"""The memory map that is shown: its question, the estimate so far, and the page's heading.

An estimate with its curve and advice takes long, so it is computed in steps between which the main
thread paints.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kmonitor.memory.calibration import PeakMeasurement
from kmonitor.memory.map_result import MapQuestion, MapResult, begin_map, completing
from kmonitor.memory.tensor_sizes import OpenShape
from kmonitor.ui.memory.subjects import MapSubject
from kmonitor.ui.memory.what_if import (
    WhatIf,
    device_limit_bytes,
    is_as_trained,
    smaller_input_layouts,
    trained_what_if,
)
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.model_layout import ModelLayout


class MapEstimator:
    """Computes the displayed estimate in short steps; main thread only.

    Attributes:
        subject: Run or file; None: none is shown.
        what_if: Question about the subject.
        map_estimate: Estimate so far; curve, fit and advice of the previous question stay until
            the new ones are ready.
    """

    def __init__(self) -> None:
        self.subject: MapSubject | None = None
        self.what_if = WhatIf()
        self.map_estimate = MapResult()
        self._work: Generator[None] | None = None

    def show(self, subject: MapSubject) -> bool:
        """Show this subject; the question stays if the subject is the same.

        Returns:
            True if something remains to compute.
        """
        before, self.subject = self.subject, subject
        if before == subject:
            return False
        if before is None or before.key != subject.key or not before.sizes:
            self.what_if = trained_what_if(subject)
            self.map_estimate = MapResult()
        else:
            has_own_batch = self.what_if.batch == before.batch
            batch = subject.batch if has_own_batch else self.what_if.batch
            is_in = before.sizes == subject.sizes
            self.what_if = replace(
                self.what_if, batch=batch, size=self.what_if.size if is_in else subject.own
            )
        self._begin()
        return True

    def choose(self, **changed: Any) -> None:
        """Change the question; the names are those of `WhatIf`."""
        self.what_if = replace(self.what_if, **changed)
        self._begin()

    def reset(self) -> None:
        """Reset the question to the training as it is."""
        if self.subject is not None:
            self.what_if = trained_what_if(self.subject)
            self._begin()

    @property
    def layout(self) -> ModelLayout | None:
        """Description of the model to estimate."""
        if self.subject is None or not self.subject.sizes:
            return None
        return self.subject.sizes[self.what_if.size].layout

    def step(self) -> bool:
        """Compute the next step; False if the estimate is complete."""
        if self._work is None:
            return False
        try:
            next(self._work)
        except StopIteration:
            self._work = None
        return self._work is not None

    def finish(self) -> None:
        """Compute the rest of the estimate."""
        while self.step():
            pass

    def _begin(self) -> None:
        """Restart; the map itself is computed at once."""
        self._work = None
        layout = self.layout
        subject = self.subject
        before = self.map_estimate
        if layout is None or subject is None:
            self.map_estimate = MapResult(why_not=subject.why_none if subject is not None else "")
            return
        measured, why_unmeasured = self._measured(layout)
        question = MapQuestion(
            layout,
            self.what_if.plan(layout),
            measured,
            device_limit_bytes(subject, self.what_if),
            smaller_input_layouts(subject, self.what_if),
        )
        try:
            result = begin_map(question)
        except OpenShape as exc:
            self.map_estimate = MapResult(why_not=_open_shape_text(exc))
            return
        result.uncorrected = translated_text(result.uncorrected) or why_unmeasured
        # Curve, limit and advice of before stay until the new ones are there.
        result.points = before.points
        result.fit = before.fit
        result.advice = before.advice
        self.map_estimate = result
        self._work = completing(question, result)

    def _measured(self, layout: ModelLayout) -> tuple[Sequence[PeakMeasurement], str]:
        """Measurements that correct this estimate, or why none do; both may be empty."""
        subject = self.subject
        if subject is None or not layout.calls:
            return (), ""
        if not subject.measured:
            return (), subject.why_unmeasured
        if not is_as_trained(subject, self.what_if):
            return (), tr("the measurements are from a different training run")
        return subject.measured, ""


def _open_shape_text(exc: OpenShape) -> str:
    shape = ", ".join("?" if length is None else str(length) for length in exc.shape)
    return tr(
        "The model has a variable-length input: one of its tensors has shape ({shape}). Choose"
        " a length."
    ).format(shape=shape)


@dataclass(frozen=True, slots=True)
class MapPageState:
    """Heading of the page.

    Attributes:
        title: Name of the run or file.
        subtitle: Kind and description of the subject.
        is_filled: True if there is a map; else `text` is shown in its place.
        text: Reason why there is no map, or the current progress.
        remedy: Remedy for the missing map.
        has_device: True if there is a device to show.
        has_file: True if the subject is a file, which can be inspected and loaded.
    """

    title: str
    subtitle: str
    is_filled: bool
    text: str
    remedy: str
    has_device: bool
    has_file: bool


def map_page_state(estimator: MapEstimator) -> MapPageState:
    """Return the heading for the displayed subject."""
    subject = estimator.subject
    found = estimator.map_estimate.found
    if subject is None:
        return MapPageState(
            title=tr("Memory map"),
            subtitle="",
            is_filled=False,
            text=tr("No run is selected."),
            remedy=tr("Select a run, or open a model file: .keras, .h5 or .json."),
            has_device=False,
            has_file=False,
        )
    is_run = subject.kind == "run"
    layout = estimator.layout
    kind = f" \u00b7 {layout.name} ({layout.kind})" if layout is not None else ""
    return MapPageState(
        title=subject.title,
        subtitle=(tr("Run") if is_run else tr("Model file")) + kind,
        is_filled=found is not None,
        text=estimator.map_estimate.why_not,
        remedy=subject.remedy,
        has_device=is_run,
        has_file=not is_run,
    )
