"""The memory map's page as a whole: which of its states it is in, and what stands above it."""

from dataclasses import dataclass

from kmonitor.ui.memory.map_estimator import MapDesk
from kmonitor.ui.text.language import tr


@dataclass(frozen=True, slots=True)
class MapPage:
    """What the page shows.

    Attributes:
        title: Name of the run or file.
        subtitle: What it is.
        is_filled: Whether there is a map; else `text` stands in its place.
        text: Why there is none, or what is going on.
        remedy: What to do about it.
        has_device: Whether there is a device to look at.
        has_file: Whether it is a file, which can be inspected and loaded.
    """

    title: str
    subtitle: str
    is_filled: bool
    text: str
    remedy: str
    has_device: bool
    has_file: bool


def map_page(desk: MapDesk) -> MapPage:
    """The page for what is looked at."""
    subject, found = desk.subject, desk.answer.found
    if subject is None:
        return MapPage(
            title=tr("Memory map"),
            subtitle="",
            is_filled=False,
            text=tr("No run is selected."),
            remedy=tr("Select one, or open a model file: .keras, .h5, or a model's .json."),
            has_device=False,
            has_file=False,
        )
    is_run = subject.kind == "run"
    layout = desk.layout
    kind = f" \u00b7 {layout.name} ({layout.kind})" if layout is not None else ""
    return MapPage(
        title=subject.title,
        subtitle=(tr("Run") if is_run else tr("Model file")) + kind,
        is_filled=found is not None,
        text=desk.answer.why_not,
        remedy=subject.remedy,
        has_device=is_run,
        has_file=not is_run,
    )
