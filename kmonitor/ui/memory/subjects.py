"""Whose memory map is shown, and what about its training can be changed to ask "what if"."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from kmonitor.memory.calibration import Measured
from kmonitor.memory.effects import Backend
from kmonitor.memory.estimate import Plan, backend_of
from kmonitor.memory.optimizer_slots import OPTIMIZERS
from kmonitor.ui.text.formats import round_bytes_text
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
        words: The size, for example "224 x 224 x 3".
        layout: The description.
    """

    words: str
    layout: ModelLayout


@dataclass(frozen=True, slots=True)
class Reading:
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
        is_own_told: Whether it is the model's own; False where the model leaves its length open.
        is_sequence: Whether a size is the length of a sequence.
        why_none: Why there is no description, or not yet, in words.
        remedy: What to do about it; empty where nothing is to be done.
        why_one_size: Why there is one input size alone, or not yet others.
        batch: Examples a step as it is trained.
        measured: Of this training, to correct the estimate by.
        why_unmeasured: Why what was measured does not correct it; may be empty.
        reading: The peak as it was measured.
        limit_bytes: What the framework's allocator may take; None: not known.
    """

    key: str
    title: str
    kind: Literal["run", "file"]
    sizes: tuple[SizedLayout, ...] = ()
    own: int = 0
    is_own_told: bool = True
    is_sequence: bool = False
    why_none: str = ""
    remedy: str = ""
    why_one_size: str = ""
    batch: int = 32
    measured: tuple[Measured, ...] = ()
    why_unmeasured: str = ""
    reading: Reading = Reading()
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


def usual(subject: MapSubject) -> WhatIf:
    """The training as it is."""
    return WhatIf(batch=subject.batch, size=subject.own)


def is_as_trained(subject: MapSubject, asked: WhatIf) -> bool:
    """Whether nothing but the batch and the device is another than in the training."""
    return replace(asked, batch=subject.batch, limit_bytes=0) == usual(subject)


def batch_choices(subject: MapSubject) -> tuple[int, ...]:
    """The sizes of a batch that are offered, with the training's own."""
    return tuple(sorted({*_USUAL_BATCHES, subject.batch}))


def limit_of(subject: MapSubject, asked: WhatIf) -> int | None:
    """The device's limit, bytes; None: none is known."""
    return asked.limit_bytes or subject.limit_bytes


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


def smaller_inputs(subject: MapSubject, asked: WhatIf) -> dict[str, ModelLayout]:
    """Models with smaller inputs than the one asked about, by words for the change."""
    words = tr("sequences of {size}") if subject.is_sequence else tr("inputs of {size}")
    return {words.format(size=each.words): each.layout for each in subject.sizes[: asked.size]}


def size_words(shapes: Sequence[Sequence[int]]) -> str:
    """Sizes of inputs as they are read: "224 x 224 x 3"."""
    return ", ".join(" \u00d7 ".join(map(str, shape)) for shape in shapes)


def _optimizer(key: str, *, has_scaling: bool) -> OptimizerLayout | None:
    if not key:
        return None
    kind, _, setting = key.partition("-")
    settings = {"momentum": 0.9} if setting else {}
    return OptimizerLayout(kind, dict(settings), loss_scaling=has_scaling)
