"""What of a training can be changed on the memory map's page, and what stands chosen."""

from collections.abc import Mapping
from dataclasses import dataclass

from kmonitor.ui.memory.map_estimator import MapDesk
from kmonitor.ui.memory.subjects import (
    backend_choices,
    batch_choices,
    is_as_trained,
    limit_choices,
    optimizer_choices,
    precision_choices,
    usual,
)
from kmonitor.ui.text.formats import count_text
from kmonitor.ui.text.language import tr


@dataclass(frozen=True, slots=True)
class ControlsPicture:
    """Sliders and menus.

    Attributes:
        batches: Words of the batch slider's steps. batch: Where it stands.
        sizes: Words of the input slider's steps; one or none: there is nothing to slide.
        size: Where it stands.
        size_title: What a step is: the size of an input or the length of a sequence.
        size_why: Why there is nothing to slide; empty where there is.
        menus: For each of "optimizer", "precision", "backend", "limit" the titles by key.
        chosen: For each of them the key that is chosen.
        can_reset: Whether something is another than in the training.
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


def controls_picture(desk: MapDesk) -> ControlsPicture | None:
    """The controls of the page; None while there is no model."""
    subject, layout, asked = desk.subject, desk.layout, desk.asked
    if subject is None or layout is None:
        return None
    batches = batch_choices(subject)
    own = subject.sizes[subject.own].layout
    return ControlsPicture(
        batches=tuple(_own(count_text(n), is_own=n == subject.batch) for n in batches),
        batch=batches.index(asked.batch) if asked.batch in batches else 0,
        sizes=tuple(
            _own(each.words, is_own=subject.is_own_told and at == subject.own)
            for at, each in enumerate(subject.sizes)
        ),
        size=asked.size,
        size_title=tr("Sequence length") if subject.is_sequence else tr("Input size"),
        size_why=subject.why_one_size if len(subject.sizes) == 1 else "",
        menus={
            "optimizer": optimizer_choices(own),
            "precision": precision_choices(own),
            "backend": backend_choices(own),
            "limit": limit_choices(subject),
        },
        chosen={
            "optimizer": asked.optimizer,
            "precision": asked.precision,
            "backend": asked.backend,
            "limit": str(asked.limit_bytes),
        },
        can_reset=not is_as_trained(subject, asked) or asked.batch != usual(subject).batch,
    )


def _own(text: str, *, is_own: bool) -> str:
    return tr("{name} (own)").format(name=text) if is_own else text
