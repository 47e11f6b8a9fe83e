# pyright: basic
# pyqtgraph comes without types.
"""Painting under the curves: grid, ticks, epoch marks, gaps, and an open verdict's window."""

import numpy as np
from pyqtgraph.functions import arrayToQPath
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from kmonitor.ui.plots.layout import mark_stride
from kmonitor.ui.plots.qt.scene import TICK_GAP_PX, Scene

_EVIDENCE_OPACITY = 0.10
_EPOCH_MARK_PX = 4.0


def paint_backdrop(painter: QPainter, scene: Scene) -> None:
    """Paint everything that lies under the curves; coordinates are the widget's."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setFont(scene.colours.font(scene.colours.meta_px))
    _paint_gaps(painter, scene)
    _paint_values(painter, scene)
    _paint_epoch_marks(painter, scene)
    _paint_x_texts(painter, scene)
    _paint_evidence(painter, scene)


def _paint_gaps(painter: QPainter, scene: Scene) -> None:
    frame = scene.frame
    band = scene.colours.on_card(scene.colours.colour("mute"), 0.10)
    for gap in scene.chart_state.gaps:
        left = max(frame.left, frame.x_px(gap.x_from))
        right = min(frame.right, frame.x_px(gap.x_to))
        if right > left:
            painter.fillRect(QRectF(left, frame.top, right - left, frame.height), band)


def _paint_values(painter: QPainter, scene: Scene) -> None:
    frame = scene.frame
    axis = scene.y_axis
    colours = scene.colours
    # With nothing to measure the scale is made up: lines, but no numbers.
    has_scale = scene.chart_state.has_points or scene.chart_state.limit is not None
    grid = colours.on_card(colours.colour("border"), 0.75)
    base = colours.colour("border")
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
    box = QRectF(0.0, y - 8.0, scene.frame.left - TICK_GAP_PX, 16.0)
    painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)


def _paint_epoch_marks(painter: QPainter, scene: Scene) -> None:
    frame = scene.frame
    marks = scene.chart_state.epoch_marks
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
    frame = scene.frame
    axis = scene.x_axis
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


def _paint_evidence(painter: QPainter, scene: Scene) -> None:
    """Shade the window of an open verdict's evidence, with an edge on either side."""
    if scene.chart_state.evidence is None:
        return
    frame = scene.frame
    begin, end = scene.chart_state.evidence
    left = max(frame.left, frame.x_px(begin))
    right = min(frame.right, frame.x_px(end))
    if right <= left:
        return
    accent = scene.colours.colour("accent")
    painter.fillRect(
        QRectF(left, frame.top, right - left, frame.height),
        scene.colours.on_card(accent, _EVIDENCE_OPACITY),
    )
    painter.setPen(QPen(scene.colours.on_card(accent, 0.5), 1.0))
    for x in (left, right):
        painter.drawLine(QLineF(round(x), frame.top, round(x), frame.bottom))
