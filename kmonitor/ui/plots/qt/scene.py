"""Data shared by the painters of one chart: its layout in a widget, and its colours."""

from dataclasses import dataclass, field
from functools import cache, lru_cache

from PySide6.QtCore import QRectF, QSizeF
from PySide6.QtGui import QColor, QFont, QFontMetricsF

from kmonitor.ui.plots.axes import Axis
from kmonitor.ui.plots.chart_state import ChartState, CurveState
from kmonitor.ui.plots.layout import PlotFrame, lay_out_chart, spread_range
from kmonitor.ui.plots.stack import LegendLabel, legend_height, place_legend
from kmonitor.ui.theme.palettes import DARK, SIZES, Palette

GRIP_WIDTH_PX = 24.0
GRIP_HEIGHT_PX = 16.0
LONGEST_NAME_PX = 112.0
NAME_GAP_PX = 7.0
"""Distance from a curve's end to its name, pixels."""

TICK_GAP_PX = 8.0
"""Distance from the vertical axis' texts to the plot, pixels."""


@dataclass(frozen=True, slots=True)
class ChartColours:
    """Colours and fonts of a chart.

    Attributes:
        palette: Palette of the window; the chart lies on its `card` colour.
        family: Typeface; empty: that of the application.
        meta_px: Size of ticks and labels, pixels.
        body_px: Size of the crosshair's card, pixels.
    """

    palette: Palette = field(default=DARK)
    family: str = ""
    meta_px: int = SIZES.meta_px
    body_px: int = SIZES.body_px

    def colour(self, name: str) -> QColor:
        """A colour of the palette by its field name: "card", "border", "mute", "crit", ..."""
        return QColor(getattr(self.palette, name))

    def series(self, hue: int) -> QColor:
        """Colour of a run or layer, from `Palette.hue`."""
        return QColor(self.palette.hue(hue))

    def on_card(self, colour: QColor, opacity: float) -> QColor:
        """Opaque colour that looks like `colour` on the card at an opacity.

        Qt's raster engine paints a transparent line up to a hundred times slower than an opaque
        one.
        """
        card = self.colour("card")

        def mixed(front: float, back: float) -> float:
            return back + (front - back) * opacity

        return QColor.fromRgbF(
            mixed(colour.redF(), card.redF()),
            mixed(colour.greenF(), card.greenF()),
            mixed(colour.blueF(), card.blueF()),
        )

    def font(self, size_px: int, *, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
        """The chart's typeface, unhinted, with figures of equal width."""
        return _font(self.family, size_px, weight)

    def text_width(
        self, text: str, size_px: int, *, weight: QFont.Weight = QFont.Weight.Normal
    ) -> float:
        """Width of a text in the chart's font, pixels; measured once and cached."""
        return _text_width(self.family, size_px, weight, text)


@lru_cache(maxsize=4096)
def _text_width(family: str, size_px: int, weight: QFont.Weight, text: str) -> float:
    return QFontMetricsF(_font(family, size_px, weight)).horizontalAdvance(text)


@cache
def _font(family: str, size_px: int, weight: QFont.Weight) -> QFont:
    font = QFont(family) if family else QFont()
    font.setPixelSize(size_px)
    font.setWeight(weight)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


@dataclass(frozen=True, slots=True)
class Scene:
    """Input of the painters of one chart.

    Attributes:
        frame: Position and scale of the plot.
        colours: Colours and fonts.
        legend: Legend of stacked bars.
    """

    chart_state: ChartState
    frame: PlotFrame
    x_axis: Axis
    y_axis: Axis
    colours: ChartColours
    legend: list[LegendLabel] = field(default_factory=list[LegendLabel])


_DOT_ROOM_PX = 6.0
_MOST_NAMES_PART = 0.3


def scene_for(state: ChartState, size: QSizeF, colours: ChartColours) -> Scene:
    """Lay out a chart for a widget of this size."""
    room = (size.width(), size.height())
    legend = place_legend(
        state.stack, room, lambda text: colours.text_width(text, colours.meta_px)
    )
    frame, across, upwards = lay_out_chart(
        state,
        room,
        left=lambda axis: left_margin(axis, colours),
        room=lambda width: min(_room_for_ends(state, width, colours), _MOST_NAMES_PART * width),
        top=legend_height(legend),
    )
    return Scene(state, frame, across, upwards, colours, legend)


def left_margin(axis: Axis, colours: ChartColours) -> float:
    """Room for the vertical axis' texts, pixels.

    In steps of 4, so that the plot does not jitter.
    """
    widest = max(colours.text_width(text, colours.meta_px) for text in (*axis.texts, axis.unit))
    return max(24.0, 4.0 * -(-(widest + TICK_GAP_PX + 2.0) // 4.0))


def _room_for_ends(state: ChartState, width: float, colours: ChartColours) -> float:
    """Width that names and newest dots need beyond the range, pixels."""
    lo, hi = spread_range(state.x_range)
    room = 0.0
    limit = state.limit
    # The grip beside the newest dot, not on it.
    has_grip = limit is not None and limit.is_draggable
    least = GRIP_WIDTH_PX + _DOT_ROOM_PX + 2.0 if has_grip else _DOT_ROOM_PX
    ends = [
        (float(curve.x[-1]), max(least, name_width(curve, colours)))
        for curve in state.curves
        if len(curve.x)
    ]
    if state.forecast is not None and state.forecast.x_meets <= hi:
        ends.append((state.forecast.x_meets, least))
    for x, wanted in ends:
        part = (min(x, hi) - lo) / (hi - lo)
        # The line's end is at `part` of what is left after the room itself.
        if part > 0.0:
            room = max(room, width - (width - wanted) / part)
    return room


def name_width(curve: CurveState, colours: ChartColours) -> float:
    """Width of the name at a curve's end, pixels; 0 for the selected curve."""
    if curve.selected or not curve.label:
        return 0.0
    width = colours.text_width(curve.label, colours.meta_px)
    return min(width, LONGEST_NAME_PX) + NAME_GAP_PX + 2.0


def limit_y(scene: Scene) -> float | None:
    """Height of the limit line, pixels, kept within the plot; None without a limit."""
    limit = scene.chart_state.limit
    frame = scene.frame
    if limit is None:
        return None
    return min(max(frame.y_px(limit.value), frame.top), frame.bottom)


def frame_rect(frame: PlotFrame) -> QRectF:
    """The plot area in its widget."""
    return QRectF(frame.left, frame.top, frame.width, frame.height)
