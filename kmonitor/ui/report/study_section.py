"""A study's part of a report: how far it is, each fold, what they came to, and the ledger."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from kmonitor.ui.report.marks import mark_of
from kmonitor.ui.report.markup import Markup, Part, joined, tag
from kmonitor.ui.report.study_contents import StudyContents
from kmonitor.ui.report.study_svg import memory_svg, metric_svg
from kmonitor.ui.report.tables import Head, table
from kmonitor.ui.studies.fold_charts import MetricPicture
from kmonitor.ui.studies.folds import fold_name
from kmonitor.ui.studies.study_memory import MemoryPicture
from kmonitor.ui.studies.study_page import COLUMNS, LedgerRow
from kmonitor.ui.text.formats import count_text
from kmonitor.ui.text.language import tr

_NUMBERS: Final = ("fold", "steps", "ram", "growth", "vram")
_STILL: Final = ("attempt", "state", "time")


def study_section(study: StudyContents) -> Markup:
    """How far a study is, one cell a fold, its charts as far as there is something, its ledger."""
    return joined((_folds(study), _charts(study), _ledger(study)))


def _folds(study: StudyContents) -> Markup:
    page = study.page
    cells = [
        _fold(study, list(rows)) for _, rows in groupby(page.rows, key=lambda each: each.fold)
    ]
    return tag(
        "section",
        tag("h2", tr("Trials") if study.is_search else tr("Folds")),
        tag("p", page.lead, class_="value"),
        *(tag("p", words, class_="sub") for words in (page.forecast, page.facts) if words),
        tag("div", *cells, class_="folds") if cells else "",
    )


def _fold(study: StudyContents, rows: Sequence[LedgerRow]) -> Markup:
    last = rows[-1]
    said = dict(zip(COLUMNS, last.cells, strict=True))
    n_tries = sum(bool(row.cells[COLUMNS.index("attempt")]) for row in rows)
    took = [tr("{n} tries").format(n=count_text(n_tries))] if n_tries > 1 else []
    took += [said["time"]] if said["time"] else []
    held = [tr("RAM {size}").format(size=said["ram"])] if said["ram"] else []
    held += [tr("VRAM {size}").format(size=said["vram"])] if said["vram"] else []
    lines = [" \u00b7 ".join(parts) for parts in (took, held) if parts]
    return tag(
        "div",
        tag("h3", fold_name(last.fold, "trial" if study.is_search else "fold")),
        tag("p", f"{mark_of(last.tone)} {said['state']}", class_=last.tone),
        *(tag("p", line, class_="sub") for line in lines),
        tag("p", said["why"]) if said["why"] else "",
        class_=f"card fold {last.tone}",
    )


def _charts(study: StudyContents) -> Markup:
    cards = [_metric(each) for each in study.metrics[:1]]
    cards += [_memory(study.memory)] if study.memory.bars else []
    if not cards:
        return Markup()
    parts = [tag("h2", tr("Charts")), tag("div", *cards, class_="grid")]
    if len(study.metrics) > 1:
        heads = [Head(tr("Metric")), Head(tr("Value"), "number"), Head("", "long")]
        told: list[list[Part]] = [[m.metric, m.value, m.text] for m in study.metrics]
        parts += [tag("h2", tr("Metrics")), table(heads, told)]
    return tag("section", *parts)


def _metric(picture: MetricPicture) -> Markup:
    return tag(
        "div",
        tag("h3", picture.metric),
        tag("div", tag("span", picture.value, class_="value"), class_="top"),
        tag("p", picture.text, class_="mute"),
        metric_svg(picture),
        class_="card",
    )


def _memory(picture: MemoryPicture) -> Markup:
    hues = tr("left RAM, right VRAM") if picture.has_vram else ""
    return tag(
        "div",
        tag("h3", picture.title),
        tag("div", tag("span", picture.text, class_="value"), class_="top"),
        tag("p", hues, class_="mute") if hues else "",
        memory_svg(picture),
        class_="card",
    )


def _ledger(study: StudyContents) -> Markup:
    rows = study.page.rows
    if not rows:
        return Markup()
    titles = _titles(study)
    shown = [key for key in COLUMNS if any(row.cells[COLUMNS.index(key)] for row in rows)]
    heads = [
        Head(titles[key], "number" if key in _NUMBERS else "still" if key in _STILL else "long")
        for key in shown
    ]
    cells = [[_cell(row, key) for key in shown] for row in rows]
    return tag("section", tag("h2", tr("Ledger")), table(heads, cells))


def _cell(row: LedgerRow, key: str) -> Part:
    text = row.cells[COLUMNS.index(key)]
    return tag("span", f"{mark_of(row.tone)} {text}", class_=row.tone) if key == "state" else text


def _titles(study: StudyContents) -> dict[str, str]:
    return {
        "fold": tr("Trial") if study.is_search else tr("Fold"),
        "attempt": tr("Try"),
        "state": tr("State"),
        "time": tr("Time"),
        "steps": tr("Steps"),
        "ram": tr("RAM peak"),
        "growth": tr("Growth"),
        "vram": tr("VRAM peak"),
        "why": tr("Why"),
    }
