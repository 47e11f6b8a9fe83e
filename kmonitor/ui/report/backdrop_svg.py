"""What lies under the curves of a drawing: gaps, the window of the evidence, grid and ticks."""

from typing import Final

from kmonitor.ui.plots.axes import Axis
from kmonitor.ui.plots.layout import mark_stride
from kmonitor.ui.report.markup import Markup, joined, tag
from kmonitor.ui.report.sheet import Sheet, text_width

_TICK_GAP_PX: Final = 8.0
_EPOCH_MARK_PX: Final = 4.0
_UNIT_BELOW_PX: Final = 14.0


def left_margin(axis: Axis) -> float:
    """Room for the vertical axis' texts, pixels."""
    return max(24.0, max(text_width(text) for text in (*axis.texts, axis.unit)) + _TICK_GAP_PX + 2)


def shading(sheet: Sheet) -> Markup:
    """Stretches without data, and the window that a verdict rests on."""
    bands = [_band(sheet, (gap.x_from, gap.x_to), "mute", gap.text) for gap in sheet.picture.gaps]
    if sheet.picture.evidence is not None:
        bands.append(_band(sheet, sheet.picture.evidence, "accent", ""))
    return joined(bands)


def backdrop(sheet: Sheet) -> Markup:
    """Grid, numbers, and where epochs begin."""
    return joined((_values(sheet), _epoch_marks(sheet), _x_texts(sheet)))


def _band(sheet: Sheet, span: tuple[float, float], colour: str, words: str) -> Markup:
    frame = sheet.frame
    left, right = max(frame.left, frame.x_px(span[0])), min(frame.right, frame.x_px(span[1]))
    if right <= left:
        return Markup()
    band = sheet.box((left, frame.top), (right - left, frame.height), colour, opacity=0.12)
    return tag("g", tag("title", words), band) if words else band


def _values(sheet: Sheet) -> Markup:
    frame, axis = sheet.frame, sheet.y_axis
    # With nothing to measure the scale is made up: lines, but no numbers.
    has_scale = sheet.picture.has_points or sheet.picture.limit is not None
    parts: list[Markup] = []
    right = frame.left - _TICK_GAP_PX
    for tick, text in zip(axis.ticks, axis.texts, strict=True):
        y = frame.y_px(tick)
        parts.append(sheet.line((frame.left, y), (frame.right, y), "border"))
        if has_scale and not (axis.unit and y < frame.top + _UNIT_BELOW_PX):
            parts.append(sheet.text((right, y), text, anchor="end"))
    if has_scale and axis.unit:
        parts.append(sheet.text((right, frame.top + 2.0), axis.unit, anchor="end"))
    return joined(parts)


def _epoch_marks(sheet: Sheet) -> Markup:
    frame, marks = sheet.frame, sheet.picture.epoch_marks
    marks = marks[(marks >= frame.x_lo) & (marks <= frame.x_hi)]
    if not len(marks):
        return Markup()
    px = [frame.x_px(float(mark)) for mark in marks]
    px = px[:: mark_stride((px[-1] - px[0]) / len(px))]
    path = " ".join(f"M{x:.1f} {frame.bottom - _EPOCH_MARK_PX:.1f}v{_EPOCH_MARK_PX:g}" for x in px)
    style = f"stroke:{sheet.ink.colour('mute')};stroke-width:1;stroke-opacity:0.6;fill:none"
    return tag("path", d=path, style=style)


def _x_texts(sheet: Sheet) -> Markup:
    frame, axis = sheet.frame, sheet.x_axis
    parts: list[Markup] = []
    taken_to = 0.0
    for tick, text in zip(axis.ticks, axis.texts, strict=True):
        width = text_width(text)
        left = min(frame.x_px(tick) - width / 2.0, frame.right - width)
        if left >= taken_to:
            parts.append(sheet.text((left, frame.bottom + 13.0), text))
            taken_to = left + width + 8.0
    return joined(parts)
