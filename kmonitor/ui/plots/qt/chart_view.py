# pyright: basic
# pyqtgraph comes without types.
"""The pyqtgraph view of one chart: backdrop, curves and overlay in one paint."""

import math
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from pyqtgraph import functions as pg_functions
from PySide6.QtCore import QPointF, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QLinearGradient,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QTransform,
)
from PySide6.QtWidgets import (
    QFrame,
    QGraphicsScene,
    QGraphicsView,
    QStyleOptionGraphicsItem,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.plots.chart_state import CurveState, FloatArray
from kmonitor.ui.plots.layout import TOP_PX, PlotFrame
from kmonitor.ui.plots.qt.backdrop import paint_backdrop
from kmonitor.ui.plots.qt.overlay import paint_overlay
from kmonitor.ui.plots.qt.scene import ChartColours, Scene, frame_rect
from kmonitor.ui.plots.stack import ROW_PX, SWATCH_GAP_PX, SWATCH_PX, layer_boxes


def paint_stack(painter: QPainter, scene: Scene) -> None:
    """Paint the bars over the grid, and their legend; coordinates are the widget's."""
    for layer, boxes in layer_boxes(scene.chart_state.stack, scene.frame):
        colour = scene.colours.series(layer.hue)
        for box in boxes:
            painter.fillRect(QRectF(*box), colour)
    _paint_legend(painter, scene)


def _paint_legend(painter: QPainter, scene: Scene) -> None:
    colours = scene.colours
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setFont(colours.font(colours.meta_px))
    for entry in scene.legend:
        middle = TOP_PX + (entry.row + 0.5) * ROW_PX - 4.0
        swatch = QRectF(entry.left, middle - SWATCH_PX / 2, SWATCH_PX, SWATCH_PX)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colours.series(entry.layer.hue))
        painter.drawRoundedRect(swatch, 2.0, 2.0)
        painter.setPen(colours.colour("sub"))
        left = swatch.right() + SWATCH_GAP_PX
        box = QRectF(
            left,
            middle - ROW_PX / 2,
            colours.text_width(entry.text, colours.meta_px) + 2.0,
            ROW_PX,
        )
        painter.drawText(
            box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, entry.text
        )


class ChartView(pg.GraphicsView):
    """Draws a `Scene`; mouse events go to the surrounding chart. Main thread only.

    pyqtgraph's own axes, ranges and mouse handling are not used: each costs more per refresh than
    all curves together.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, useOpenGL=False, background="default")
        self._chart: Scene | None = None
        self._painted: QPixmap | None = None
        self._curves: list[RunCurve] = []
        self._box = pg.ViewBox(enableMouse=False, enableMenu=False, defaultPadding=0.0)
        self._box.setZValue(0.0)
        self._box.disableAutoRange()
        self.scene().addItem(self._box)
        self.scene().setItemIndexMethod(QGraphicsScene.ItemIndexMethod.NoIndex)
        # The scene reports its changes after the next paint, which would make it two: only
        # `show_chart` asks for a repaint, of everything.
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.NoViewportUpdate)
        # pyqtgraph caches the background, but ours changes with every axis.
        self.setCacheMode(QGraphicsView.CacheModeFlag.CacheNone)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def show_chart(self, chart: Scene) -> None:
        """Draw this scene at the next paint."""
        self._chart = chart
        self._painted = None
        frame = chart.frame
        if self._box.geometry() != frame_rect(frame):
            self._box.setGeometry(frame_rect(frame))
        self._box.setRange(
            xRange=(frame.x_lo, frame.x_hi),
            yRange=(frame.y_lo, frame.y_hi),
            padding=0.0,
            disableAutoRange=False,
        )
        self._show_curves(chart)
        self.viewport().update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        # The crosshair above exposes strips of this many times a second: they come from here.
        if self._chart is None:
            return
        painted = self._painted
        if painted is None or painted.devicePixelRatio() != self.devicePixelRatioF():
            self._painted = painted = self._paint_all()
        painter = QPainter(self.viewport())
        painter.drawPixmap(0, 0, painted)
        painter.end()

    @override
    def drawBackground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        chart = self._chart
        if chart is None:
            return
        painter.fillRect(rect, chart.colours.colour("card"))
        painter.save()
        paint_backdrop(painter, chart)
        paint_stack(painter, chart)
        painter.restore()

    @override
    def drawForeground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        if self._chart is not None:
            painter.save()
            paint_overlay(painter, self._chart)
            painter.restore()

    def _paint_all(self) -> QPixmap:
        scale = self.devicePixelRatioF()
        size = self.viewport().size()
        pixmap = QPixmap(QSizeF(size * scale).toSize())
        pixmap.setDevicePixelRatio(scale)
        # As pyqtgraph's own paint event does: the box takes its new ranges.
        self._box.prepareForPaint()
        painter = QPainter(pixmap)
        self.render(painter, QRectF(self.viewport().rect()), self.viewport().rect())
        painter.end()
        return pixmap

    def _show_curves(self, chart: Scene) -> None:
        states = chart.chart_state.curves
        while len(self._curves) < len(states):
            curve = RunCurve()
            self._box.addItem(curve, ignoreBounds=True)
            self._curves.append(curve)
        while len(self._curves) > len(states):
            self._box.removeItem(self._curves.pop())
        for curve, state in zip(self._curves, states, strict=True):
            height = 1.0 if state.selected else 0.0
            if curve.zValue() != height:
                curve.setZValue(height)
            curve.show_state(state, chart.frame, chart.colours)


_FAINT_OPACITY = 0.35
_SELECTED_PX = 1.55
_MOST_APART_PX = 1.1
_FILL_OPACITY = 0.28
_DENSE_POINTS = 120
_DASH = (6, 4)
_DOTS = (2, 4)


class RunCurve(pg.PlotCurveItem):
    """Draws a `CurveState`; main thread only.

    Every stroke is one device pixel wide and opaque: a wider or see-through pen takes 3 to 100
    times as long in Qt's raster engine. The selected run is stroked twice instead, a little apart.
    """

    def __init__(self) -> None:
        super().__init__(skipFiniteCheck=True, antialias=True)
        self._curve_state: CurveState | None = None
        self._frame: PlotFrame | None = None
        self._colours: ChartColours | None = None
        self._fill: list[QPolygonF] = []
        self._pen = QPen()
        self._pen_dash: tuple[int, int] | None = None
        self._brush = QBrush()

    def show_state(self, state: CurveState, frame: PlotFrame, colours: ChartColours) -> None:
        """Draw this curve from the next paint on.

        Cheap when arrays and frame are the same objects.
        """
        old = self._curve_state
        old_frame = self._frame
        old_colours = self._colours
        self._curve_state = state
        self._frame = frame
        self._colours = colours
        same_scale = old is not None and old_frame == frame
        same_style = (
            old is not None and old_colours is colours and _style_key(old) == _style_key(state)
        )
        same_points = old is not None and old.x is state.x and old.y is state.y
        if not (same_points and same_style and same_scale):
            self._set_points(state, frame)
        if not same_style:
            self._set_pen(state, colours)
        if state.selected and not (same_points and same_style and same_scale):
            self._brush = QBrush(_gradient(self._pen.color(), self._fill, frame))

    @override
    def boundingRect(self) -> QRectF:
        # The view range: pyqtgraph's own would search all points for their extremes.
        frame = self._frame
        if frame is None:
            return QRectF()
        return QRectF(frame.x_lo, frame.y_lo, frame.x_hi - frame.x_lo, frame.y_hi - frame.y_lo)

    @override
    def paint(
        self, p: QPainter, opt: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        if self.xData is None or len(self.xData) == 0:
            return
        for polygon in self._fill:
            p.setPen(Qt.PenStyle.NoPen)
            p.setBrush(self._brush)
            p.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            p.drawPolygon(polygon)
        p.setBrush(Qt.BrushStyle.NoBrush)
        p.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        p.setPen(self._pen)
        path = self.getPath()
        base = p.transform()
        for offset in self._stroke_offsets(p.device().devicePixelRatioF()):
            p.setTransform(base * QTransform.fromTranslate(0.0, offset))
            p.drawPath(path)
        p.setTransform(base)

    def _stroke_offsets(self, scale: float) -> list[float]:
        """Offsets from the line's middle of one-pixel strokes that add up to its width."""
        state = self._curve_state
        is_heavy = state is not None and (state.selected or state.strong)
        extra = (_SELECTED_PX if is_heavy else 1.0) * scale - 1.0
        strokes = 1 + math.ceil(extra / _MOST_APART_PX)
        return [(i / max(1, strokes - 1) - 0.5) * extra / scale for i in range(strokes)]

    def _set_points(self, state: CurveState, frame: PlotFrame) -> None:
        x, y, joined = drawable(state.x, state.y)
        is_dense = len(x) >= _DENSE_POINTS
        dash = _dash(state)
        if dash is not None and is_dense:
            px = (x - frame.x_lo) * (frame.width / (frame.x_hi - frame.x_lo))
            dashes = px % sum(dash) < dash[0]
            joined = dashes if joined is None else joined & dashes
        options: dict[str, Any] = {"connect": "all" if joined is None else joined}
        self.setData(x, y, **options)
        self._fill = _areas(state.x, state.y, frame.y_lo) if state.selected else []
        # A pen that dashes is slow on dense lines, a broken line is not seen on sparse ones.
        self._pen_dash = None if is_dense else dash
        self._set_dashes()

    def _set_pen(self, state: CurveState, colours: ChartColours) -> None:
        colour = colours.colour("mute") if state.stale else colours.series(state.hue)
        is_full = state.selected or state.strong
        opacity = _FAINT_OPACITY if state.faint else colours.palette.others_alpha
        stroke = colour if is_full else colours.on_card(colour, opacity)
        self._pen = QPen(stroke, 1.0)
        self._pen.setCosmetic(True)
        self._set_dashes()
        self.update()

    def _set_dashes(self) -> None:
        if self._pen_dash is not None:
            self._pen.setDashPattern([*self._pen_dash])
        else:
            self._pen.setStyle(Qt.PenStyle.SolidLine)


def _dash(state: CurveState) -> tuple[int, int] | None:
    """Pixels drawn and left out in turn; None: a solid line."""
    if state.dotted:
        return _DOTS
    return _DASH if state.dashed else None


def _style_key(state: CurveState) -> tuple[object, ...]:
    style = (state.selected, state.stale, state.strong, state.faint)
    return state.hue, _dash(state), *style


def drawable(
    x: FloatArray, y: FloatArray
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_] | None]:
    """Points that Qt can draw: gaps become broken connections instead of NaN.

    Returns:
        x, y, and a mask of the points joined to the next one, `[n_points]`; None: all are joined.
    """
    is_finite = np.isfinite(y)
    if is_finite.all():
        return x, y, None
    joined = is_finite.copy()
    joined[:-1] &= is_finite[1:]
    return x, np.where(is_finite, y, 0.0), joined


def _areas(x: FloatArray, y: FloatArray, base: float) -> list[QPolygonF]:
    """Areas between the line's lower edge and the base, one polygon per stretch without gap."""
    breaks = np.flatnonzero(~np.isfinite(y))
    starts = np.concatenate(([0], breaks + 1))
    ends = np.concatenate((breaks, [len(y)]))
    return [
        _area(x[start:end], y[start:end], base)
        for start, end in zip(starts, ends, strict=True)
        if end - start > 1
    ]


def _area(x: FloatArray, y: FloatArray, base: float) -> QPolygonF:
    if len(x) > _DENSE_POINTS:
        # Under a dense line the jagged rim cannot be seen but costs: one point for each two.
        even = len(x) // 2 * 2
        low = np.minimum(y[0:even:2], y[1:even:2])
        x = np.append(x[0:even:2], x[-1])
        y = np.append(low, y[-1])
    path_x = np.concatenate((x[:1], x, x[-1:]))
    path_y = np.concatenate(([base], y, [base]))
    polygon: QPolygonF = pg_functions.arrayToQPolygonF(path_x, path_y)
    return polygon


def _gradient(colour: QColor, areas: list[QPolygonF], frame: PlotFrame) -> QLinearGradient:
    """Gradient from strongest at the highest point of the line to transparent at the base."""
    top = max((area.boundingRect().bottom() for area in areas), default=frame.y_hi)
    gradient = QLinearGradient(QPointF(0.0, top), QPointF(0.0, frame.y_lo))
    strong = QColor(colour)
    none = QColor(colour)
    strong.setAlphaF(_FILL_OPACITY)
    none.setAlphaF(0.02)
    gradient.setColorAt(0.0, strong)
    gradient.setColorAt(1.0, none)
    return gradient
