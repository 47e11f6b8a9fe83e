"""Curves of a drawing: broken at gaps, cut off at the edges, the selected one shaded below."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from kmonitor.ui.plots.chart_state import CurvePicture, FloatArray
from kmonitor.ui.plots.plot_frame import PlotFrame
from kmonitor.ui.report.markup import Markup, joined, tag
from kmonitor.ui.report.sheet import Point, Sheet

_SHADE: Final = 0.14
_DOT_PX: Final = 1.5


def curves(sheet: Sheet) -> Markup:
    """All of them, the selected one on top."""
    in_order = sorted(sheet.picture.curves, key=is_on_top)
    return joined(_curve(sheet, curve) for curve in in_order)


def is_on_top(curve: CurvePicture) -> bool:
    """Order of drawing: the selected run's last."""
    return curve.selected


def strokes(curve: CurvePicture, frame: PlotFrame) -> list[list[Point]]:
    """The parts of a curve between gaps, within the frame's horizontal range, in pixels."""
    x, y = _cut(curve.x, curve.y, frame.x_lo, frame.x_hi)
    there = np.isfinite(y)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], there, [False]))))
    px = frame.left + (x - frame.x_lo) * (frame.width / (frame.x_hi - frame.x_lo))
    py = frame.bottom - (y - frame.y_lo) * (frame.height / (frame.y_hi - frame.y_lo))
    return [
        list(zip(px[a:b].tolist(), py[a:b].tolist(), strict=True))
        for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    ]


def _curve(sheet: Sheet, curve: CurvePicture) -> Markup:
    ink = sheet.ink
    colour = ink.colour("mute") if curve.stale else ink.series(curve.hue)
    parts = strokes(curve, sheet.frame)
    drawn = [_shade(sheet, part, colour) for part in parts] if curve.selected else []
    width = 1.75 if curve.selected else 1.0
    style = f"fill:none;stroke:{colour};stroke-width:{width:g};stroke-linejoin:round"
    if curve.faint:
        style += ";stroke-opacity:0.35"
    if curve.dashed or curve.dotted:
        style += f";stroke-dasharray:{'1.5 3' if curve.dotted else '5 3'}"
    path = "".join(_path(part) for part in parts if len(part) > 1)
    if path:
        drawn.append(tag("path", d=path, style=style))
    # A lone reading between two gaps is no line.
    drawn += [
        tag("circle", cx=part[0][0], cy=part[0][1], r=_DOT_PX, style=f"fill:{colour}")
        for part in parts
        if len(part) == 1
    ]
    return joined(drawn)


def _shade(sheet: Sheet, part: Sequence[Point], colour: str) -> Markup:
    bottom = sheet.frame.bottom
    around = [(part[0][0], bottom), *part, (part[-1][0], bottom)]
    return tag("path", d=f"{_path(around)}z", style=f"fill:{colour};fill-opacity:{_SHADE:g}")


def _path(points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _cut(x: FloatArray, y: FloatArray, lo: float, hi: float) -> tuple[FloatArray, FloatArray]:
    """The points from `lo` to `hi`, with one on each edge that a line runs across."""
    first, end = int(np.searchsorted(x, lo)), int(np.searchsorted(x, hi, side="right"))
    inner_x, inner_y = x[first:end], y[first:end]
    if 0 < first < len(x) and x[first] > lo:
        inner_x, inner_y = np.append(lo, inner_x), np.append(_at(x, y, first, lo), inner_y)
    if 0 < end < len(x) and x[end - 1] < hi:
        inner_x, inner_y = np.append(inner_x, hi), np.append(inner_y, _at(x, y, end, hi))
    return inner_x, inner_y


def _at(x: FloatArray, y: FloatArray, behind: int, where: float) -> float:
    """Height of the line from the point before to the one behind; NaN where one is missing."""
    before = behind - 1
    part = (where - x[before]) / (x[behind] - x[before])
    return float(y[before] + part * (y[behind] - y[before]))
