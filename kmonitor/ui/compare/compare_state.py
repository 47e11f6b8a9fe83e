"""Plain data that a comparison shows; without numpy, which a window has not yet loaded."""

from dataclasses import dataclass

from kmonitor.ui.runs.run_states import Tone


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """One run in the legend.

    Attributes:
        run: Run id.
        name: Its name.
        hue: Index of its colour.
        tooltip: Name, host, and whether its columns have come.
    """

    run: str
    name: str
    hue: int
    tooltip: str


@dataclass(frozen=True, slots=True)
class CompareCell:
    """What one run says.

    Attributes:
        text: In the cell.
        tooltip: More; may be empty.
        tone: Of the text.
    """

    text: str
    tooltip: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class CompareRow:
    """One quantity.

    Attributes:
        title: What it is.
        cells: One a run, in the order of the legend.
        differs: Whether not all say the same.
    """

    title: str
    cells: tuple[CompareCell, ...]
    differs: bool

    def as_text(self) -> str:
        """The row for the clipboard, cells apart by tabs."""
        return "\t".join((self.title, *(cell.text for cell in self.cells)))
