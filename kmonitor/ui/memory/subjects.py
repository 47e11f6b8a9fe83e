"""Subjects of the memory map: a run or a model file, with its model in one or more input sizes.

A file's subject is refined while a child process reads it: loading, refused, or described.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from kmonitor.memory.calibration import PeakMeasurement
from kmonitor.memory.tensor_sizes import is_open
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.model_layout import ModelLayout

SCALES: Final = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 4.0)
"""Input scales that the user can choose, if the model accepts them."""

Missing = Literal["custom", "config", ""]
"""Missing file that would help: the model's own classes, or its architecture."""


@dataclass(frozen=True, slots=True)
class SizedLayout:
    """The model described with one size of its inputs.

    Attributes:
        label: The size, for example "224 x 224 x 3".
        layout: The description.
    """

    label: str
    layout: ModelLayout


@dataclass(frozen=True, slots=True)
class MeasuredPeak:
    """The measured peak of exactly this training.

    Attributes:
        peak_bytes: Highest use by the framework's allocator; None: not measured.
        source: Source of the number, or the reason why there is none.
        batch: Examples per step; 0: the subject's batch.
    """

    peak_bytes: float | None = None
    source: str = ""
    batch: int = 0


@dataclass(frozen=True, slots=True)
class MapSubject:
    """A model and its training, as far as they are known.

    Attributes:
        key: Id of the run, or path of the file.
        title: Name of the run or file.
        sizes: Model by input size, the smallest first; empty if the model is not described.
        own: Index of the model's own size, or of the size shown first.
        is_own_size_known: True if `own` is the model's own size; False if the model leaves its
            length open.
        is_sequence: True if a size is the length of a sequence.
        why_none: Reason why there is no description, or not yet.
        remedy: Remedy for the missing description; empty if none is needed.
        why_one_size: Reason why there is only one input size, or not yet others.
        batch: Examples per step in the training.
        measured: Measurements of this training, to correct the estimate.
        why_unmeasured: Reason why measurements do not correct the estimate; may be empty.
        limit_bytes: Limit on memory of the framework's allocator; None: not known.
    """

    key: str
    title: str
    kind: Literal["run", "file"]
    sizes: tuple[SizedLayout, ...] = ()
    own: int = 0
    is_own_size_known: bool = True
    is_sequence: bool = False
    why_none: str = ""
    remedy: str = ""
    why_one_size: str = ""
    batch: int = 32
    measured: tuple[PeakMeasurement, ...] = ()
    why_unmeasured: str = ""
    measured_peak: MeasuredPeak = MeasuredPeak()
    limit_bytes: int | None = None


def file_loading(path: Path) -> MapSubject:
    return MapSubject(
        key=str(path),
        title=path.name,
        kind="file",
        why_none=tr("Creating the model, without weights, in a separate process…"),
        remedy=tr("This takes a few seconds, mostly to start the framework."),
    )


def file_refused(path: Path, what: str, remedy: str) -> MapSubject:
    """Return the subject for a file without a map, with the remedy."""
    match missing_of(remedy):
        case "custom":
            remedy = tr(
                "Choose the Python file with the model's classes; it runs in a separate process. "
                "Code inside the model file runs only with kmonitor map --allow-code."
            )
        case "config":
            remedy = tr("Choose the model's architecture, a JSON file from model.to_json().")
        case _:
            remedy = translated_text(remedy)
    return replace(file_loading(path), why_none=translated_text(what), remedy=remedy)


def missing_of(remedy: str) -> Missing:
    """Missing file that would help, derived from the options in the remedy."""
    if "--custom" in remedy:
        return "custom"
    return "config" if "--config" in remedy else ""


def file_described(
    path: Path, layouts: Sequence[tuple[float, ModelLayout]], *, is_whole: bool = True
) -> MapSubject:
    """Return the subject for a file whose model is described.

    Args:
        layouts: Descriptions with the scale of their inputs; the model's own size first.
        is_whole: True if other sizes have been tried already.
    """
    # Where the model leaves lengths open only the descriptions with lengths are of use.
    closed_layouts = [each for each in layouts if not is_open(each[1])] or list(layouts[:1])
    by_scale = dict(sorted(closed_layouts, key=lambda each: each[0]))
    scales = list(by_scale)
    own = scales.index(1.0) if 1.0 in by_scale else 0
    first = by_scale[scales[own]]
    return MapSubject(
        key=str(path),
        title=path.name,
        kind="file",
        sizes=tuple(
            SizedLayout(_input_size_label(layout), layout) for layout in by_scale.values()
        ),
        own=own,
        is_own_size_known=not any(is_open(layout) for _, layout in layouts),
        is_sequence=all(len(first.tensors[each].shape) <= 3 for each in first.inputs),  # noqa: PLR2004 - batch, steps, features
        why_one_size=tr("this model accepts no others, or Keras is not installed")
        if is_whole
        else tr("trying others in a separate process…"),
    )


def _input_size_label(layout: ModelLayout) -> str:
    shapes = [layout.tensors[each].shape[1:] for each in layout.inputs]
    return input_size_text([[n for n in shape if n is not None] for shape in shapes[:1]])


def input_size_text(shapes: Sequence[Sequence[int]]) -> str:
    """Sizes of inputs: "224 x 224 x 3"."""
    return ", ".join(" \u00d7 ".join(map(str, shape)) for shape in shapes)
