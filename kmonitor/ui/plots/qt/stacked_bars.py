"""Painting stacked bars and their legend."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter

from kmonitor.ui.plots.layout import TOP_PX
from kmonitor.ui.plots.qt.scene import Scene
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
