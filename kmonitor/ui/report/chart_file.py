"""A chart as a picture file: title and values, a legend of the runs, and the chart below."""

from typing import Final

from kmonitor.ui.charts.cards import ChartCardState
from kmonitor.ui.plots.chart_state import ChartState, CurveState
from kmonitor.ui.report.chart_svg import TYPEFACES, DrawingSize, chart_markup, svg, text_width
from kmonitor.ui.report.markup import Markup, joined, tag
from kmonitor.ui.report.style import DrawingColours
from kmonitor.ui.text.formats import shortened
from kmonitor.ui.text.language import tr
from kmonitor.ui.theme.palettes import Palette

PICTURE_SIZE: Final = DrawingSize(960.0, 440.0)
"""Size in pixels; a PNG has two pixels for each."""

_EDGE_PX: Final = 20.0
_TITLE_PX: Final = 15.0
_BODY_PX: Final = 12.0
_CHART_FROM_PX: Final = 76.0
_LONGEST_NAME: Final = 40
_LONGEST_TITLE: Final = 80


def chart_file(
    state: ChartState,
    card: ChartCardState,
    palette: Palette,
    *,
    run_name: str,
    typefaces: str = TYPEFACES,
) -> str:
    """Return the SVG file of a chart.

    Args:
        state: The chart; a limit that is not in force is left out.
        typefaces: Font families, the preferred one first.
    """
    colours = DrawingColours(palette)
    size = PICTURE_SIZE
    paper = tag("rect", width=size.width, height=size.height, style=f"fill:{palette.card}")
    chart = chart_markup(
        state,
        colours,
        DrawingSize(size.width - 2 * _EDGE_PX, size.height - _CHART_FROM_PX - _EDGE_PX / 2),
    )
    inside = joined(
        (
            paper,
            _heading(card, palette, run_name),
            _legend(state, colours, palette),
            tag("g", chart, transform=f"translate({_EDGE_PX:g} {_CHART_FROM_PX:g})"),
        )
    )
    title = f"{card.title}: {run_name}"
    return svg(title, inside, size, about=card.description, typefaces=typefaces)


def _heading(card: ChartCardState, palette: Palette, run_name: str) -> Markup:
    title = f"{card.title} \u00b7 {shortened(run_name, _LONGEST_TITLE)}"
    verdict = card.verdict
    texts = [card.value, card.rate.text, card.limit, verdict.text, verdict.forecast]
    return joined(
        (
            _line(title, (_EDGE_PX, 30.0), f"fill:{palette.text};font-weight:600", _TITLE_PX),
            _line(
                " \u00b7 ".join(text for text in texts if text),
                (_EDGE_PX, 50.0),
                f"fill:{palette.sub}",
                _BODY_PX,
            ),
        )
    )


def _legend(state: ChartState, colours: DrawingColours, palette: Palette) -> Markup:
    """Names of the runs beside their colours, as many as fit."""
    if len(state.curves) < 2:  # noqa: PLR2004 - a single one needs no legend
        return Markup()
    left = _EDGE_PX
    parts = list[Markup]()
    for curve in state.curves:
        if curve.faint:
            continue
        beside = tr("validation, dotted") if curve.dotted else tr("validation, dashed")
        name = shortened(curve.label or beside, _LONGEST_NAME)
        width = text_width(name, _BODY_PX) + 30.0
        if left + width > PICTURE_SIZE.width - _EDGE_PX:
            break
        parts.append(_line(name, (left + 14.0, 68.0), f"fill:{palette.sub}", _BODY_PX))
        parts.append(tag("circle", cx=left + 5.0, cy=64.0, r=4.0, style=_fill(curve, colours)))
        left += width
    return joined(parts)


def _line(text: str, at: tuple[float, float], style: str, px: float) -> Markup:
    return tag("text", text, x=at[0], y=at[1], style=style, font_size=px)


def _fill(curve: CurveState, colours: DrawingColours) -> str:
    return f"fill:{colours.colour('mute') if curve.stale else colours.series(curve.hue)}"
