# pyright: basic
# pyqtgraph comes without types.
"""What lies under the curves: grid, ticks, epoch marks, gaps."""

from dataclasses import dataclass, field
from functools import cache, lru_cache

import numpy as np
from pyqtgraph.functions import arrayToQPath
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from kmonitor.ui.plots.axes import Axis
from kmonitor.ui.plots.chart_state import ChartState
from kmonitor.ui.plots.layout import PlotFrame, mark_stride
from kmonitor.ui.theme.palettes import DARK, SIZES, Palette

# chart_colours: The colours and the type of a chart, taken from the window's theme.


@dataclass(frozen=True, slots=True)
class ChartColours:
    """What a chart is painted with.

    Attributes:
        palette: Of the window; the chart lies on its `card` colour.
        family: Typeface; empty: the application's.
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
        """The colour of a run; an index beyond the last starts anew."""
        return QColor(self.palette.series[hue % len(self.palette.series)])

    def on_card(self, colour: QColor, opacity: float) -> QColor:
        """A colour as it looks on the card at an opacity, itself opaque.

        Qt's raster engine paints a see-through line up to a hundred times slower than this.
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
        """How wide a text is in that font, pixels; measured once."""
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


_TICK_GAP_PX = 8.0
_EPOCH_MARK_PX = 4.0


@dataclass(frozen=True, slots=True)
class Scene:
    """All that the painters of one chart need.

    Attributes:
        chart_state: What is shown.
        frame: Where.
        x_axis: Horizontal axis.
        y_axis: Vertical axis.
        colours: In which colours.
    """

    chart_state: ChartState
    frame: PlotFrame
    x_axis: Axis
    y_axis: Axis
    colours: ChartColours


def paint_backdrop(painter: QPainter, scene: Scene) -> None:
    """Paint everything that lies under the curves; coordinates are the widget's."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setFont(scene.colours.font(scene.colours.meta_px))
    _paint_gaps(painter, scene)
    _paint_values(painter, scene)
    _paint_epoch_marks(painter, scene)
    _paint_x_texts(painter, scene)


def left_margin(axis: Axis, colours: ChartColours) -> float:
    """Room for the vertical axis' texts, pixels; in steps of 4 so that the plot rests."""
    widest = max(colours.text_width(text, colours.meta_px) for text in (*axis.texts, axis.unit))
    return max(24.0, 4.0 * -(-(widest + _TICK_GAP_PX + 2.0) // 4.0))


def _paint_gaps(painter: QPainter, scene: Scene) -> None:
    frame = scene.frame
    band = scene.colours.on_card(scene.colours.colour("mute"), 0.10)
    for gap in scene.chart_state.gaps:
        left = max(frame.left, frame.x_px(gap.x_from))
        right = min(frame.right, frame.x_px(gap.x_to))
        if right > left:
            painter.fillRect(QRectF(left, frame.top, right - left, frame.height), band)


def _paint_values(painter: QPainter, scene: Scene) -> None:
    frame, axis, colours = scene.frame, scene.y_axis, scene.colours
    # With nothing to measure the scale is made up: lines, but no numbers.
    has_scale = scene.chart_state.has_points or scene.chart_state.limit is not None
    grid, base = colours.on_card(colours.colour("border"), 0.75), colours.colour("border")
    unit_bottom = frame.top + 8.0
    for tick, text in zip(axis.ticks, axis.texts, strict=True):
        y = frame.y_px(tick)
        painter.setPen(QPen(base if tick == axis.lo else grid, 1.0))
        painter.drawLine(QLineF(frame.left, round(y), frame.right, round(y)))
        if has_scale and not (axis.unit and y - 6.0 < unit_bottom):
            _text_left_of_plot(painter, scene, y, text)
    if has_scale and axis.unit:
        _text_left_of_plot(painter, scene, frame.top + 2.0, axis.unit)


def _text_left_of_plot(painter: QPainter, scene: Scene, y: float, text: str) -> None:
    painter.setPen(scene.colours.colour("mute"))
    box = QRectF(0.0, y - 8.0, scene.frame.left - _TICK_GAP_PX, 16.0)
    painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)


def _paint_epoch_marks(painter: QPainter, scene: Scene) -> None:
    frame, marks = scene.frame, scene.chart_state.epoch_marks
    marks = marks[(marks >= frame.x_lo) & (marks <= frame.x_hi)]
    if not len(marks):
        return
    px = frame.left + (marks - frame.x_lo) * (frame.width / (frame.x_hi - frame.x_lo))
    # Where they would merge into a bar only each 2nd, 5th, 10th ... is drawn.
    px = np.round(px[:: mark_stride(float(px[-1] - px[0]) / len(px))])
    y = np.tile((frame.bottom - _EPOCH_MARK_PX, frame.bottom), len(px))
    painter.setPen(QPen(scene.colours.on_card(scene.colours.colour("mute"), 0.6), 1.0))
    painter.drawPath(arrayToQPath(np.repeat(px, 2), y, connect="pairs", finiteCheck=False))


def _paint_x_texts(painter: QPainter, scene: Scene) -> None:
    frame, axis = scene.frame, scene.x_axis
    painter.setPen(scene.colours.colour("mute"))
    occupied_to = 0.0
    for tick, text in zip(axis.ticks, axis.texts, strict=True):
        width = scene.colours.text_width(text, scene.colours.meta_px)
        left = min(frame.x_px(tick) - width / 2.0, frame.right - width)
        if left < occupied_to:
            continue
        box = QRectF(left, frame.bottom + 5.0, width + 1.0, 16.0)
        painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
        occupied_to = left + width + 8.0


# frame_rect: A plot's place as Qt's rectangle.


def frame_rect(frame: PlotFrame) -> QRectF:
    """The plot area in its widget."""
    return QRectF(frame.left, frame.top, frame.width, frame.height)
