"""Section of a report about a study: progress, each fold, charts as SVG, and attempts."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from kmonitor.ui.memory.batch_curve import AxisTick
from kmonitor.ui.report.chart_svg import DrawingSize, Point, SvgPen, svg, text_width
from kmonitor.ui.report.contents import PLOT_HEIGHT_PX, PLOT_WIDTH_PX, StudyContents
from kmonitor.ui.report.markup import Markup, Part, TableHead, joined, table_markup, tag, tone_mark
from kmonitor.ui.report.style import DrawingColours
from kmonitor.ui.studies.fold_charts import Curve, FoldMemoryBar, FoldMemoryState, FoldMetricState
from kmonitor.ui.studies.folds import fold_name
from kmonitor.ui.studies.study_page import ATTEMPT_COLUMNS, AttemptRow
from kmonitor.ui.text.formats import count_text
from kmonitor.ui.text.language import tr


def study_section(study: StudyContents) -> Markup:
    """Progress of a study, one cell per fold, its charts, its attempts."""
    return joined((_folds(study), _charts(study), _attempts_table(study)))


def _folds(study: StudyContents) -> Markup:
    page = study.page
    cells = [
        _fold(study, list(rows)) for _, rows in groupby(page.rows, key=lambda each: each.fold)
    ]
    return tag(
        "section",
        tag("h2", tr("Trials") if study.is_search else tr("Folds")),
        tag("p", page.lead, class_="value"),
        *(tag("p", text, class_="sub") for text in (page.forecast, page.facts) if text),
        tag("div", *cells, class_="folds") if cells else "",
    )


def _fold(study: StudyContents, rows: Sequence[AttemptRow]) -> Markup:
    last = rows[-1]
    cell_texts = dict(zip(ATTEMPT_COLUMNS, last.cells, strict=True))
    n_tries = sum(bool(row.cells[ATTEMPT_COLUMNS.index("attempt")]) for row in rows)
    took = [tr("{n} attempts").format(n=count_text(n_tries))] if n_tries > 1 else []
    took += [cell_texts["time"]] if cell_texts["time"] else []
    held = [tr("RAM {size}").format(size=cell_texts["ram"])] if cell_texts["ram"] else []
    held += [tr("VRAM {size}").format(size=cell_texts["vram"])] if cell_texts["vram"] else []
    lines = [" \u00b7 ".join(parts) for parts in (took, held) if parts]
    return tag(
        "div",
        tag("h3", fold_name(last.fold, "trial" if study.is_search else "fold")),
        tag("p", f"{tone_mark(last.tone)} {cell_texts['state']}", class_=last.tone),
        *(tag("p", line, class_="sub") for line in lines),
        tag("p", cell_texts["why"]) if cell_texts["why"] else "",
        class_=f"card fold {last.tone}",
    )


def _charts(study: StudyContents) -> Markup:
    cards = [_metric_card(each) for each in study.metrics[:1]]
    cards += [_memory_card(study.memory)] if study.memory.bars else []
    if not cards:
        return Markup()
    parts = [tag("h2", tr("Charts")), tag("div", *cards, class_="grid")]
    if len(study.metrics) > 1:
        heads = [TableHead(tr("Metric")), TableHead(tr("Value"), "number"), TableHead("", "long")]
        rows: list[list[Part]] = [[m.metric, m.value, m.text] for m in study.metrics]
        parts += [tag("h2", tr("Metrics")), table_markup(heads, rows)]
    return tag("section", *parts)


def _metric_card(state: FoldMetricState) -> Markup:
    return tag(
        "div",
        tag("h3", state.metric),
        tag("div", tag("span", state.value, class_="value"), class_="top"),
        tag("p", state.text, class_="mute"),
        metric_svg(state),
        class_="card",
    )


def _memory_card(state: FoldMemoryState) -> Markup:
    hues = tr("left: RAM, right: VRAM") if state.has_vram else ""
    return tag(
        "div",
        tag("h3", state.title),
        tag("div", tag("span", state.text, class_="value"), class_="top"),
        tag("p", hues, class_="mute") if hues else "",
        memory_svg(state),
        class_="card",
    )


_NUMBER_COLUMNS: Final = ("fold", "steps", "ram", "growth", "vram")
_UNFOLDED_COLUMNS: Final = ("attempt", "state", "time")


def _attempts_table(study: StudyContents) -> Markup:
    rows = study.page.rows
    if not rows:
        return Markup()
    titles = _attempt_titles(study)
    shown = [
        key
        for key in ATTEMPT_COLUMNS
        if any(row.cells[ATTEMPT_COLUMNS.index(key)] for row in rows)
    ]
    heads = [
        TableHead(
            titles[key],
            "number"
            if key in _NUMBER_COLUMNS
            else "still"
            if key in _UNFOLDED_COLUMNS
            else "long",
        )
        for key in shown
    ]
    cells = [[_attempt_cell(row, key) for key in shown] for row in rows]
    return tag("section", tag("h2", tr("Attempts")), table_markup(heads, cells))


def _attempt_cell(row: AttemptRow, key: str) -> Part:
    text = row.cells[ATTEMPT_COLUMNS.index(key)]
    return (
        tag("span", f"{tone_mark(row.tone)} {text}", class_=row.tone) if key == "state" else text
    )


def _attempt_titles(study: StudyContents) -> dict[str, str]:
    return {
        "fold": tr("Trial") if study.is_search else tr("Fold"),
        "attempt": tr("Attempt"),
        "state": tr("State"),
        "time": tr("Time"),
        "steps": tr("Steps"),
        "ram": tr("RAM peak"),
        "growth": tr("Growth"),
        "vram": tr("VRAM peak"),
        "why": tr("Reason"),
    }


_LEFT_PX: Final = 58.0
_ABOVE_PX: Final = 8.0
_BOTTOM_PX: Final = _ABOVE_PX + PLOT_HEIGHT_PX
_SIZE: Final = DrawingSize(_LEFT_PX + PLOT_WIDTH_PX + 12.0, _BOTTOM_PX + 20.0)
_BELOW_PX: Final = 13.0
_MOST_BAR_PX: Final = 22.0
_BAR_PART: Final = 0.74
"""Width of a fold's bars together, as a fraction of the fold's width."""


def metric_svg(state: FoldMetricState) -> Markup:
    """Curve of each fold as a thin line, their mean, and one standard deviation around it."""
    pen = SvgPen(DrawingColours())
    upper = [_point_px(x, high) for x, _, high in state.band]
    lower = [_point_px(x, low) for x, low, _ in reversed(state.band)]
    parts = [
        _y_axis_markup(pen, state.y_ticks),
        _x_axis_markup(pen, ((tick.at, tick.text) for tick in state.x_ticks)),
        pen.shape([*upper, *lower], "accent", opacity=0.16),
        *(_line(pen, line, "sub", width=1.0, opacity=0.45) for line in state.folds),
        _line(pen, state.mean, "accent", width=2.0),
    ]
    return svg(state.metric, joined(parts), _SIZE, about=f"{state.value}, {state.text}")


def memory_svg(state: FoldMemoryState) -> Markup:
    """One bar per fold, two if a GPU was used, and the memory limit of the folds."""
    pen = SvgPen(DrawingColours())
    slot = PLOT_WIDTH_PX / len(state.bars)
    parts = [_y_axis_markup(pen, state.y_ticks)]
    parts += [_bars(pen, at, bar, state) for at, bar in enumerate(state.bars)]
    parts.append(
        _x_axis_markup(
            pen,
            (((at + 0.5) * slot / PLOT_WIDTH_PX, str(b.fold)) for at, b in enumerate(state.bars)),
        )
    )
    if state.bound is not None:
        (left, y) = _point_px(0.0, state.bound)
        (right, _) = _point_px(1.0, state.bound)
        parts.append(pen.line((left, y), (right, y), "crit", dashes="2 3"))
        # Beneath the line where there is no room above it.
        beside = y + 9.0 if y < _ABOVE_PX + 12.0 else y - 8.0
        parts.append(pen.text((right, beside), tr("limit"), colour="crit", anchor="end"))
    return svg(state.title, joined(parts), _SIZE, about=state.text)


def _bars(pen: SvgPen, at: int, bar: FoldMemoryBar, state: FoldMemoryState) -> Markup:
    slot = PLOT_WIDTH_PX / len(state.bars)
    n_hues = 1 + state.has_vram
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


def _y_axis_markup(pen: SvgPen, ticks: Iterable[AxisTick]) -> Markup:
    parts: list[Markup] = []
    for tick in ticks:
        (left, y) = _point_px(0.0, tick.at)
        (right, _) = _point_px(1.0, tick.at)
        parts.append(pen.line((left, y), (right, y), "border"))
        parts.append(pen.text((left - 8.0, y), tick.text, anchor="end"))
    return joined(parts)


def _x_axis_markup(pen: SvgPen, ticks: Iterable[tuple[float, str]]) -> Markup:
    parts: list[Markup] = []
    occupied_to = 0.0
    for at, text in ticks:
        width = text_width(text)
        left = min(_point_px(at, 0.0)[0] - width / 2.0, _SIZE.width - width)
        if left >= occupied_to:
            parts.append(pen.text((left, _BOTTOM_PX + _BELOW_PX), text))
            occupied_to = left + width + 8.0
    return joined(parts)


def _line(pen: SvgPen, curve: Curve, colour: str, *, width: float, opacity: float = 1.0) -> Markup:
    points = [_point_px(*point) for point in curve]
    colour_text = pen.drawing_colours.colour(colour)
    if len(points) == 1:
        (x, y) = points[0]
        style = f"fill:{colour_text};fill-opacity:{opacity:g}"
        return tag("circle", cx=x, cy=y, r=2.0, style=style)
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    style = f"fill:none;stroke:{colour_text};stroke-width:{width:g};stroke-opacity:{opacity:g}"
    return tag("path", d=path, style=style)


def _point_px(x: float, y: float) -> Point:
    return _LEFT_PX + x * PLOT_WIDTH_PX, _BOTTOM_PX - y * PLOT_HEIGHT_PX
