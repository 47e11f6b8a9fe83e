"""What a drawing is coloured with: one palette as it is, or a page's own variables."""

from dataclasses import dataclass, fields
from typing import Final

from kmonitor.ui.theme.palettes import Palette

SERIES: Final = 6
"""Hues of runs in a palette."""


_NO_COLOURS: Final = ("name", "series", "tint_alpha", "others_alpha")


@dataclass(frozen=True, slots=True)
class Ink:
    """Names of colours to what a drawing says.

    Attributes:
        palette: Its colours; None: variables that the page around the drawing defines, so that
            one drawing suits light and dark.
    """

    palette: Palette | None = None

    def colour(self, name: str) -> str:
        """A colour by its field name in a palette: "card", "border", "crit", ..."""
        return f"var(--{name})" if self.palette is None else str(getattr(self.palette, name))

    def series(self, hue: int) -> str:
        """The colour of a run; an index beyond the last starts anew."""
        at = hue % SERIES
        return f"var(--series-{at})" if self.palette is None else self.palette.series[at]


def page_variables(palette: Palette) -> str:
    """A palette as declarations of a style sheet."""
    plain = [each.name for each in fields(palette)]
    plain = [name for name in plain if name not in _NO_COLOURS]
    declared = [f"--{name}:{getattr(palette, name)}" for name in plain]
    declared += [f"--series-{at}:{colour}" for at, colour in enumerate(palette.series)]
    return ";".join(declared)
