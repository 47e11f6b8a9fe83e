"""What the parts of one drawing share: where things lie, and how lines and words are written."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kmonitor.ui.plots.axes import Axis
from kmonitor.ui.plots.chart_state import ChartPicture
from kmonitor.ui.plots.plot_frame import PlotFrame
from kmonitor.ui.report.ink import Ink
from kmonitor.ui.report.markup import Markup, tag

META_PX: Final = 11.0

_WIDE_PART: Final = 1.02
_LETTER_PART: Final = 0.58
"""Width of a letter of the size of the type. Source: Inter's mean with figures of equal width."""

_MIDDLE_PART: Final = 0.36
"""From the middle of a line to where its letters stand, of the size of the type."""

Point = tuple[float, float]
"""x and y, pixels."""


@dataclass(frozen=True, slots=True)
class Pen:
    """How lines, shapes and words are written.

    Attributes:
        ink: In which colours.
    """

    ink: Ink

    def line(
        self, begin: Point, end: Point, colour: str, *, dashes: str = "", opacity: float = 1.0
    ) -> Markup:
        """A thin straight line.

        Args:
            begin: Its one end.
            end: Its other end.
            colour: By its name in the palette.
            dashes: Lengths of dashes and gaps; empty: none.
            opacity: 0..1.
        """
        style = f"stroke:{self.ink.colour(colour)};stroke-width:1;stroke-opacity:{opacity:g}"
        if dashes:
            style += f";stroke-dasharray:{dashes}"
        (x1, y1), (x2, y2) = begin, end
        return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, style=style)

    def box(self, corner: Point, size: Point, colour: str, *, opacity: float = 1.0) -> Markup:
        """A filled rectangle.

        Args:
            corner: Upper left.
            size: Width and height.
            colour: By its name in the palette.
            opacity: 0..1.
        """
        style = f"fill:{self.ink.colour(colour)};fill-opacity:{opacity:g}"
        (x, y), (width, height) = corner, size
        return tag("rect", x=x, y=y, width=width, height=height, style=style)

    def shape(self, corners: Sequence[Point], colour: str, *, opacity: float = 1.0) -> Markup:
        """A filled shape of straight edges."""
        style = f"fill:{self.ink.colour(colour)};fill-opacity:{opacity:g}"
        return tag("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in corners), style=style)

    def text(
        self,
        at: Point,
        text: str,
        *,
        colour: str = "mute",
        anchor: Literal["start", "middle", "end"] = "start",
        px: float = META_PX,
        weight: int = 400,
    ) -> Markup:
        """A line of words around a height.

        Args:
            at: Where it begins, or ends, or has its middle; the height is that of its middle.
            text: The words.
            colour: By its name in the palette.
            anchor: Which of the three.
            px: Size of the type.
            weight: Of the type.
        """
        return tag(
            "text",
            text,
            x=at[0],
            y=at[1] + _MIDDLE_PART * px,
            style=f"fill:{self.ink.colour(colour)}",
            text_anchor=anchor,
            font_size=px,
            font_weight=float(weight),
        )


@dataclass(frozen=True, slots=True)
class Sheet(Pen):
    """One drawing of a chart.

    Attributes:
        picture: What is shown.
        frame: Where.
        x_axis: Horizontal axis.
        y_axis: Vertical axis.
    """

    picture: ChartPicture
    frame: PlotFrame
    x_axis: Axis
    y_axis: Axis


def text_width(text: str, px: float = META_PX) -> float:
    """About how wide a text is, pixels: the reader's own typeface is not known."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return px * (wide * _WIDE_PART + (len(text) - wide) * _LETTER_PART)
