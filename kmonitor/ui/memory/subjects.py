"""Whose memory map is shown, and what about its training can be changed to ask "what if"."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from kmonitor.memory.calibration import PeakMeasurement
from kmonitor.memory.estimate import Plan, backend_of
from kmonitor.memory.layer_rules import Backend
from kmonitor.memory.optimizer_slots import OPTIMIZERS
from kmonitor.memory.tensor_sizes import is_open
from kmonitor.ui.text.formats import round_bytes_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import later, tr
from kmonitor_agent.wire.messages.model_layout import ModelLayout, OptimizerLayout

GIB: Final = 2**30

PRECISIONS: Final = ("float32", "mixed_float16", "mixed_bfloat16", "float16", "bfloat16")
"""Policies that are offered."""

_BACKENDS: Final[dict[Backend, str]] = {
    "tensorflow": later("TensorFlow"),
    "xla": later("XLA (JAX, jit_compile)"),
    "torch": later("PyTorch"),
}
_OPTIMIZER_TITLES: Final = {
    "adam": "Adam",
    "adamw": "AdamW",
    "sgd": "SGD",
    "sgd-momentum": "SGD, momentum",
    "rmsprop": "RMSprop",
    "lion": "Lion",
    "adafactor": "Adafactor",
    "nadam": "Nadam",
    "adamax": "Adamax",
    "adagrad": "Adagrad",
    "lamb": "Lamb",
}
_USUAL_BATCHES: Final = (
    1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096,
)  # fmt: skip
_DEVICES_GIB: Final = (4, 6, 8, 11, 12, 16, 24, 32, 40, 48, 80, 141)


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
    """What was measured of this very training; None where nothing was.

    Attributes:
        peak_bytes: The highest use by the framework's allocator.
        source: Where the figure comes from, or why there is none.
        batch: Examples a step; 0: the subject's.
    """

    peak_bytes: float | None = None
    source: str = ""
    batch: int = 0


@dataclass(frozen=True, slots=True)
class MapSubject:
    """A model and how it is trained, as far as that is known.

    Attributes:
        key: Id of the run, or path of the file.
        title: Its name.
        kind: What it is.
        sizes: The model by input size, the smallest first; empty where it is not described.
        own: Which of them is the model's own, or is shown first.
        is_own_size_known: Whether it is the model's own; False where the model leaves its length
            open.
        is_sequence: Whether a size is the length of a sequence.
        why_none: Why there is no description, or not yet, in words.
        remedy: What to do about it; empty where nothing is to be done.
        why_one_size: Why there is one input size alone, or not yet others.
        batch: Examples a step as it is trained.
        measured: Of this training, to correct the estimate by.
        why_unmeasured: Why what was measured does not correct it; may be empty.
        measured_peak: The peak as it was measured.
        limit_bytes: What the framework's allocator may take; None: not known.
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


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What is asked about.

    Attributes:
        batch: Examples a step.
        size: Which of the subject's input sizes.
        optimizer: A key of `optimizer_choices`; empty: the model's own.
        precision: A dtype policy; empty: the model's own.
        backend: How a step is computed; empty: as described.
        limit_bytes: Of the device; 0: the subject's own.
    """

    batch: int = 32
    size: int = 0
    optimizer: str = ""
    precision: str = ""
    backend: Backend | Literal[""] = ""
    limit_bytes: int = 0

    def plan(self, layout: ModelLayout) -> Plan:
        """The same as the estimator takes it."""
        policy = self.precision or layout.precision
        return Plan(
            self.batch,
            _optimizer(self.optimizer, has_scaling=policy == "mixed_float16"),
            self.precision or None,
            self.backend or None,
        )


def trained_what_if(subject: MapSubject) -> WhatIf:
    """The training as it is."""
    return WhatIf(batch=subject.batch, size=subject.own)


def is_as_trained(subject: MapSubject, what_if: WhatIf) -> bool:
    """Whether nothing but the batch and the device is another than in the training."""
    return replace(what_if, batch=subject.batch, limit_bytes=0) == trained_what_if(subject)


def batch_choices(subject: MapSubject) -> tuple[int, ...]:
    """The sizes of a batch that are offered, with the training's own."""
    return tuple(sorted({*_USUAL_BATCHES, subject.batch}))


def device_limit_bytes(subject: MapSubject, what_if: WhatIf) -> int | None:
    """The device's limit, bytes; None: none is known."""
    return what_if.limit_bytes or subject.limit_bytes


def optimizer_choices(layout: ModelLayout) -> dict[str, str]:
    """Titles by key; the first is the model's own."""
    own = layout.optimizer.kind if layout.optimizer is not None else tr("none")
    others = {
        key: title
        for key, title in _OPTIMIZER_TITLES.items()
        if key.partition("-")[0] in OPTIMIZERS and title.lower() != own.lower()
    }
    return {"": tr("{name} (own)").format(name=own), **others}


def precision_choices(layout: ModelLayout) -> dict[str, str]:
    """Titles by key; the first is the model's own."""
    others = {each: each for each in PRECISIONS if each != layout.precision}
    return {"": tr("{name} (own)").format(name=layout.precision), **others}


def backend_choices(layout: ModelLayout) -> dict[str, str]:
    """Titles by key; the first is the one that the model is described on."""
    own = backend_of(layout)
    others = {key: tr(title) for key, title in _BACKENDS.items() if key != own}
    return {"": tr("{name} (own)").format(name=tr(_BACKENDS[own])), **others}


def backend_title(backend: Backend) -> str:
    """What a way to compute is called."""
    return tr(_BACKENDS[backend])


def limit_choices(subject: MapSubject) -> dict[str, str]:
    """Titles by size in bytes; the first is the run's own device, or none."""
    own = subject.limit_bytes
    title = tr("not said") if own is None else round_bytes_text(own)
    first = title if own is None else tr("{name} (own)").format(name=title)
    others = {str(n * GIB): round_bytes_text(n * GIB) for n in _DEVICES_GIB}
    return {"0": first, **others}


def smaller_input_layouts(subject: MapSubject, what_if: WhatIf) -> dict[str, ModelLayout]:
    """Models with smaller inputs than the one asked about, by words for the change."""
    template = tr("sequences of {size}") if subject.is_sequence else tr("inputs of {size}")
    return {
        template.format(size=each.label): each.layout for each in subject.sizes[: what_if.size]
    }


def input_size_text(shapes: Sequence[Sequence[int]]) -> str:
    """Sizes of inputs as they are read: "224 x 224 x 3"."""
    return ", ".join(" \u00d7 ".join(map(str, shape)) for shape in shapes)


def _optimizer(key: str, *, has_scaling: bool) -> OptimizerLayout | None:
    if not key:
        return None
    kind, _, setting = key.partition("-")
    settings = {"momentum": 0.9} if setting else {}
    return OptimizerLayout(kind, dict(settings), loss_scaling=has_scaling)


# File subject.


SCALES: Final = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 4.0)
"""Of inputs, that are offered where the model takes them."""


Missing = Literal["custom", "config", ""]
"""A file that would help: the model's own classes, or its architecture."""


def file_loading(path: Path) -> MapSubject:
    """A file that is being read."""
    return MapSubject(
        key=str(path),
        title=path.name,
        kind="file",
        why_none=tr("The model is being made, without its weights, in a process of its own\u2026"),
        remedy=tr("That takes some seconds, most of them for the framework to start."),
    )


def file_refused(path: Path, what: str, remedy: str) -> MapSubject:
    """A file of which there is no map, and what to do about it."""
    match missing_of(remedy):
        case "custom":
            remedy = tr(
                "Name the Python file with its classes: it is run in a process of its own. Code "
                "that is inside the file runs only with kmonitor map --allow-code."
            )
        case "config":
            remedy = tr("Name its architecture, a JSON file as model.to_json() writes it.")
        case _:
            remedy = translated_text(remedy)
    return replace(file_loading(path), why_none=translated_text(what), remedy=remedy)


def missing_of(remedy: str) -> Missing:
    """Which other file would help, by what the command line is told to do.

    Args:
        remedy: Of the error.
    """
    if "--custom" in remedy:
        return "custom"
    return "config" if "--config" in remedy else ""


def file_described(
    path: Path, layouts: Sequence[tuple[float, ModelLayout]], *, is_whole: bool = True
) -> MapSubject:
    """A file whose model is described.

    Args:
        path: The file.
        layouts: With the scale of their inputs; the model as it is first.
        is_whole: Whether other sizes were tried already.
    """
    # Where the model leaves lengths open only the descriptions with lengths tell anything.
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
        why_one_size=tr("this model takes no other, or Keras is not here to try")
        if is_whole
        else tr("others are being tried in a process of its own\u2026"),
    )


def _input_size_label(layout: ModelLayout) -> str:
    shapes = [layout.tensors[each].shape[1:] for each in layout.inputs]
    return input_size_text([[n for n in shape if n is not None] for shape in shapes[:1]])
