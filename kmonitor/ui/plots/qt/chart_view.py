# pyright: basic
# pyqtgraph comes without types.
"""The pyqtgraph view of one chart: backdrop, curves, overlay, in one paint."""

import pyqtgraph as pg
from PySide6.QtCore import QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QFrame, QGraphicsScene, QGraphicsView, QWidget
from typing_extensions import override

from kmonitor.ui.plots.qt.backdrop import Scene, paint_backdrop
from kmonitor.ui.plots.qt.forecast_layer import paint_evidence, paint_forecast
from kmonitor.ui.plots.qt.frame_rect import frame_rect
from kmonitor.ui.plots.qt.overlay import paint_overlay
from kmonitor.ui.plots.qt.run_curve import RunCurve


class ChartView(pg.GraphicsView):
    """Draws a `Scene`; takes no mouse events, its chart does; main thread only.

    pyqtgraph's own axes, ranges and mouse handling are left out: each costs more per refresh
    than all curves together.
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
        # The scene tells of its changes after the next paint, which would make it two: only
        # `show_chart` asks for a repaint, of everything.
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.NoViewportUpdate)
        # pyqtgraph caches the background, but ours changes with every axis.
        self.setCacheMode(QGraphicsView.CacheModeFlag.CacheNone)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def show_chart(self, chart: Scene) -> None:
        """Draw this at the next paint."""
        self._chart, self._painted = chart, None
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
        paint_evidence(painter, chart)
        painter.restore()

    @override
    def drawForeground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        if self._chart is not None:
            painter.save()
            paint_forecast(painter, self._chart)
            paint_overlay(painter, self._chart)
            painter.restore()

    def _paint_all(self) -> QPixmap:
        scale, size = self.devicePixelRatioF(), self.viewport().size()
        pixmap = QPixmap(QSizeF(size * scale).toSize())
        pixmap.setDevicePixelRatio(scale)
        # As pyqtgraph's own paint event does: the box takes its new ranges.
        self._box.prepareForPaint()
        painter = QPainter(pixmap)
        self.render(painter, QRectF(self.viewport().rect()), self.viewport().rect())
        painter.end()
        return pixmap

    def _show_curves(self, chart: Scene) -> None:
        pictures = chart.picture.curves
        while len(self._curves) < len(pictures):
            curve = RunCurve()
            self._box.addItem(curve, ignoreBounds=True)
            self._curves.append(curve)
        while len(self._curves) > len(pictures):
            self._box.removeItem(self._curves.pop())
        for curve, picture in zip(self._curves, pictures, strict=True):
            height = 1.0 if picture.selected else 0.0
            if curve.zValue() != height:
                curve.setZValue(height)
            curve.show_picture(picture, chart.frame, chart.colours)
