"""The two drawings of a study: a metric over the epochs of its folds, and the memory of each."""

from collections.abc import Iterable
from typing import Final

from kmonitor.ui.memory.what_if import CurveTick
from kmonitor.ui.report.chart_svg import Size, svg
from kmonitor.ui.report.ink import Ink
from kmonitor.ui.report.markup import Markup, joined, tag
from kmonitor.ui.report.sheet import Pen, Point, text_width
from kmonitor.ui.report.study_contents import PLOT_HEIGHT_PX, PLOT_WIDTH_PX
from kmonitor.ui.studies.fold_charts import Curve, MetricPicture
from kmonitor.ui.studies.study_memory import MemoryBar, MemoryPicture
from kmonitor.ui.text.language import tr

_LEFT_PX: Final = 58.0
_ABOVE_PX: Final = 8.0
_BOTTOM_PX: Final = _ABOVE_PX + PLOT_HEIGHT_PX
_SIZE: Final = Size(_LEFT_PX + PLOT_WIDTH_PX + 12.0, _BOTTOM_PX + 20.0)
_BELOW_PX: Final = 13.0
_MOST_BAR_PX: Final = 22.0
_BAR_PART: Final = 0.74
"""Of a fold's room, that its bars take together."""


def metric_svg(picture: MetricPicture) -> Markup:
    """Each fold thin, their mean, and one standard deviation around it."""
    pen = Pen(Ink())
    upper = [_place(x, high) for x, _, high in picture.band]
    lower = [_place(x, low) for x, low, _ in reversed(picture.band)]
    parts = [
        _heights(pen, picture.y_ticks),
        _below(pen, ((tick.at, tick.text) for tick in picture.x_ticks)),
        pen.shape([*upper, *lower], "accent", opacity=0.16),
        *(_line(pen, line, "sub", width=1.0, opacity=0.45) for line in picture.folds),
        _line(pen, picture.mean, "accent", width=2.0),
    ]
    return svg(picture.metric, joined(parts), _SIZE, about=f"{picture.value}, {picture.text}")


def memory_svg(picture: MemoryPicture) -> Markup:
    """One bar a fold, two where a GPU was used, and the bound that they run under."""
    pen = Pen(Ink())
    slot = PLOT_WIDTH_PX / len(picture.bars)
    parts = [_heights(pen, picture.y_ticks)]
    parts += [_bars(pen, at, bar, picture) for at, bar in enumerate(picture.bars)]
    parts.append(
        _below(
            pen,
            (
                ((at + 0.5) * slot / PLOT_WIDTH_PX, str(b.fold))
                for at, b in enumerate(picture.bars)
            ),
        )
    )
    if picture.bound is not None:
        (left, y), (right, _) = _place(0.0, picture.bound), _place(1.0, picture.bound)
        parts.append(pen.line((left, y), (right, y), "crit", dashes="2 3"))
        # Beneath the line where there is no room above it.
        beside = y + 9.0 if y < _ABOVE_PX + 12.0 else y - 8.0
        parts.append(pen.text((right, beside), tr("bound"), colour="crit", anchor="end"))
    return svg(picture.title, joined(parts), _SIZE, about=picture.text)


def _bars(pen: Pen, at: int, bar: MemoryBar, picture: MemoryPicture) -> Markup:
    slot, n_hues = PLOT_WIDTH_PX / len(picture.bars), 1 + picture.has_vram
    wide = max(1.0, min(_MOST_BAR_PX, slot * _BAR_PART / n_hues))
    left = _LEFT_PX + slot * (at + 0.5) - wide * n_hues / 2.0
    parts = [tag("title", bar.tooltip)]
    for hue, share in enumerate((bar.ram, bar.vram)[:n_hues]):
        if share is not None:
            height = max(1.0, share * PLOT_HEIGHT_PX)
            colour = "crit" if bar.is_over and hue == 0 else f"series-{hue}"
            corner = (left + hue * wide, _BOTTOM_PX - height)
            parts.append(pen.box(corner, (max(0.5, wide - 1.0), height), colour))
    return tag("g", *parts)


def _heights(pen: Pen, ticks: Iterable[CurveTick]) -> Markup:
    parts: list[Markup] = []
    for tick in ticks:
        (left, y), (right, _) = _place(0.0, tick.at), _place(1.0, tick.at)
        parts.append(pen.line((left, y), (right, y), "border"))
        parts.append(pen.text((left - 8.0, y), tick.text, anchor="end"))
    return joined(parts)


def _below(pen: Pen, ticks: Iterable[tuple[float, str]]) -> Markup:
    parts: list[Markup] = []
    taken_to = 0.0
    for at, text in ticks:
        width = text_width(text)
        left = min(_place(at, 0.0)[0] - width / 2.0, _SIZE.width - width)
        if left >= taken_to:
            parts.append(pen.text((left, _BOTTOM_PX + _BELOW_PX), text))
            taken_to = left + width + 8.0
    return joined(parts)


def _line(pen: Pen, curve: Curve, colour: str, *, width: float, opacity: float = 1.0) -> Markup:
    places = [_place(*point) for point in curve]
    ink = pen.ink.colour(colour)
    if len(places) == 1:
        (x, y), style = places[0], f"fill:{ink};fill-opacity:{opacity:g}"
        return tag("circle", cx=x, cy=y, r=2.0, style=style)
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    style = f"fill:none;stroke:{ink};stroke-width:{width:g};stroke-opacity:{opacity:g}"
    return tag("path", d=path, style=style)


def _place(x: float, y: float) -> Point:
    return _LEFT_PX + x * PLOT_WIDTH_PX, _BOTTOM_PX - y * PLOT_HEIGHT_PX
