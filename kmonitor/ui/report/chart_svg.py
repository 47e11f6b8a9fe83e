"""A chart as an SVG drawing that stands alone: the same picture as in the window."""

from dataclasses import dataclass
from typing import Final

from kmonitor.ui.plots.chart_frame import lay_out
from kmonitor.ui.plots.chart_state import ChartPicture
from kmonitor.ui.report.backdrop_svg import backdrop, left_margin, shading
from kmonitor.ui.report.curve_svg import curves
from kmonitor.ui.report.ink import Ink
from kmonitor.ui.report.markup import Markup, joined, tag
from kmonitor.ui.report.overlay_svg import flags, forecast, limit, newest_dots
from kmonitor.ui.report.sheet import META_PX, Sheet

_DOT_ROOM_PX: Final = 8.0
TYPEFACES: Final = "Inter, system-ui, sans-serif"


@dataclass(frozen=True, slots=True)
class Size:
    """Of a drawing, in its own pixels."""

    width: float
    height: float


CHART_SIZE: Final = Size(600.0, 260.0)


def chart_svg(picture: ChartPicture, ink: Ink, *, about: str) -> Markup:
    """Draw a chart for a page.

    Args:
        picture: What it shows.
        ink: In which colours.
        about: All of it in one sentence, for who cannot see it.
    """
    return svg(picture.title, chart_parts(picture, ink, CHART_SIZE), CHART_SIZE, about=about)


def chart_parts(picture: ChartPicture, ink: Ink, size: Size) -> Markup:
    """All that a chart of this size draws, from its upper left corner on."""
    sheet = _sheet(picture, ink, size)
    return joined(
        (
            shading(sheet),
            backdrop(sheet),
            curves(sheet),
            forecast(sheet),
            flags(sheet),
            limit(sheet),
            newest_dots(sheet),
            _empty(sheet),
        )
    )


def svg(
    title: str, inside: Markup, size: Size, *, about: str, typefaces: str = TYPEFACES
) -> Markup:
    """A drawing.

    Args:
        title: What it is called.
        inside: What it draws.
        size: How large.
        about: All of it in one sentence.
        typefaces: Names of families, the preferred one first.
    """
    return tag(
        "svg",
        tag("title", title),
        tag("desc", about),
        inside,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {size.width:g} {size.height:g}",
        width=size.width,
        height=size.height,
        role="img",
        aria_label=f"{title}: {about}",
        font_family=typefaces,
        font_size=META_PX,
    )


def _sheet(picture: ChartPicture, ink: Ink, size: Size) -> Sheet:
    room = (size.width, size.height)
    laid_out = lay_out(picture, room, left=left_margin, room=lambda _: _DOT_ROOM_PX)
    return Sheet(ink, picture, *laid_out)


def _empty(sheet: Sheet) -> Markup:
    picture, frame = sheet.picture, sheet.frame
    if picture.has_points or not picture.empty_text:
        return Markup()
    middle = (frame.left + frame.width / 2.0, frame.top + frame.height / 2.0)
    return sheet.text(middle, picture.empty_text, colour="sub", anchor="middle", px=12.0)
