"""The memory map that is shown: its question, the estimate so far, and the page's heading.

An estimate takes long with its curve and advice, so it is worked out in steps between which the
main thread paints.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kmonitor.memory.calibration import (
    NotIdentifiable,
    PeakMeasurement,
    best_estimate,
    estimate_by_batch,
)
from kmonitor.memory.estimate import MemoryMap, Plan
from kmonitor.memory.tensor_sizes import OpenShape
from kmonitor.memory.what_if import BatchFit, BatchPeak, PeakReduction, advising, searching_batches
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

POINTS: Final = 13
"""Points of the curve; between them it is a line, with at most one bend."""

_FURTHER: Final = 2.0
_FURTHEST: Final = 64


@dataclass(slots=True)
class MapEstimate:
    """The answer so far to one question.

    Attributes:
        found: The map; None until it is worked out, and where it cannot be.
        why_not: Why there is none.
        calibration: Why measured peaks do not correct it; empty where they do or there are none.
        points: Of the curve of the peak over the batch, rising; empty until it is worked out.
        fit: The largest batches within the limit; None until then, and without a limit.
        advice: Changes that would lower the peak.
        is_whole: Whether all of it is there.
    """

    found: MemoryMap | None = None
    why_not: str = ""
    calibration: str = ""
    points: tuple[BatchPeak, ...] = ()
    fit: BatchFit | None = None
    advice: tuple[PeakReduction, ...] = ()
    is_whole: bool = False


class MapEstimator:
    """Works out what is shown, in steps of one estimate each; main thread only.

    Attributes:
        subject: The run or file; None: none is shown.
        what_if: The question about it.
        map_estimate: The answer so far; curve, fit and advice of the question before stay until
            the new ones are there.
    """

    def __init__(self) -> None:
        self.subject: MapSubject | None = None
        self.what_if = WhatIf()
        self.map_estimate = MapEstimate()
        self._work: Generator[None] | None = None

    def show(self, subject: MapSubject) -> bool:
        """Show this subject; the question stays if it is the same one.

        Returns:
            True if there is something to work out.
        """
        before, self.subject = self.subject, subject
        if before == subject:
            return False
        if before is None or before.key != subject.key or not before.sizes:
            self.what_if = trained_what_if(subject)
            self.map_estimate = MapEstimate()
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
        """Ask about another training; the names are those of `WhatIf`."""
        self.what_if = replace(self.what_if, **changed)
        self._begin()

    def reset(self) -> None:
        """Ask about the training as it is."""
        if self.subject is not None:
            self.what_if = trained_what_if(self.subject)
            self._begin()

    @property
    def layout(self) -> ModelLayout | None:
        """The description that is asked about."""
        if self.subject is None or not self.subject.sizes:
            return None
        return self.subject.sizes[self.what_if.size].layout

    def step(self) -> bool:
        """Work out a little more; False when all is there."""
        if self._work is None:
            return False
        try:
            next(self._work)
        except StopIteration:
            self._work = None
        return self._work is not None

    def finish(self) -> None:
        """Work out all of it."""
        while self.step():
            pass

    def _begin(self) -> None:
        """Start over; the map itself is worked out at once."""
        self._work = None
        layout = self.layout
        subject = self.subject
        before = self.map_estimate
        self.map_estimate = MapEstimate(points=before.points, fit=before.fit, advice=before.advice)
        if layout is None or subject is None:
            self.map_estimate = MapEstimate(
                why_not=subject.why_none if subject is not None else ""
            )
            return
        plan = self.what_if.plan(layout)
        measured = self._measured(layout)
        try:
            try:
                self.map_estimate.found = best_estimate(layout, plan, measured)
            except NotIdentifiable as exc:
                self.map_estimate.calibration = translated_text(exc.why)
                measured = ()
                self.map_estimate.found = best_estimate(layout, plan)
        except OpenShape as exc:
            self.map_estimate = MapEstimate(why_not=_open_shape_text(exc))
            return
        self._work = self._rest(layout, plan, measured)

    def _measured(self, layout: ModelLayout) -> Sequence[PeakMeasurement]:
        """Measurements that correct this estimate: none if the question is another training."""
        subject = self.subject
        if subject is None or not layout.calls:
            return ()
        if not subject.measured:
            self.map_estimate.calibration = subject.why_unmeasured
            return ()
        if not is_as_trained(subject, self.what_if):
            self.map_estimate.calibration = tr(
                "what was measured is of another training than this"
            )
            return ()
        return subject.measured

    def _rest(
        self, layout: ModelLayout, plan: Plan, measured: Sequence[PeakMeasurement]
    ) -> Generator[None]:
        """Fit, curve and advice, a little at a time."""
        answer = self.map_estimate
        subject = self.subject
        limit = device_limit_bytes(subject, self.what_if) if subject is not None else None
        yield
        if limit is not None and layout.calls:
            answer.fit = yield from searching_batches(layout, plan, limit, measured)
        else:
            answer.fit = None
        points: list[BatchPeak] = []
        estimate_batch = estimate_by_batch(layout, plan, measured)
        for batch in _batches(plan.batch, answer.fit) if layout.calls else ():
            yield
            each = estimate_batch(batch)
            points.append(BatchPeak(batch, each.peak_bytes, each.low_bytes, each.high_bytes))
        answer.points = tuple(points)
        inputs = smaller_input_layouts(subject, self.what_if) if subject is not None else {}
        answer.advice = yield from advising(layout, plan, inputs)
        answer.is_whole = True


def _batches(batch: int, fit: BatchFit | None) -> list[int]:
    """Where the curve is worked out: from 1 to beyond the batch and, if it is near, the limit."""
    likely = fit.likely if fit is not None and fit.likely else 0
    last = max(_FURTHER * batch, min(1.25 * likely, _FURTHEST * batch), POINTS)
    found = {round(1 + (last - 1) * n / (POINTS - 1)) for n in range(POINTS)}
    return sorted(found | {batch})


def _open_shape_text(exc: OpenShape) -> str:
    shape = ", ".join("?" if length is None else str(length) for length in exc.shape)
    return tr(
        "The model leaves a length open: a tensor has the shape ({shape}). Choose a length."
    ).format(shape=shape)


@dataclass(frozen=True, slots=True)
class MapPageState:
    """Heading of the page.

    Attributes:
        title: Name of the run or file.
        subtitle: What it is.
        is_filled: There is a map; else `text` is shown in its place.
        text: Why there is none, or what is going on.
        remedy: What to do about it.
        has_device: There is a device to show.
        has_file: It is a file, which can be inspected and loaded.
    """

    title: str
    subtitle: str
    is_filled: bool
    text: str
    remedy: str
    has_device: bool
    has_file: bool


def map_page_state(estimator: MapEstimator) -> MapPageState:
    """The heading for the subject that is shown."""
    subject = estimator.subject
    found = estimator.map_estimate.found
    if subject is None:
        return MapPageState(
            title=tr("Memory map"),
            subtitle="",
            is_filled=False,
            text=tr("No run is selected."),
            remedy=tr("Select one, or open a model file: .keras, .h5, or a model's .json."),
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
