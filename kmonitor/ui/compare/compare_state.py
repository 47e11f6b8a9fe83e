"""Plain data shown by a comparison. It needs no numpy, which a window has not yet loaded."""

from dataclasses import dataclass

from kmonitor.ui.runs.run_states import Tone


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """One run in the legend.

    Attributes:
        run: Run id.
        hue: Index of the run's colour.
        tooltip: Name, host, and state of the request for the run's columns.
    """

    run: str
    name: str
    hue: int
    tooltip: str


@dataclass(frozen=True, slots=True)
class CompareCell:
    """Value of one run for one quantity.

    Attributes:
        tooltip: Further details; may be empty.
    """

    text: str
    tooltip: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class CompareRow:
    """One quantity.

    Attributes:
        title: Name of the quantity.
        cells: One cell per run, in the order of the legend.
        differs: True if not all runs have the same value.
    """

    title: str
    cells: tuple[CompareCell, ...]
    differs: bool

    def as_text(self) -> str:
        """Text of the row for the clipboard, cells separated by tabs."""
        return "\t".join((self.title, *(cell.text for cell in self.cells)))
