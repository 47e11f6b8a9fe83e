"""Questions for the memory map: a training as it is or with changes, and the possible choices."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from kmonitor.memory.estimate import Plan, backend_of
from kmonitor.memory.layer_rules import Backend
from kmonitor.memory.optimizer_slots import OPTIMIZERS
from kmonitor.ui.memory.subjects import MapSubject
from kmonitor.ui.text.formats import count_text, round_bytes_text
from kmonitor.ui.text.language import later, tr
from kmonitor_agent.wire.messages.model_layout import ModelLayout, OptimizerLayout

GIB: Final = 2**30
PRECISIONS: Final = ("float32", "mixed_float16", "mixed_bfloat16", "float16", "bfloat16")
"""Dtype policies that the user can choose."""

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
class WhatIf:
    """A training to estimate: that of the subject, with changes.

    Attributes:
        batch: Examples per step.
        size: Index of the subject's input size.
        optimizer: A key of `optimizer_choices`; empty: the model's own.
        precision: A dtype policy; empty: the model's own.
        backend: Backend and mode that compute a step; empty: as described.
        limit_bytes: Limit of the device; 0: the subject's own.
    """

    batch: int = 32
    size: int = 0
    optimizer: str = ""
    precision: str = ""
    backend: Backend | Literal[""] = ""
    limit_bytes: int = 0

    def plan(self, layout: ModelLayout) -> Plan:
        policy = self.precision or layout.precision
        return Plan(
            self.batch,
            _optimizer(self.optimizer, has_scaling=policy == "mixed_float16"),
            self.precision or None,
            self.backend or None,
        )


def _optimizer(key: str, *, has_scaling: bool) -> OptimizerLayout | None:
    if not key:
        return None
    kind, _, setting = key.partition("-")
    settings = {"momentum": 0.9} if setting else {}
    return OptimizerLayout(kind, dict(settings), loss_scaling=has_scaling)


def trained_what_if(subject: MapSubject) -> WhatIf:
    return WhatIf(batch=subject.batch, size=subject.own)


def is_as_trained(subject: MapSubject, what_if: WhatIf) -> bool:
    """True if only the batch and the device may differ from the training."""
    return replace(what_if, batch=subject.batch, limit_bytes=0) == trained_what_if(subject)


def device_limit_bytes(subject: MapSubject, what_if: WhatIf) -> int | None:
    """Limit of the device, bytes; None: not known."""
    return what_if.limit_bytes or subject.limit_bytes


def smaller_input_layouts(subject: MapSubject, what_if: WhatIf) -> dict[str, ModelLayout]:
    """Return models with smaller inputs than the question's, by a text for the change."""
    template = tr("sequences of {size}") if subject.is_sequence else tr("inputs of {size}")
    return {
        template.format(size=each.label): each.layout for each in subject.sizes[: what_if.size]
    }


@dataclass(frozen=True, slots=True)
class WhatIfControlsState:
    """Sliders and menus.

    Attributes:
        batches: Texts of the batch slider's steps.
        batch: Index of the current batch.
        sizes: Texts of the input slider's steps; one or none: the slider has nothing to move.
        size: Index of the current size.
        size_title: Name of the slider: the size of an input or the length of a sequence.
        size_why: Reason why the slider has nothing to move; empty if it has.
        menus: Titles by key for each of "optimizer", "precision", "backend", "limit".
        chosen: Chosen key of each menu.
        can_reset: True if something differs from the training.
    """

    batches: tuple[str, ...]
    batch: int
    sizes: tuple[str, ...]
    size: int
    size_title: str
    size_why: str
    menus: Mapping[str, Mapping[str, str]]
    chosen: Mapping[str, str]
    can_reset: bool


def what_if_controls_state(
    subject: MapSubject | None, what_if: WhatIf
) -> WhatIfControlsState | None:
    """Return the controls of the page; None while there is no model."""
    if subject is None or not subject.sizes:
        return None
    batches = batch_choices(subject)
    own = subject.sizes[subject.own].layout
    return WhatIfControlsState(
        batches=tuple(_own(count_text(n), is_own=n == subject.batch) for n in batches),
        batch=batches.index(what_if.batch) if what_if.batch in batches else 0,
        sizes=tuple(
            _own(each.label, is_own=subject.is_own_size_known and at == subject.own)
            for at, each in enumerate(subject.sizes)
        ),
        size=what_if.size,
        size_title=tr("Sequence length") if subject.is_sequence else tr("Input size"),
        size_why=subject.why_one_size if len(subject.sizes) == 1 else "",
        menus={
            "optimizer": optimizer_choices(own),
            "precision": precision_choices(own),
            "backend": backend_choices(own),
            "limit": limit_choices(subject),
        },
        chosen={
            "optimizer": what_if.optimizer,
            "precision": what_if.precision,
            "backend": what_if.backend,
            "limit": str(what_if.limit_bytes),
        },
        can_reset=not is_as_trained(subject, what_if)
        or what_if.batch != trained_what_if(subject).batch,
    )


def _own(text: str, *, is_own: bool) -> str:
    return tr("{name} (original)").format(name=text) if is_own else text


def batch_choices(subject: MapSubject) -> tuple[int, ...]:
    """Return the batch sizes that the user can choose, including the training's own."""
    return tuple(sorted({*_USUAL_BATCHES, subject.batch}))


def optimizer_choices(layout: ModelLayout) -> dict[str, str]:
    """Titles of optimizers by key; the first is the model's own."""
    own = layout.optimizer.kind if layout.optimizer is not None else tr("none")
    others = {
        key: title
        for key, title in _OPTIMIZER_TITLES.items()
        if key.partition("-")[0] in OPTIMIZERS and title.lower() != own.lower()
    }
    return {"": tr("{name} (original)").format(name=own), **others}


def precision_choices(layout: ModelLayout) -> dict[str, str]:
    """Titles of dtype policies by key; the first is the model's own."""
    others = {each: each for each in PRECISIONS if each != layout.precision}
    return {"": tr("{name} (original)").format(name=layout.precision), **others}


def backend_choices(layout: ModelLayout) -> dict[str, str]:
    """Titles of backends by key; the first is the backend that the model is described on."""
    own = backend_of(layout)
    others = {key: tr(title) for key, title in _BACKENDS.items() if key != own}
    return {"": tr("{name} (original)").format(name=tr(_BACKENDS[own])), **others}


def backend_title(backend: Backend) -> str:
    return tr(_BACKENDS[backend])


def limit_choices(subject: MapSubject) -> dict[str, str]:
    """Titles of limits by size in bytes; the first is the run's own device, or none."""
    own = subject.limit_bytes
    title = tr("not specified") if own is None else round_bytes_text(own)
    first = title if own is None else tr("{name} (original)").format(name=title)
    others = {str(n * GIB): round_bytes_text(n * GIB) for n in _DEVICES_GIB}
    return {"0": first, **others}
