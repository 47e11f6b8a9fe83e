"""What is to come, dashed with its band, and the window that a verdict rests on."""

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QPainter, QPen, QPolygonF

from kmonitor.ui.plots.chart_state import ForecastPicture
from kmonitor.ui.plots.qt.backdrop import Scene
from kmonitor.ui.plots.qt.frame_rect import frame_rect

_DIAMOND_PX = 5.0
_TEXT_PX = 14.0
_BAND = 0.16
_EVIDENCE = 0.10


def paint_evidence(painter: QPainter, scene: Scene) -> None:
    """Shade the window of the evidence, with an edge on either side; under the curves."""
    if scene.picture.evidence is None:
        return
    frame = scene.frame
    begin, end = scene.picture.evidence
    left, right = max(frame.left, frame.x_px(begin)), min(frame.right, frame.x_px(end))
    if right <= left:
        return
    accent = scene.colours.colour("accent")
    painter.fillRect(
        QRectF(left, frame.top, right - left, frame.height),
        scene.colours.on_card(accent, _EVIDENCE),
    )
    painter.setPen(QPen(scene.colours.on_card(accent, 0.5), 1.0))
    for x in (left, right):
        painter.drawLine(QLineF(round(x), frame.top, round(x), frame.bottom))


def paint_forecast(painter: QPainter, scene: Scene) -> None:
    """Draw the line to where the limit is met, and the band that it may lie in."""
    forecast, frame = scene.picture.forecast, scene.frame
    if forecast is None:
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setClipRect(frame_rect(frame))
    start = QPointF(frame.x_px(forecast.x), frame.y_px(forecast.y))
    meets = QPointF(frame.x_px(forecast.x_meets), frame.y_px(forecast.limit))
    _paint_band(painter, scene, forecast, start)
    if forecast.limit_text:
        _paint_limit_met(painter, scene, forecast.limit_text, start, meets)
    colour = scene.colours.colour("warn")
    pen = QPen(colour, 1.5)
    pen.setDashPattern([4.0, 3.0])
    painter.setPen(pen)
    painter.drawLine(QLineF(start, meets))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    across, down = QPointF(_DIAMOND_PX, 0.0), QPointF(0.0, _DIAMOND_PX)
    painter.drawPolygon(QPolygonF([meets - across, meets - down, meets + across, meets + down]))
    painter.restore()


def _paint_band(
    painter: QPainter, scene: Scene, forecast: ForecastPicture, start: QPointF
) -> None:
    frame, top = scene.frame, scene.frame.y_px(forecast.limit)
    beyond = frame.right + 1.0
    late = beyond if forecast.x_latest is None else frame.x_px(forecast.x_latest)
    edge = [
        start,
        QPointF(frame.x_px(forecast.x_earliest), top),
        QPointF(max(late, start.x()), top),
    ]
    if forecast.x_latest is None:
        edge.append(QPointF(beyond, start.y()))
    band = scene.colours.colour("warn")
    band.setAlphaF(_BAND)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(band)
    painter.drawPolygon(QPolygonF(edge))


def _paint_limit_met(
    painter: QPainter, scene: Scene, text: str, start: QPointF, meets: QPointF
) -> None:
    """A limit that no line of the run's own stands for: dotted ahead, its words beside it."""
    frame, colours = scene.frame, scene.colours
    if meets.x() > frame.right or meets.y() < frame.top:
        return
    pen = QPen(colours.colour("warn"), 1.0)
    pen.setDashPattern([2.0, 2.0])
    painter.setPen(pen)
    painter.drawLine(QLineF(start.x(), round(meets.y()), frame.right, round(meets.y())))
    painter.setFont(colours.font(colours.meta_px, weight=QFont.Weight.Medium))
    right = meets.x() + _DIAMOND_PX
    width = min(colours.text_width(text, colours.meta_px) + 8.0, right - frame.left)
    box = QRectF(right - width, meets.y() - _DIAMOND_PX - _TEXT_PX, width, _TEXT_PX)
    painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
