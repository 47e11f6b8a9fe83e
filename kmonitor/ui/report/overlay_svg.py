"""What lies over the curves of a drawing: forecast, flags, limit, and the newest value."""

from dataclasses import dataclass
from typing import Final

from kmonitor.ui.plots.chart_state import FlagPicture, LimitPicture
from kmonitor.ui.plots.curve_spans import spans_in_band
from kmonitor.ui.plots.labels import FlagPlace, Span, flag_places, free_left
from kmonitor.ui.plots.layout import last_there
from kmonitor.ui.report.curve_svg import is_on_top
from kmonitor.ui.report.markup import Markup, joined, tag
from kmonitor.ui.report.sheet import Point, Sheet, text_width

_FLAG_HEIGHT_PX: Final = 16.0
_LABEL_PX: Final = 14.0
_DIAMOND_PX: Final = 4.5
_BAND: Final = 0.16
_LIMIT_COLOURS: Final = {"in_force": "crit", "pending": "warn", "offered": "mute"}


@dataclass(frozen=True, slots=True)
class _Flag:
    """A flag in its place."""

    picture: FlagPicture
    place: FlagPlace


def forecast(sheet: Sheet) -> Markup:
    """The line to where a limit is met, and the band that it may lie in."""
    told, frame = sheet.picture.forecast, sheet.frame
    if told is None:
        return Markup()
    start = (frame.x_px(told.x), frame.y_px(told.y))
    meets = (frame.x_px(told.x_meets), frame.y_px(told.limit))
    late = frame.right if told.x_latest is None else frame.x_px(told.x_latest)
    early = (frame.x_px(told.x_earliest), meets[1])
    # Without a latest moment it may also stay as it is.
    latest = (frame.right, start[1]) if told.x_latest is None else (late, meets[1])
    upper, lower = _until(start, early, frame.right), _until(start, latest, frame.right)
    band = [start, upper]
    if upper[1] == meets[1]:
        band.append((min(late, frame.right), meets[1]))
    parts = [sheet.shape([*band, lower], "warn", opacity=_BAND)]
    style = f"stroke:{sheet.ink.colour('warn')};stroke-width:1.5;stroke-dasharray:5 4"
    end = _until(start, meets, frame.right)
    parts.append(tag("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], style=style))
    if meets[0] <= frame.right:
        parts.append(_diamond(sheet, meets))
        parts.append(_limit_met(sheet, told.limit_text, start, meets))
    return joined(parts)


def flags(sheet: Sheet) -> Markup:
    """What was carried out, with its words where there is room."""
    placed = _placed_flags(sheet)
    # All poles first: none may cross another flag's label.
    poles = [_pole(sheet, flag) for flag in placed]
    return joined([*poles, *(_label(sheet, flag) for flag in placed if flag.place.width)])


def limit(sheet: Sheet) -> Markup:
    """The limit line with its words, clear of curve and flags where there is such a place."""
    told, frame = sheet.picture.limit, sheet.frame
    if told is None:
        return Markup()
    y = min(max(frame.y_px(told.value), frame.top), frame.bottom)
    colour = _LIMIT_COLOURS[told.look]
    line = sheet.line((frame.left, y), (frame.right, y), colour, dashes="2 3")
    words = f"{told.text} \u2191" if told.value > frame.y_hi else told.text
    left, middle = _limit_label(sheet, told, words, y)
    width = text_width(words)
    veil = sheet.box((left - 2, middle - 7), (width + 4, _LABEL_PX), "card", opacity=0.75)
    return joined((line, veil, sheet.text((left, middle), words, colour=colour, weight=500)))


def newest_dots(sheet: Sheet) -> Markup:
    """The last value of each curve."""
    frame, ink = sheet.frame, sheet.ink
    parts: list[Markup] = []
    for curve in sorted(sheet.picture.curves, key=is_on_top):
        at = last_there(curve, frame.x_hi)
        if at < 0 or not frame.x_lo <= float(curve.x[at]) <= frame.x_hi:
            continue
        colour = ink.colour("mute") if curve.stale else ink.series(curve.hue)
        style = f"fill:{colour};stroke:{ink.colour('card')};stroke-width:1.5"
        cx, cy = frame.x_px(float(curve.x[at])), frame.y_px(float(curve.y[at]))
        parts.append(tag("circle", cx=cx, cy=cy, r=3.5 if curve.selected else 2.5, style=style))
    return joined(parts)


def _until(start: Point, end: Point, right: float) -> Point:
    """Where the line from start to end leaves the plot."""
    if end[0] <= right or end[0] <= start[0]:
        return end
    part = (right - start[0]) / (end[0] - start[0])
    return right, start[1] + part * (end[1] - start[1])


def _diamond(sheet: Sheet, at: Point) -> Markup:
    x, y = at
    corners = [(x - _DIAMOND_PX, y), (x, y - _DIAMOND_PX), (x + _DIAMOND_PX, y)]
    return sheet.shape([*corners, (x, y + _DIAMOND_PX)], "warn")


def _limit_met(sheet: Sheet, words: str, start: Point, meets: Point) -> Markup:
    """A limit that no line of the run's own stands for: dotted ahead, its words beside it."""
    if not words:
        return Markup()
    y, right = meets[1], meets[0] + _DIAMOND_PX
    line = sheet.line((start[0], y), (sheet.frame.right, y), "warn", dashes="2 2")
    at = max(right, sheet.frame.left + text_width(words))
    return joined((line, sheet.text((at, y - 11.0), words, colour="warn", anchor="end")))


def _placed_flags(sheet: Sheet) -> list[_Flag]:
    frame = sheet.frame
    seen = [flag for flag in sheet.picture.flags if frame.x_lo <= flag.x <= frame.x_hi]
    loud = [flag for flag in seen if not flag.is_quiet]
    quiet = [flag for flag in seen if flag.is_quiet]
    places = flag_places(
        [frame.x_px(flag.x) for flag in loud],
        [text_width(flag.text) + 10.0 for flag in loud],
        (frame.left, frame.right),
    )
    placed = [_Flag(flag, place) for flag, place in zip(loud, places, strict=True)]
    bare = [FlagPlace(frame.x_px(flag.x), frame.x_px(flag.x), 0.0) for flag in quiet]
    return placed + [_Flag(flag, place) for flag, place in zip(quiet, bare, strict=True)]


def _pole(sheet: Sheet, flag: _Flag) -> Markup:
    x, frame = flag.place.x, sheet.frame
    opacity = 1.0 if flag.place.width else 0.35
    colour = "accent" if flag.picture.ok else "warn"
    line = sheet.line((x, frame.top), (x, frame.bottom), colour, opacity=opacity)
    return tag("g", tag("title", _one_line(flag.picture)), line)


def _label(sheet: Sheet, flag: _Flag) -> Markup:
    place, top = flag.place, sheet.frame.top
    colour = "accent" if flag.picture.ok else "warn"
    style = f"fill:{sheet.ink.colour(colour)}"
    box = tag(
        "rect",
        x=place.left,
        y=top,
        width=place.width,
        height=_FLAG_HEIGHT_PX,
        rx=3.0,
        style=style,
    )
    middle = (place.left + place.width / 2.0, top + _FLAG_HEIGHT_PX / 2.0)
    words = sheet.text(middle, flag.picture.text, colour="on_accent", anchor="middle", weight=600)
    return tag("g", tag("title", _one_line(flag.picture)), box, words)


def _one_line(flag: FlagPicture) -> str:
    return "; ".join(flag.tooltip.splitlines()) or flag.text


def _limit_label(sheet: Sheet, told: LimitPicture, words: str, y: float) -> Point:
    """Left edge and middle of the words."""
    frame = sheet.frame
    within: Span = (frame.left + 6.0, frame.right - 4.0)
    placed = _placed_flags(sheet)
    taken: list[Span] = [(flag.place.x - 1.0, flag.place.x + 1.0) for flag in placed]
    above, below = y - 9.0, y + 9.0
    heights = (above, below) if above > frame.top else (below,)
    for middle in heights:
        labels = [flag.place.span for flag in placed if flag.place.width]
        is_among_labels = middle - 7.0 < frame.top + _FLAG_HEIGHT_PX
        band = (middle - 7.0, middle + 7.0)
        curved = [
            span for each in sheet.picture.curves for span in spans_in_band(each, frame, band)
        ]
        others = taken + curved + (labels if is_among_labels else [])
        left = free_left(text_width(words), within, others)
        if left is not None:
            return left, middle
    return within[0], heights[0]
