"""A report as one HTML file: no scripts, and nothing loaded from elsewhere."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from kmonitor.base.atomic_file import atomic_file
from kmonitor.connect.hub_client import HubClient
from kmonitor.ui.charts.cards import RateLabel
from kmonitor.ui.events.event_log import EventLogRow
from kmonitor.ui.events.reclaims import ReclaimCell, ReclaimRow, reclaim_columns
from kmonitor.ui.limits.limit_text import limit_summary
from kmonitor.ui.memory.layers import PARTS, part_title
from kmonitor.ui.report.chart_svg import chart_svg
from kmonitor.ui.report.contents import MapContents, ReportChart, ReportContents, report_contents
from kmonitor.ui.report.markup import (
    Markup,
    Part,
    TableHead,
    escaped,
    facts_markup,
    joined,
    table_markup,
    tag,
    tone_mark,
)
from kmonitor.ui.report.study_section import study_section
from kmonitor.ui.report.style import DrawingColours, style_element
from kmonitor.ui.runs.readings import ReadingGroup
from kmonitor.ui.runs.run_states import run_state_label
from kmonitor.ui.shell.header import ChipState
from kmonitor.ui.text.formats import (
    NARROW_SPACE,
    bytes_text,
    clock_text,
    count_text,
    day_clock_text,
    day_text,
    duration_text,
    number_text,
)
from kmonitor.ui.text.language import language_tag, tr
from kmonitor.ui.verdicts.evidence import EvidenceState
from kmonitor.ui.verdicts.verdict_label import VerdictLabel
from kmonitor_agent.wire.messages.events import (
    FieldSource,
    FitStarted,
    LayerFacts,
    ModelFacts,
    SessionStarted,
)
from kmonitor_agent.wire.messages.unions import RunSummary
from kmonitor_agent.wire.release import VERSION


def environment_section(contents: ReportContents) -> Markup:
    """Host, versions, processes; readings and sources, which a study's own process lacks."""
    sessions = contents.sessions
    readings = contents.readings
    sources = contents.sources
    return tag(
        "section",
        tag("h2", tr("Environment")),
        facts_markup(_environment_facts(contents)),
        tag("h2", tr("Processes")) if len(sessions) > 1 else "",
        _sessions(sessions) if len(sessions) > 1 else "",
        tag("h2", tr("Last readings")) if readings else "",
        _readings(readings) if readings else "",
        tag("h2", tr("Sources of the metrics")) if sources else "",
        _sources(sources) if sources else "",
    )


def _environment_facts(contents: ReportContents) -> list[tuple[str, str]]:
    run = contents.run
    session = contents.sessions[-1] if contents.sessions else None
    state = run_state_label(run, now_wall_s=contents.created_wall_s)
    versions = "\n".join(f"{name} {version}" for name, version in sorted(run.versions.items()))
    unavailable = (
        [f"{name}: {why}" for name, why in sorted(session.unavailable.items())] if session else []
    )
    checkpoint = run.checkpoint_bytes
    return [
        (tr("Host"), run.host),
        (tr("User"), session.user if session else ""),
        (tr("Script"), session.script if session else ""),
        (tr("Job"), run.job),
        (tr("Started"), day_clock_text(run.started_wall_s)),
        (tr("Duration"), duration_text(run.duration_s)),
        (tr("State"), f"{state.label}. {state.why}" if state.why else state.label),
        (tr("Backend"), run.backend),
        (tr("Versions"), versions),
        (tr("Limits"), "\n".join(limit_summary(limit) for limit in run.limits)),
        (tr("Last checkpoint"), "" if checkpoint is None else bytes_text(checkpoint)),
        (tr("Not available"), "\n".join(unavailable)),
    ]


def _sessions(sessions: Iterable[SessionStarted]) -> Markup:
    heads = [
        TableHead(tr("Started"), "still"),
        TableHead(tr("Host")),
        TableHead(tr("Process"), "number"),
    ]
    rows: list[list[Part]] = [
        [day_clock_text(session.started_wall_s), session.host, str(session.pid)]
        for session in sessions
    ]
    return table_markup(heads, rows)


def _readings(groups: Sequence[ReadingGroup]) -> Markup:
    heads = [
        TableHead(tr("Reading"), "long"),
        TableHead(tr("Value"), "number"),
        TableHead(tr("Source")),
    ]
    return table_markup(heads, [row for group in groups for row in _reading_cells(group)])


def _reading_cells(group: ReadingGroup) -> list[list[Part]]:
    rows: list[list[Part]] = [
        [f"{group.title}: {each.title}", each.value, each.tooltip] for each in group.rows
    ]
    if group.absent:
        absent = tag("span", group.absent, class_="mute")
        rows.append([f"{group.title}: {tr('other readings')}", "", absent])
    return rows


def _sources(sources: Iterable[FieldSource]) -> Markup:
    heads = [
        TableHead(tr("Metric"), "long"),
        TableHead(tr("Unit")),
        TableHead(tr("Source, or why the value is missing")),
    ]
    rows: list[list[Part]] = [
        [each.field, each.unit, each.source or tag("span", each.absent, class_="mute")]
        for each in sources
    ]
    return table_markup(heads, rows)


def model_section(parts: Sequence[ModelFacts], fit: FitStarted | None) -> Markup:
    """The model of the last fit: training arguments, size, layers.

    Args:
        parts: Parts of one fit's model.
        fit: Arguments of that fit; None: there was none.
    """
    title = tag("h2", tr("Model"))
    if not parts:
        return tag("section", title, tag("p", tr("No model was reported."), class_="mute"))
    layers = [layer for part in parts for layer in part.layers]
    return tag(
        "section",
        title,
        facts_markup(_model_facts(parts[0], fit)),
        tag("h2", tr("Layers")) if layers else "",
        table_markup(_layer_heads(), [_layer_cells(layer) for layer in layers]) if layers else "",
    )


def _model_facts(model: ModelFacts, fit: FitStarted | None) -> list[tuple[str, str]]:
    slots = ", ".join(f"{slot.name} {bytes_text(slot.n_bytes)}" for slot in model.slots)
    size = tr("{n} ({size})").format(
        n=count_text(model.parameters), size=bytes_text(model.parameter_bytes)
    )
    state = bytes_text(model.slot_bytes) if model.slot_bytes else ""
    facts = [
        (tr("Name"), model.name),
        (tr("Type"), model.kind),
        (tr("Parameters"), size),
        (tr("Layers"), count_text(model.n_layers)),
        (tr("Optimizer"), model.optimizer),
        (tr("Optimizer state"), f"{state} ({slots})" if state and slots else state),
        (tr("Loss"), model.loss),
        (tr("Precision"), model.dtype_policy),
    ]
    return facts + (_fit_facts(fit) if fit is not None else [])


def _fit_facts(fit: FitStarted) -> list[tuple[str, str]]:
    rate = fit.learning_rate
    return [
        (tr("Fit"), count_text(fit.fit)),
        (tr("Epochs"), count_text(fit.epochs) if fit.epochs else ""),
        (tr("Steps per epoch"), count_text(fit.steps) if fit.steps else ""),
        (tr("Batch size"), count_text(fit.batch_size) if fit.batch_size else ""),
        (tr("Learning rate"), number_text(rate) if rate is not None else ""),
        (
            tr("Compiled with XLA"),
            "" if fit.jit_compile is None else _yes_or_no(is_so=fit.jit_compile),
        ),
        (tr("Eager"), _yes_or_no(is_so=True) if fit.run_eagerly else ""),
    ]


def _yes_or_no(*, is_so: bool) -> str:
    return tr("yes") if is_so else tr("no")


def memory_map_section(contents: MapContents) -> Markup:
    """Memory of the run's training by layer, as in the window's map."""
    totals = contents.totals
    # Where the connections of layers are not known, neither is the peak of other batches.
    lines = (*totals.interval.splitlines(), totals.tier, totals.measured, *totals.notes)
    parts: list[Part] = [
        tag("h2", tr("Memory map")),
        tag("p", tr("Peak {size}").format(size=totals.peak), class_="value"),
        *(tag("p", line, class_="mute") for line in lines if line),
        table_markup(_map_heads(), [row.cells for row in contents.rows]),
    ]
    if contents.points:
        heads = [TableHead(tr("Batch size"), "number"), TableHead(tr("Peak"), "number")]
        rows = [(count_text(each.batch), bytes_text(each.peak_bytes)) for each in contents.points]
        parts += [tag("h2", tr("Peak by batch size")), table_markup(heads, rows)]
        parts += [tag("p", contents.fit)] if contents.fit else []
    if contents.advice:
        items = [tag("li", f"{each.saved} {each.text}") for each in contents.advice]
        parts += [tag("h2", tr("Ways to lower the peak")), tag("ul", *items)]
    return tag("section", *parts)


def _map_heads() -> list[TableHead]:
    sizes = (tr("Total"), *(part_title(part) for part in PARTS))
    return [
        TableHead(tr("Layer")),
        TableHead(tr("Type")),
        *(TableHead(title, "number") for title in sizes),
        TableHead(""),
    ]


def _layer_heads() -> list[TableHead]:
    return [
        TableHead(tr("Layer"), "long"),
        TableHead(tr("Type")),
        TableHead(tr("Output")),
        TableHead(tr("Parameters"), "number"),
        TableHead(tr("Trainable"), "number"),
        TableHead(tr("Size"), "number"),
        TableHead(tr("Precision")),
    ]


def _layer_cells(layer: LayerFacts) -> list[Part]:
    return [
        layer.name,
        layer.kind,
        layer.output_shape,
        count_text(layer.parameters),
        count_text(layer.trainable_parameters),
        bytes_text(layer.parameter_bytes),
        layer.dtype,
    ]


_COLUMN_KINDS: Final = {"when": "still", "level": "still", "held": "long", "result": "long"}
_CELL_CLASSES: Final = {"plain": "", "mute": "mute", "warn": "warn"}


def reclaims_section(rows: Sequence[ReclaimRow]) -> Markup:
    """Each save, collect, reload and restart with the memory that it released."""
    title = tag("h2", tr("Reclaims"))
    if not rows:
        return tag("section", title, tag("p", tr("Nothing was reclaimed."), class_="mute"))
    heads = [
        TableHead(each.title, "number" if each.is_number else _COLUMN_KINDS.get(each.key, ""))
        for each in reclaim_columns()
    ]
    return tag(
        "section",
        title,
        table_markup(heads, [[_reclaim_cell(c) for c in row.cells] for row in rows]),
    )


def _reclaim_cell(cell: ReclaimCell) -> Part:
    # The window's table has one line a row, and the rest under the pointer.
    text = cell.tooltip if "\n" in cell.tooltip else cell.text
    return text if cell.tone == "plain" else tag("span", text, class_=_CELL_CLASSES[cell.tone])


_MAX_EVENTS: Final = 2000
_LEVEL_CLASSES: Final = {"info": "", "warning": "warn", "error": "crit"}
_LEVEL_MARKS: Final = {"info": "", "warning": "\u25b2", "error": "\u2715"}


def events_section(rows: Sequence[EventLogRow]) -> Markup:
    """Events, oldest first; only the newest if there are very many."""
    title = tag("h2", tr("Events"))
    if not rows:
        return tag("section", title, tag("p", tr("No events yet."), class_="mute"))
    shown = rows[-_MAX_EVENTS:]
    left_out = len(rows) - len(shown)
    heads = [TableHead(tr("When"), "still"), TableHead("", "still"), TableHead(tr("Action"))]
    text = tr("{n} earlier events are not shown; use kmonitor export to get them").format(
        n=left_out
    )
    return tag(
        "section",
        title,
        tag("p", text, class_="mute") if left_out else "",
        table_markup(heads, _event_cells(shown)),
    )


def _event_cells(rows: Sequence[EventLogRow]) -> list[list[Part]]:
    cells: list[list[Part]] = []
    days = ["", *(day_text(row.wall_s) for row in rows)]
    for row, (before, day) in zip(rows, pairwise(days), strict=True):
        # The day is written where another one begins.
        moment = row.time if day == before else f"{day} {clock_text(row.wall_s)}"
        level = row.line.level
        mark = tag("span", _LEVEL_MARKS[level], class_=_LEVEL_CLASSES[level], title=level)
        cells.append([moment, mark, tag("span", row.line.text, class_=_LEVEL_CLASSES[level])])
    return cells


def write_report(client: HubClient, run: RunSummary, output: Path) -> None:
    """Write the report of a run; an existing file is replaced.

    Raises:
        UserError: The hub does not answer, or the file cannot be written; an existing file is
            unchanged.
    """
    page = report_page(report_contents(client, run))
    with atomic_file(output) as file:
        file.write(page.encode())


_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
"""Second defence: if a script's text were taken for markup, it could run and load nothing."""


def report_page(contents: ReportContents) -> str:
    body = tag(
        "main",
        _head(contents),
        _end(contents.end),
        *_sections(contents),
        environment_section(contents),
        _foot(contents),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width,initial-scale=1"),
        tag("title", f"{contents.run.name} \u00b7 kmonitor"),
        style_element(),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', body), lang=language_tag())}\n"


def _sections(contents: ReportContents) -> tuple[Markup, ...]:
    if contents.study is not None:
        return study_section(contents.study), events_section(contents.events)
    return (
        _charts(contents.charts),
        _verdicts(contents),
        reclaims_section(contents.reclaims),
        events_section(contents.events),
        model_section(contents.model, contents.fit),
        *([memory_map_section(contents.memory_map)] if contents.memory_map else []),
    )


def _head(contents: ReportContents) -> Markup:
    header = contents.header
    chips = [tag("span", _chip_text(chip), class_=f"chip {chip.tone}") for chip in header.chips]
    note = [line for line in contents.run.note.splitlines() if line.strip()]
    return tag(
        "header",
        tag("h1", header.title),
        tag("p", header.subtitle, class_="sub"),
        tag("p", f"kmonitor run {contents.run.run}", class_="mute"),
        *(tag("p", line) for line in note),
        tag("div", *chips, class_="chips"),
    )


def _chip_text(chip: ChipState) -> str:
    # The colour alone would not do.
    return f"{tone_mark(chip.tone)} {chip.text}" if chip.icon else chip.text


def _end(end: EvidenceState | None) -> Markup | str:
    if end is None:
        return ""
    lines = tag("ul", *(tag("li", line) for line in end.lines)) if end.lines else ""
    card = tag("div", tag("p", end.lead), lines, class_=f"card verdict {end.tone}")
    return tag("section", tag("h2", end.subtitle), card)


def _charts(charts: Iterable[ReportChart]) -> Markup:
    cards = [_chart(each) for each in charts]
    return tag("section", tag("h2", tr("Charts")), tag("div", *cards, class_="grid"))


def _chart(chart: ReportChart) -> Markup:
    card = chart.card
    limit = tag("span", card.limit, class_=f"end {card.limit_tone}")
    source = "" if card.absent else tr("Source: {source}").format(source=card.tooltip)
    return tag(
        "div",
        tag(
            "div",
            tag("h3", card.title),
            tag("span", card.note, class_="mute"),
            *([limit] if card.limit else []),
            class_="top",
        ),
        tag("div", tag("span", card.value, class_="value"), _rate(card.rate), class_="top"),
        _verdict_line(card.verdict),
        *(tag("p", line, class_="mute") for line in card.hint.splitlines()),
        chart_svg(chart.chart_state, DrawingColours(), about=card.description),
        tag("p", source, class_="mute"),
        class_="card",
    )


def _verdict_line(verdict: VerdictLabel) -> Markup:
    verdict_text = " \u00b7 ".join(text for text in (verdict.text, verdict.forecast) if text)
    # A line also where there is nothing to say, so that the charts line up.
    text = f"{tone_mark(verdict.tone)} {verdict_text}" if verdict_text else NARROW_SPACE
    return tag("p", text, class_=verdict.tone)


def _rate(rate: RateLabel) -> Markup:
    tone = "warn" if rate.direction > 0 else "mute"
    return tag("span", rate.with_arrow, class_=tone)


def _verdicts(contents: ReportContents) -> Markup:
    if not contents.verdicts:
        text = tr("No verdicts: no epoch has completed.")
        return tag("section", tag("h2", tr("Verdicts")), tag("p", text, class_="mute"))
    cards = [_verdict(each, contents.run.run) for each in contents.verdicts]
    return tag("section", tag("h2", tr("Verdicts")), tag("div", *cards, class_="grid"))


def _verdict(verdict: EvidenceState, run: str) -> Markup:
    advice = [f"{title} (kmonitor command {run[:8]} {name})" for name, title in verdict.actions]
    advice += verdict.advice
    helps = joined(
        (
            tag("p", tr("What may help"), class_="sub"),
            tag("ul", *(tag("li", each) for each in advice)),
        )
    )
    return tag(
        "div",
        tag("h3", f"{tone_mark(verdict.tone)} {verdict.title}", class_=verdict.tone),
        tag("p", verdict.lead),
        tag("ul", *(tag("li", line) for line in verdict.lines)) if verdict.lines else "",
        helps if advice else "",
        class_=f"card verdict {verdict.tone}",
    )


def _foot(contents: ReportContents) -> Markup:
    created = tr("Generated by kmonitor {version} on {moment}.").format(
        version=VERSION, moment=day_clock_text(contents.created_wall_s)
    )
    note = tr("Names and text come from the training script.")
    return tag("footer", escaped(f"{created} {note}".replace(NARROW_SPACE, " ")))


_MAX_STEM_BYTES: Final = 120
_SHORT_ID_LETTERS: Final = 8


def file_stem(run: RunSummary) -> str:
    """Return a file name for a run that every file system accepts: "resnet50-3f2a8c1e"."""
    # Without points: what follows one would be taken for the ending.
    letters = "".join(each if each.isalnum() or each in "-_" else "-" for each in run.name)
    name = letters.encode()[:_MAX_STEM_BYTES].decode(errors="ignore").strip("-")
    return f"{name or 'run'}-{run.run[:_SHORT_ID_LETTERS]}"
