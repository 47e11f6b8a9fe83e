"""Painting over the curves: forecast, flags, names, limit line and newest dots."""

import math
from dataclasses import dataclass

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF

from kmonitor.ui.plots.chart_state import CurveState, FlagState, ForecastState
from kmonitor.ui.plots.labels import (
    DOT_PX,
    FlagPosition,
    Span,
    ahead_of_flags,
    clear_of_dots,
    free_left,
    place_flags,
    spans_in_band,
    spread_labels,
)
from kmonitor.ui.plots.layout import last_finite_index
from kmonitor.ui.plots.qt.scene import (
    GRIP_HEIGHT_PX,
    GRIP_WIDTH_PX,
    LONGEST_NAME_PX,
    NAME_GAP_PX,
    Scene,
    frame_rect,
    limit_y,
)

FLAG_HEIGHT_PX = 17.0
_LABEL_HEIGHT_PX = 14.0
_LINE_PX = 13.0


@dataclass(frozen=True, slots=True)
class EndPoint:
    """The last visible point of a curve.

    Attributes:
        x, y: Position, pixels.
        is_newest: True if this is the run's newest point; only that gets a dot.
    """

    curve: CurveState
    x: float
    y: float
    is_newest: bool = True


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """Position of a run's name.

    Attributes:
        end: End of the run's line.
        left, y: Left edge and middle, pixels.
        width: Width of the whole name, pixels.
        room: Available width, pixels.
    """

    end: EndPoint
    left: float
    y: float
    width: float
    room: float


def paint_overlay(painter: QPainter, scene: Scene) -> None:
    """Paint everything that lies over the curves; coordinates are the widget's."""
    flags = placed_flags(scene)
    _paint_forecast(painter, scene, [position for _, position in flags])
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    _paint_flags(painter, scene, flags)
    ends = end_points(scene)
    _paint_names(painter, scene, ends)
    _paint_limit(painter, scene, [position for _, position in flags], ends)
    _paint_dots(painter, scene, ends)
    _paint_empty(painter, scene)


def end_points(scene: Scene) -> list[EndPoint]:
    frame = scene.frame
    ends = list[EndPoint]()
    x_to = max(scene.chart_state.x_range)
    for curve in scene.chart_state.curves:
        index = last_finite_index(curve, x_to)
        if index < 0:
            continue
        x = float(curve.x[index])
        y = float(curve.y[index])
        if x >= frame.x_lo and frame.y_lo <= y <= frame.y_hi:
            is_newest = index == last_finite_index(curve, math.inf)
            ends.append(EndPoint(curve, frame.x_px(x), frame.y_px(y), is_newest=is_newest))
    return ends


_DIAMOND_PX = 5.0
_FORECAST_TEXT_PX = 14.0
_BAND_OPACITY = 0.16


def _paint_forecast(painter: QPainter, scene: Scene, flags: list[FlagPosition]) -> None:
    """Draw the line up to the limit, and the band of its uncertainty."""
    forecast = scene.chart_state.forecast
    frame = scene.frame
    if forecast is None:
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setClipRect(frame_rect(frame))
    start = QPointF(frame.x_px(forecast.x), frame.y_px(forecast.y))
    meets = QPointF(frame.x_px(forecast.x_meets), frame.y_px(forecast.limit))
    _paint_band(painter, scene, forecast, start)
    if forecast.limit_text:
        _paint_limit_met(painter, scene, forecast.limit_text, (start, meets), flags)
    colour = scene.colours.colour("warn")
    pen = QPen(colour, 1.5)
    pen.setDashPattern([4.0, 3.0])
    painter.setPen(pen)
    painter.drawLine(QLineF(start, meets))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    across = QPointF(_DIAMOND_PX, 0.0)
    down = QPointF(0.0, _DIAMOND_PX)
    painter.drawPolygon(QPolygonF([meets - across, meets - down, meets + across, meets + down]))
    painter.restore()


def _paint_band(painter: QPainter, scene: Scene, forecast: ForecastState, start: QPointF) -> None:
    frame = scene.frame
    top = scene.frame.y_px(forecast.limit)
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
    band.setAlphaF(_BAND_OPACITY)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(band)
    painter.drawPolygon(QPolygonF(edge))


def _paint_limit_met(
    painter: QPainter,
    scene: Scene,
    text: str,
    line: tuple[QPointF, QPointF],
    flags: list[FlagPosition],
) -> None:
    """Draw a limit that has no line of its own: dotted ahead, with its text above it.

    Where flags leave no room, only the tooltip of the card has the text.
    """
    frame = scene.frame
    start, meets = line
    colours = scene.colours
    if meets.x() > frame.right or meets.y() < frame.top:
        return
    pen = QPen(colours.colour("warn"), 1.0)
    pen.setDashPattern([2.0, 2.0])
    painter.setPen(pen)
    painter.drawLine(QLineF(start.x(), round(meets.y()), frame.right, round(meets.y())))
    painter.setFont(colours.font(colours.meta_px, weight=QFont.Weight.Medium))
    width = colours.text_width(text, colours.meta_px) + 8.0
    top = meets.y() - _DIAMOND_PX - _FORECAST_TEXT_PX
    beside = flags if top < frame.top + FLAG_HEIGHT_PX else []
    span = ahead_of_flags(meets.x() + _DIAMOND_PX, width, (frame.left, frame.right), beside)
    if span is not None:
        box = QRectF(span[0], top, span[1] - span[0], _FORECAST_TEXT_PX)
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)


_FLAG_WEIGHT = QFont.Weight.DemiBold


def placed_flags(scene: Scene) -> list[tuple[FlagState, FlagPosition]]:
    """Visible flags with their positions, for painting and for tooltips."""
    colours = scene.colours
    return place_flags(
        scene.chart_state.flags,
        scene.frame,
        lambda text: colours.text_width(text, colours.meta_px, weight=_FLAG_WEIGHT),
    )


def _paint_flags(
    painter: QPainter, scene: Scene, flags: list[tuple[FlagState, FlagPosition]]
) -> None:
    frame = scene.frame
    colours = scene.colours
    painter.setFont(colours.font(colours.meta_px, weight=_FLAG_WEIGHT))
    # All poles first: none may cross another flag's label.
    for flag, position in flags:
        colour = _flag_colour(flag, scene)
        # Many side by side would bar the curve: those without a label are faint.
        painter.setPen(QPen(colour if position.width else colours.on_card(colour, 0.35), 1.0))
        x = round(position.x) + 0.5
        painter.drawLine(QLineF(x, frame.top, x, frame.bottom))
    for flag, position in flags:
        if position.width:
            box = QRectF(position.left, frame.top, position.width, FLAG_HEIGHT_PX)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(_flag_colour(flag, scene))
            painter.drawRoundedRect(box, 3.0, 3.0)
            painter.setPen(colours.colour("on_accent"))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, flag.text)


def _flag_colour(flag: FlagState, scene: Scene) -> QColor:
    return scene.colours.colour("accent" if flag.ok else "warn")


_SHORTEST_NAME_PX = 36.0
"""Least width of a shortened name; a shorter one distinguishes no runs and is left out."""

_FARTHEST_NAME_PX = 2.5 * _LINE_PX
"""Farthest distance of a name from its line's end; beyond it, names seem to label other lines."""


def _paint_names(painter: QPainter, scene: Scene, ends: list[EndPoint]) -> None:
    colours = scene.colours
    painter.setFont(colours.font(colours.meta_px))
    metrics = QFontMetricsF(painter.font())
    for name in placed_names(scene, ends):
        end = name.end
        text = name.end.curve.label
        if name.width > name.room:
            if name.room < _SHORTEST_NAME_PX:
                continue
            text = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, name.room)
        hue = colours.colour("mute") if end.curve.stale else colours.series(end.curve.hue)
        painter.setPen(hue)
        box = QRectF(name.left, name.y - _LINE_PX / 2, name.room + 2.0, _LINE_PX)
        behind = QRectF(name.left - 1.0, box.top(), min(name.width, name.room) + 2.0, _LINE_PX)
        painter.fillRect(behind, _veil(scene, 0.5))
        painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)


def placed_names(scene: Scene, ends: list[EndPoint]) -> list[PlacedLabel]:
    """Place each name beside the end of its line, higher or lower where another run's dot is."""
    frame = scene.frame
    colours = scene.colours
    named = [end for end in ends if not end.curve.selected and end.curve.label]
    within = (frame.top + _LINE_PX / 2, frame.bottom - _LINE_PX / 2)
    spread_ys = spread_labels([end.y for end in named], apart=_LINE_PX, within=within)
    heights = [
        y if y is not None and abs(y - end.y) <= _FARTHEST_NAME_PX else None
        for y, end in zip(spread_ys, named, strict=True)
    ]
    placed: list[PlacedLabel] = []
    for at, end in enumerate(named):
        wanted = heights[at]
        if wanted is None:
            continue
        left = end.x + NAME_GAP_PX
        width = colours.text_width(end.curve.label, colours.meta_px)
        dots = [(dot.x, dot.y) for dot in ends if dot.x > left]
        across = (left, left + min(width, LONGEST_NAME_PX))
        others = (limit_y(scene), *heights[:at], *heights[at + 1 :])
        occupied = [height for height in others if height is not None]
        y = clear_of_dots(wanted, across, dots, within=within, occupied=occupied, apart=_LINE_PX)
        heights[at] = y
        room = min(_right_of_names(scene, y, dots) - left, LONGEST_NAME_PX)
        placed.append(PlacedLabel(end, left, y, width, room))
    return placed


def _right_of_names(scene: Scene, y: float, dots: list[tuple[float, float]]) -> float:
    """Right bound of a name at this height, clear of the grip and of dots, pixels."""
    limit = scene.chart_state.limit
    height = limit_y(scene)
    ahead = [x - DOT_PX for x, at in dots if abs(at - y) < _LINE_PX / 2 + DOT_PX]
    if ahead:
        return min(ahead)
    has_grip = limit is not None and limit.is_draggable and height is not None
    if has_grip and height is not None and abs(height - y) < (GRIP_HEIGHT_PX + _LINE_PX) / 2:
        return scene.frame.right - GRIP_WIDTH_PX - 4.0
    return scene.frame.right


_LIMIT_WEIGHT = QFont.Weight.Medium


def _paint_limit(
    painter: QPainter, scene: Scene, flags: list[FlagPosition], ends: list[EndPoint]
) -> None:
    limit = scene.chart_state.limit
    y = limit_y(scene)
    if limit is None or y is None:
        return
    frame = scene.frame
    colour = scene.colours.colour(limit.colour)
    right = frame.right - (GRIP_WIDTH_PX if limit.is_draggable else 0.0)
    pen = QPen(colour, 1.0)
    pen.setDashPattern([2.0, 6.0] if limit.style == "offered" else [2.0, 2.0])
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(pen)
    painter.drawLine(QLineF(frame.left, round(y), right, round(y)))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setFont(scene.colours.font(scene.colours.meta_px, weight=_LIMIT_WEIGHT))
    colours = scene.colours
    label = f"{limit.text} \u2191" if limit.value > frame.y_hi else limit.text
    width = colours.text_width(label, colours.meta_px, weight=_LIMIT_WEIGHT) + 2.0
    box = limit_label_box(scene, flags, width, ends)
    if box is None:
        return
    painter.fillRect(box, _veil(scene, 0.72))
    painter.setPen(colour)
    text = QFontMetricsF(painter.font()).elidedText(
        label, Qt.TextElideMode.ElideRight, box.width()
    )
    painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)


def limit_label_box(
    scene: Scene, flags: list[FlagPosition], width: float, ends: list[EndPoint]
) -> QRectF | None:
    """Box of the limit's label: above the line, clear of curve, flags, dots and grip; else below.

    None where the label would lie over flags and dots, unless the limit is not in force yet:
    otherwise the head of the card, or the grip's tooltip, has the same text.
    """
    frame = scene.frame
    limit = scene.chart_state.limit
    y = limit_y(scene)
    if limit is None or y is None:
        return None
    grip = GRIP_WIDTH_PX + 4.0 if limit.is_draggable else 0.0
    within: Span = (frame.left + 8.0, frame.right - grip)
    top = y - _LABEL_HEIGHT_PX - 2.0
    poles: list[Span] = [(position.x - 1.0, position.x + 1.0) for position in flags]
    labels = [position.span for position in flags if position.width]
    if top >= frame.top - 6.0:
        occupied = poles + (labels if top < frame.top + FLAG_HEIGHT_PX else [])
        left = free_left(width, within, occupied + _dots_at(ends, top) + _curve_at(scene, top))
        if left is not None:
            return QRectF(left, top, width, _LABEL_HEIGHT_PX)
    low = max(y + 2.0, frame.top + (FLAG_HEIGHT_PX if labels else 0.0))
    # Below a limit near the bottom are the numbers of the axis.
    low = top if low + _LABEL_HEIGHT_PX > frame.bottom else low
    left = free_left(width, within, poles + _dots_at(ends, low) + _curve_at(scene, low))
    if left is None and limit.style != "pending":
        return None
    room = min(width, within[1] - within[0])
    return QRectF(within[0] if left is None else left, low, room, _LABEL_HEIGHT_PX)


def _dots_at(ends: list[EndPoint], top: float) -> list[Span]:
    """Horizontal spans that dots cover in a label's line."""
    reach = (top - DOT_PX, top + _LABEL_HEIGHT_PX + DOT_PX)
    return [(end.x - DOT_PX, end.x + DOT_PX) for end in ends if reach[0] <= end.y <= reach[1]]


def _curve_at(scene: Scene, top: float) -> list[Span]:
    """Horizontal spans that the selected run's curve covers in a label's line."""
    band = (top, top + _LABEL_HEIGHT_PX)
    selected = [curve for curve in scene.chart_state.curves if curve.selected]
    return [span for each in selected for span in spans_in_band(each, scene.frame, band)]


def _veil(scene: Scene, opacity: float) -> QColor:
    veil = scene.colours.colour("card")
    veil.setAlphaF(opacity)
    return veil


def _paint_dots(painter: QPainter, scene: Scene, ends: list[EndPoint]) -> None:
    colours = scene.colours
    newest = [end for end in ends if end.is_newest and not end.curve.faint]
    for end in sorted(newest, key=lambda each: each.curve.selected):
        colour = colours.colour("mute") if end.curve.stale else colours.series(end.curve.hue)
        radius = 4.0 if end.curve.selected else 2.5
        painter.setPen(QPen(colours.colour("card"), 1.5))
        painter.setBrush(colour)
        painter.drawEllipse(QPointF(end.x, end.y), radius, radius)


def _paint_empty(painter: QPainter, scene: Scene) -> None:
    state = scene.chart_state
    if state.has_points or not state.empty_text:
        return
    painter.setFont(scene.colours.font(scene.colours.body_px))
    painter.setPen(scene.colours.colour("sub"))
    box = frame_rect(scene.frame).adjusted(12.0, 12.0, -12.0, -12.0)
    flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
    # No grid line strikes it through.
    behind = painter.boundingRect(box, int(flags), state.empty_text)
    painter.fillRect(behind.adjusted(-4.0, -1.0, 4.0, 1.0), scene.colours.colour("card"))
    painter.drawText(box, int(flags), state.empty_text)
