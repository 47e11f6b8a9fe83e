"""A model file as the subject of a memory map: while it is read, refused, described."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from kmonitor.memory.open_lengths import is_open
from kmonitor.ui.memory.subjects import MapSubject, SizedLayout, size_words
from kmonitor.ui.text.hub_text import said
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.model_layout import ModelLayout

SCALES: Final = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 4.0)
"""Of inputs, that are offered where the model takes them."""


Missing = Literal["custom", "config", ""]
"""A file that would help: the model's own classes, or its architecture."""


def file_begun(path: Path) -> MapSubject:
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
            remedy = said(remedy)
    return replace(file_begun(path), why_none=said(what), remedy=remedy)


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
    told = [each for each in layouts if not is_open(each[1])] or list(layouts[:1])
    by_scale = dict(sorted(told, key=lambda each: each[0]))
    scales = list(by_scale)
    own = scales.index(1.0) if 1.0 in by_scale else 0
    first = by_scale[scales[own]]
    return MapSubject(
        key=str(path),
        title=path.name,
        kind="file",
        sizes=tuple(SizedLayout(_words(layout), layout) for layout in by_scale.values()),
        own=own,
        is_own_told=not any(is_open(layout) for _, layout in layouts),
        is_sequence=all(len(first.tensors[each].shape) <= 3 for each in first.inputs),  # noqa: PLR2004 - batch, steps, features
        why_one_size=tr("this model takes no other, or Keras is not here to try")
        if is_whole
        else tr("others are being tried in a process of its own\u2026"),
    )


def _words(layout: ModelLayout) -> str:
    shapes = [layout.tensors[each].shape[1:] for each in layout.inputs]
    return size_words([[n for n in shape if n is not None] for shape in shapes[:1]])
