"""A chart as an SVG drawing, from the same state as in the window."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from kmonitor.ui.plots.axes import Axis
from kmonitor.ui.plots.chart_state import (
    ChartState,
    CurveState,
    FlagState,
    FloatArray,
    LimitLineState,
)
from kmonitor.ui.plots.labels import (
    FlagPosition,
    Span,
    ahead_of_flags,
    free_left,
    place_flags,
    spans_in_band,
)
from kmonitor.ui.plots.layout import (
    TOP_PX,
    PlotFrame,
    last_finite_index,
    lay_out_chart,
    mark_stride,
)
from kmonitor.ui.plots.stack import (
    ROW_PX,
    SWATCH_GAP_PX,
    SWATCH_PX,
    LegendLabel,
    layer_boxes,
    legend_height,
    place_legend,
)
from kmonitor.ui.report.markup import Markup, joined, tag
from kmonitor.ui.report.style import DrawingColours

META_PX: Final = 11.0
TYPEFACES: Final = "Inter, system-ui, sans-serif"
Point = tuple[float, float]
"""x and y, pixels."""


@dataclass(frozen=True, slots=True)
class DrawingSize:
    """Size of a drawing, in the drawing's own pixels."""

    width: float
    height: float


CHART_SIZE: Final = DrawingSize(600.0, 260.0)


def chart_svg(state: ChartState, colours: DrawingColours, *, about: str) -> Markup:
    """Draw a chart for a page.

    Args:
        about: Description in one sentence, for screen readers.
    """
    return svg(state.title, chart_markup(state, colours, CHART_SIZE), CHART_SIZE, about=about)


def chart_markup(state: ChartState, colours: DrawingColours, size: DrawingSize) -> Markup:
    """Draw everything in a chart of this size, from its upper left corner on."""
    canvas = _chart_canvas(state, colours, size)
    return joined(
        (
            shading_markup(canvas),
            backdrop_markup(canvas),
            stack_markup(canvas),
            curves_markup(canvas),
            forecast_markup(canvas),
            flags_markup(canvas),
            limit_markup(canvas),
            newest_dots_markup(canvas),
            _empty(canvas),
        )
    )


def svg(
    title: str, inside: Markup, size: DrawingSize, *, about: str, typefaces: str = TYPEFACES
) -> Markup:
    """Return the `svg` element of a drawing.

    Args:
        about: Description in one sentence, for screen readers.
        typefaces: Font families, the preferred one first.
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


_MIDDLE_PART: Final = 0.36
"""Distance from the middle of a line of text to its baseline, as a fraction of the type size."""


@dataclass(frozen=True, slots=True)
class SvgPen:
    """Writes lines, shapes and texts as SVG."""

    drawing_colours: DrawingColours

    def line(
        self, begin: Point, end: Point, colour: str, *, dashes: str = "", opacity: float = 1.0
    ) -> Markup:
        """A thin straight line.

        Args:
            colour: Name of the colour in the palette.
            dashes: Lengths of dashes and gaps; empty: none.
            opacity: 0..1.
        """
        stroke = self.drawing_colours.colour(colour)
        style = f"stroke:{stroke};stroke-width:1;stroke-opacity:{opacity:g}"
        if dashes:
            style += f";stroke-dasharray:{dashes}"
        (x1, y1) = begin
        (x2, y2) = end
        return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, style=style)

    def box(self, corner: Point, size: Point, colour: str, *, opacity: float = 1.0) -> Markup:
        """A filled rectangle.

        Args:
            corner: Upper left.
            size: Width and height.
            colour: Name of the colour in the palette.
            opacity: 0..1.
        """
        style = f"fill:{self.drawing_colours.colour(colour)};fill-opacity:{opacity:g}"
        (x, y) = corner
        (width, height) = size
        return tag("rect", x=x, y=y, width=width, height=height, style=style)

    def shape(self, corners: Sequence[Point], colour: str, *, opacity: float = 1.0) -> Markup:
        """A filled polygon."""
        style = f"fill:{self.drawing_colours.colour(colour)};fill-opacity:{opacity:g}"
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
        """A line of text, centred at a height.

        Args:
            at: Start, end or middle of the text, depending on `anchor`; the height is that of its
                middle.
            colour: Name of the colour in the palette.
            px: Size of the type.
        """
        return tag(
            "text",
            text,
            x=at[0],
            y=at[1] + _MIDDLE_PART * px,
            style=f"fill:{self.drawing_colours.colour(colour)}",
            text_anchor=anchor,
            font_size=px,
            font_weight=float(weight),
        )


@dataclass(frozen=True, slots=True)
class ChartCanvas(SvgPen):
    """One drawing of a chart.

    Attributes:
        frame: Position of the plot.
        legend: Legend of stacked bars.
    """

    chart_state: ChartState
    frame: PlotFrame
    x_axis: Axis
    y_axis: Axis
    legend: list[LegendLabel]


_DOT_ROOM_PX: Final = 8.0


def _chart_canvas(state: ChartState, colours: DrawingColours, size: DrawingSize) -> ChartCanvas:
    room = (size.width, size.height)
    legend = place_legend(state.stack, room, text_width)
    frame, across, upwards = lay_out_chart(
        state,
        room,
        left=svg_left_margin,
        room=lambda _: _DOT_ROOM_PX,
        top=legend_height(legend),
    )
    return ChartCanvas(colours, state, frame, across, upwards, legend)


_WIDE_LETTER_PART: Final = 1.02
_LETTER_PART: Final = 0.58
"""Mean width of a letter per type size. Source: Inter's mean, with tabular figures."""


def text_width(text: str, px: float = META_PX) -> float:
    """Estimate the width of a text, pixels: the reader's typeface is not known."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return px * (wide * _WIDE_LETTER_PART + (len(text) - wide) * _LETTER_PART)


_TICK_GAP_PX: Final = 8.0
_EPOCH_MARK_PX: Final = 4.0
_UNIT_BELOW_PX: Final = 14.0


def svg_left_margin(axis: Axis) -> float:
    """Width of the labels of the vertical axis, pixels."""
    return max(24.0, max(text_width(text) for text in (*axis.texts, axis.unit)) + _TICK_GAP_PX + 2)


def shading_markup(canvas: ChartCanvas) -> Markup:
    """Ranges without data, and the window that a verdict is based on."""
    bands = [
        _shaded_span(canvas, (gap.x_from, gap.x_to), "mute", gap.text)
        for gap in canvas.chart_state.gaps
    ]
    if canvas.chart_state.evidence is not None:
        bands.append(_shaded_span(canvas, canvas.chart_state.evidence, "accent", ""))
    return joined(bands)


def _shaded_span(
    canvas: ChartCanvas, span: tuple[float, float], colour: str, tooltip: str
) -> Markup:
    frame = canvas.frame
    left = max(frame.left, frame.x_px(span[0]))
    right = min(frame.right, frame.x_px(span[1]))
    if right <= left:
        return Markup()
    band = canvas.box((left, frame.top), (right - left, frame.height), colour, opacity=0.12)
    return tag("g", tag("title", tooltip), band) if tooltip else band


def backdrop_markup(canvas: ChartCanvas) -> Markup:
    """Grid, numbers, and starts of epochs."""
    return joined((_y_texts(canvas), _epoch_marks(canvas), _x_texts(canvas)))


def _y_texts(canvas: ChartCanvas) -> Markup:
    frame = canvas.frame
    axis = canvas.y_axis
    # With nothing to measure the scale is made up: lines, but no numbers.
    has_scale = canvas.chart_state.has_points or canvas.chart_state.limit is not None
    parts: list[Markup] = []
    right = frame.left - _TICK_GAP_PX
    for tick, text in zip(axis.ticks, axis.texts, strict=True):
        y = frame.y_px(tick)
        parts.append(canvas.line((frame.left, y), (frame.right, y), "border"))
        if has_scale and not (axis.unit and y < frame.top + _UNIT_BELOW_PX):
            parts.append(canvas.text((right, y), text, anchor="end"))
    if has_scale and axis.unit:
        parts.append(canvas.text((right, frame.top + 2.0), axis.unit, anchor="end"))
    return joined(parts)


def _epoch_marks(canvas: ChartCanvas) -> Markup:
    frame = canvas.frame
    marks = canvas.chart_state.epoch_marks
    marks = marks[(marks >= frame.x_lo) & (marks <= frame.x_hi)]
    if not len(marks):
        return Markup()
    px = [frame.x_px(float(mark)) for mark in marks]
    px = px[:: mark_stride((px[-1] - px[0]) / len(px))]
    path = " ".join(f"M{x:.1f} {frame.bottom - _EPOCH_MARK_PX:.1f}v{_EPOCH_MARK_PX:g}" for x in px)
    stroke = canvas.drawing_colours.colour("mute")
    style = f"stroke:{stroke};stroke-width:1;stroke-opacity:0.6;fill:none"
    return tag("path", d=path, style=style)


def _x_texts(canvas: ChartCanvas) -> Markup:
    frame = canvas.frame
    axis = canvas.x_axis
    parts: list[Markup] = []
    occupied_to = 0.0
    for tick, text in zip(axis.ticks, axis.texts, strict=True):
        width = text_width(text)
        left = min(frame.x_px(tick) - width / 2.0, frame.right - width)
        if left >= occupied_to:
            parts.append(canvas.text((left, frame.bottom + 13.0), text))
            occupied_to = left + width + 8.0
    return joined(parts)


def stack_markup(canvas: ChartCanvas) -> Markup:
    """Stacked bars and their legend."""
    parts: list[Markup] = []
    for layer, boxes in layer_boxes(canvas.chart_state.stack, canvas.frame):
        path = "".join(f"M{x:g} {y:g}h{w:g}v{h:g}h{-w:g}z" for x, y, w, h in boxes)
        style = f"fill:{canvas.drawing_colours.series(layer.hue)}"
        parts.append(tag("path", tag("title", layer.label), d=path, style=style))
    for entry in canvas.legend:
        middle = TOP_PX + (entry.row + 0.5) * ROW_PX - 4.0
        left = entry.left + SWATCH_PX + SWATCH_GAP_PX
        style = f"fill:{canvas.drawing_colours.series(entry.layer.hue)}"
        top = middle - SWATCH_PX / 2.0
        size = {"width": SWATCH_PX, "height": SWATCH_PX, "rx": 2.0}
        parts.append(tag("rect", x=entry.left, y=top, style=style, **size))
        parts.append(canvas.text((left, middle), entry.text, colour="sub"))
    return joined(parts)


_SHADE_OPACITY: Final = 0.14
_DOT_PX: Final = 1.5


def curves_markup(canvas: ChartCanvas) -> Markup:
    """All curves, the selected one on top."""
    curves = sorted(canvas.chart_state.curves, key=is_on_top)
    return joined(_curve(canvas, curve) for curve in curves)


def is_on_top(curve: CurveState) -> bool:
    """Sort key for drawing: the selected run is last."""
    return curve.selected


def _curve(canvas: ChartCanvas, curve: CurveState) -> Markup:
    colours = canvas.drawing_colours
    colour = colours.colour("mute") if curve.stale else colours.series(curve.hue)
    lines = strokes(curve, canvas.frame)
    drawn = [_shade(canvas, part, colour) for part in lines] if curve.selected else []
    width = 1.75 if curve.selected else 1.0
    style = f"fill:none;stroke:{colour};stroke-width:{width:g};stroke-linejoin:round"
    if curve.faint:
        style += ";stroke-opacity:0.35"
    if curve.dashed or curve.dotted:
        style += f";stroke-dasharray:{'1.5 3' if curve.dotted else '5 3'}"
    path = "".join(_path(part) for part in lines if len(part) > 1)
    if path:
        drawn.append(tag("path", d=path, style=style))
    # A lone reading between two gaps is no line.
    drawn += [
        tag("circle", cx=part[0][0], cy=part[0][1], r=_DOT_PX, style=f"fill:{colour}")
        for part in lines
        if len(part) == 1
    ]
    return joined(drawn)


def strokes(curve: CurveState, frame: PlotFrame) -> list[list[Point]]:
    """Segments of a curve between gaps, within the frame's horizontal range, in pixels."""
    x, y = _cut(curve.x, curve.y, frame.x_lo, frame.x_hi)
    is_finite = np.isfinite(y)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_finite, [False]))))
    px = frame.left + (x - frame.x_lo) * (frame.width / (frame.x_hi - frame.x_lo))
    py = frame.bottom - (y - frame.y_lo) * (frame.height / (frame.y_hi - frame.y_lo))
    return [
        list(zip(px[a:b].tolist(), py[a:b].tolist(), strict=True))
        for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    ]


def _cut(x: FloatArray, y: FloatArray, lo: float, hi: float) -> tuple[FloatArray, FloatArray]:
    """Points from `lo` to `hi`, with an interpolated one at each edge that the line crosses."""
    first = int(np.searchsorted(x, lo))
    end = int(np.searchsorted(x, hi, side="right"))
    inner_x = x[first:end]
    inner_y = y[first:end]
    if 0 < first < len(x) and x[first] > lo:
        inner_x = np.append(lo, inner_x)
        inner_y = np.append(_y_between(x, y, first, lo), inner_y)
    if 0 < end < len(x) and x[end - 1] < hi:
        inner_x = np.append(inner_x, hi)
        inner_y = np.append(inner_y, _y_between(x, y, end, hi))
    return inner_x, inner_y


def _y_between(x: FloatArray, y: FloatArray, behind: int, where: float) -> float:
    """Height of the line before point `behind`, at `where`; NaN if a value is missing."""
    before = behind - 1
    part = (where - x[before]) / (x[behind] - x[before])
    return float(y[before] + part * (y[behind] - y[before]))


def _shade(canvas: ChartCanvas, part: Sequence[Point], colour: str) -> Markup:
    bottom = canvas.frame.bottom
    around = [(part[0][0], bottom), *part, (part[-1][0], bottom)]
    return tag(
        "path", d=f"{_path(around)}z", style=f"fill:{colour};fill-opacity:{_SHADE_OPACITY:g}"
    )


def _path(points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


_DIAMOND_PX: Final = 4.5
_BAND_OPACITY: Final = 0.16


def forecast_markup(canvas: ChartCanvas) -> Markup:
    """Line to the point where a limit is reached, and the uncertainty band of that point."""
    forecast = canvas.chart_state.forecast
    frame = canvas.frame
    if forecast is None:
        return Markup()
    start = (frame.x_px(forecast.x), frame.y_px(forecast.y))
    meets = (frame.x_px(forecast.x_meets), frame.y_px(forecast.limit))
    late = frame.right if forecast.x_latest is None else frame.x_px(forecast.x_latest)
    early = (frame.x_px(forecast.x_earliest), meets[1])
    # Without a latest moment it may also stay as it is.
    latest = (frame.right, start[1]) if forecast.x_latest is None else (late, meets[1])
    upper = _end_within(start, early, frame.right)
    lower = _end_within(start, latest, frame.right)
    band = [start, upper]
    if upper[1] == meets[1]:
        band.append((min(late, frame.right), meets[1]))
    parts = [canvas.shape([*band, lower], "warn", opacity=_BAND_OPACITY)]
    style = f"stroke:{canvas.drawing_colours.colour('warn')};stroke-width:1.5;stroke-dasharray:5 4"
    end = _end_within(start, meets, frame.right)
    parts.append(tag("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], style=style))
    if meets[0] <= frame.right:
        parts.append(_diamond(canvas, meets))
    if forecast.limit_text and meets[0] <= frame.right:
        parts.append(_limit_met(canvas, forecast.limit_text, start, meets))
    return joined(parts)


def _end_within(start: Point, end: Point, right: float) -> Point:
    """Point where the line from start to end leaves the plot on the right."""
    if end[0] <= right or end[0] <= start[0]:
        return end
    part = (right - start[0]) / (end[0] - start[0])
    return right, start[1] + part * (end[1] - start[1])


def _diamond(canvas: ChartCanvas, at: Point) -> Markup:
    x, y = at
    corners = [(x - _DIAMOND_PX, y), (x, y - _DIAMOND_PX), (x + _DIAMOND_PX, y)]
    return canvas.shape([*corners, (x, y + _DIAMOND_PX)], "warn")


def _limit_met(canvas: ChartCanvas, text: str, start: Point, meets: Point) -> Markup:
    """A limit without a line of its own: a dotted line ahead, with its text above it.

    Where flags leave no room, there is only the line.
    """
    frame = canvas.frame
    y = meets[1]
    middle = y - 11.0
    width = text_width(text)
    line = canvas.line((start[0], y), (frame.right, y), "warn", dashes="2 2")
    is_among_labels = middle - _LABEL_HEIGHT_PX / 2.0 < frame.top + _FLAG_HEIGHT_PX
    flags = [position for _, position in _placed_flags(canvas)] if is_among_labels else []
    span = ahead_of_flags(meets[0] + _DIAMOND_PX, width, (frame.left, frame.right), flags)
    if span is None:
        return line
    # A text is not shortened here: one that is wider than its span begins at the frame's left.
    right = max(span[1], frame.left + width)
    return joined((line, canvas.text((right, middle), text, colour="warn", anchor="end")))


_FLAG_HEIGHT_PX: Final = 16.0


def flags_markup(canvas: ChartCanvas) -> Markup:
    """Flags of actions, with their text if there is room."""
    placed = _placed_flags(canvas)
    # All poles first: none may cross another flag's label.
    poles = [_flag_pole(canvas, flag, position) for flag, position in placed]
    labels = [_flag_label(canvas, flag, each) for flag, each in placed if each.width]
    return joined([*poles, *labels])


def _placed_flags(canvas: ChartCanvas) -> list[tuple[FlagState, FlagPosition]]:
    return place_flags(canvas.chart_state.flags, canvas.frame, text_width)


def _flag_pole(canvas: ChartCanvas, flag: FlagState, position: FlagPosition) -> Markup:
    x = position.x
    frame = canvas.frame
    opacity = 1.0 if position.width else 0.35
    line = canvas.line((x, frame.top), (x, frame.bottom), _flag_colour(flag), opacity=opacity)
    return tag("g", tag("title", _flag_title(flag)), line)


def _flag_label(canvas: ChartCanvas, flag: FlagState, position: FlagPosition) -> Markup:
    top = canvas.frame.top
    style = f"fill:{canvas.drawing_colours.colour(_flag_colour(flag))}"
    box = tag(
        "rect",
        x=position.left,
        y=top,
        width=position.width,
        height=_FLAG_HEIGHT_PX,
        rx=3.0,
        style=style,
    )
    middle = (position.left + position.width / 2.0, top + _FLAG_HEIGHT_PX / 2.0)
    text = canvas.text(middle, flag.text, colour="on_accent", anchor="middle", weight=600)
    return tag("g", tag("title", _flag_title(flag)), box, text)


def _flag_colour(flag: FlagState) -> str:
    return "accent" if flag.ok else "warn"


def _flag_title(flag: FlagState) -> str:
    return "; ".join(flag.tooltip.splitlines()) or flag.text


_LABEL_HEIGHT_PX: Final = 14.0


def limit_markup(canvas: ChartCanvas) -> Markup:
    """The limit line with its text, which avoids curve and flags if there is such a position."""
    limit = canvas.chart_state.limit
    frame = canvas.frame
    if limit is None:
        return Markup()
    y = min(max(frame.y_px(limit.value), frame.top), frame.bottom)
    colour = limit.colour
    line = canvas.line((frame.left, y), (frame.right, y), colour, dashes="2 3")
    text = f"{limit.text} \u2191" if limit.value > frame.y_hi else limit.text
    left, middle = _limit_label_at(canvas, limit, text, y)
    width = text_width(text)
    veil = canvas.box((left - 2, middle - 7), (width + 4, _LABEL_HEIGHT_PX), "card", opacity=0.75)
    return joined((line, veil, canvas.text((left, middle), text, colour=colour, weight=500)))


def _limit_label_at(canvas: ChartCanvas, limit: LimitLineState, text: str, y: float) -> Point:
    """Left edge and middle of the limit's text."""
    frame = canvas.frame
    within: Span = (frame.left + 6.0, frame.right - 4.0)
    positions = [position for _, position in _placed_flags(canvas)]
    occupied: list[Span] = [(position.x - 1.0, position.x + 1.0) for position in positions]
    above = y - 9.0
    below = y + 9.0
    heights = (above, below) if above > frame.top else (below,)
    for middle in heights:
        labels = [position.span for position in positions if position.width]
        is_among_labels = middle - 7.0 < frame.top + _FLAG_HEIGHT_PX
        band = (middle - 7.0, middle + 7.0)
        curved = [
            span for each in canvas.chart_state.curves for span in spans_in_band(each, frame, band)
        ]
        others = occupied + curved + (labels if is_among_labels else [])
        left = free_left(text_width(text), within, others)
        if left is not None:
            return left, middle
    return within[0], heights[0]


def newest_dots_markup(canvas: ChartCanvas) -> Markup:
    """Dots at the last value of each curve."""
    frame = canvas.frame
    colours = canvas.drawing_colours
    parts: list[Markup] = []
    for curve in sorted(canvas.chart_state.curves, key=is_on_top):
        at = last_finite_index(curve, frame.x_hi)
        if at < 0 or not frame.x_lo <= float(curve.x[at]) <= frame.x_hi:
            continue
        colour = colours.colour("mute") if curve.stale else colours.series(curve.hue)
        style = f"fill:{colour};stroke:{colours.colour('card')};stroke-width:1.5"
        cx = frame.x_px(float(curve.x[at]))
        cy = frame.y_px(float(curve.y[at]))
        parts.append(tag("circle", cx=cx, cy=cy, r=3.5 if curve.selected else 2.5, style=style))
    return joined(parts)


def _empty(canvas: ChartCanvas) -> Markup:
    state = canvas.chart_state
    frame = canvas.frame
    if state.has_points or not state.empty_text:
        return Markup()
    middle = (frame.left + frame.width / 2.0, frame.top + frame.height / 2.0)
    return canvas.text(middle, state.empty_text, colour="sub", anchor="middle", px=12.0)
