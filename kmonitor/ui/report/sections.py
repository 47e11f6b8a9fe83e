"""Sections of a run's report: environment, model, reclaims, events."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from kmonitor.ui.events.event_log import EventLogRow
from kmonitor.ui.events.reclaims import ReclaimCell, ReclaimRow, reclaim_columns
from kmonitor.ui.limits.limit_text import limit_summary
from kmonitor.ui.memory.layers import PARTS, part_title
from kmonitor.ui.report.contents import MapContents, ReportContents
from kmonitor.ui.report.markup import Markup, Part, TableHead, facts_markup, table_markup, tag
from kmonitor.ui.runs.readings import ReadingGroup
from kmonitor.ui.runs.run_states import run_state_label
from kmonitor.ui.text.formats import (
    bytes_text,
    clock_text,
    count_text,
    day_clock_text,
    day_text,
    duration_text,
    number_text,
)
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.events import (
    FieldSource,
    FitStarted,
    LayerFacts,
    ModelFacts,
    SessionStarted,
)


def environment_section(contents: ReportContents) -> Markup:
    """Host, versions, processes; readings and sources, which a study's own process has none of."""
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
        (tr("Ran"), duration_text(run.duration_s)),
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
        rows.append([f"{group.title}: {tr('the rest')}", "", absent])
    return rows


def _sources(sources: Iterable[FieldSource]) -> Markup:
    heads = [
        TableHead(tr("Metric"), "long"),
        TableHead(tr("Unit")),
        TableHead(tr("Source, or the reason why it is missing")),
    ]
    rows: list[list[Part]] = [
        [each.field, each.unit, each.source or tag("span", each.absent, class_="mute")]
        for each in sources
    ]
    return table_markup(heads, rows)


def model_section(parts: Sequence[ModelFacts], fit: FitStarted | None) -> Markup:
    """The model of the last fit: how it was trained, its size, its layers.

    Args:
        parts: Of one fit's model.
        fit: How that fit was called; None: none was.
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
        (tr("Class"), model.kind),
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
            tr("Compiled by XLA"),
            "" if fit.jit_compile is None else _yes_or_no(is_so=fit.jit_compile),
        ),
        (tr("Eager"), _yes_or_no(is_so=True) if fit.run_eagerly else ""),
    ]


def _yes_or_no(*, is_so: bool) -> str:
    return tr("yes") if is_so else tr("no")


def memory_map_section(contents: MapContents) -> Markup:
    """Memory of a training of the run's model by layer, as the window's map has it."""
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
        parts += [tag("h2", tr("What would lower the peak")), tag("ul", *items)]
    return tag("section", *parts)


def _map_heads() -> list[TableHead]:
    sizes = (tr("Total"), *(part_title(part) for part in PARTS))
    return [
        TableHead(tr("Layer")),
        TableHead(tr("Class")),
        *(TableHead(title, "number") for title in sizes),
        TableHead(""),
    ]


def _layer_heads() -> list[TableHead]:
    return [
        TableHead(tr("Layer"), "long"),
        TableHead(tr("Class")),
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
    """Each save, collect, reload and restart with what it gave back."""
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
    """What happened, oldest first; of very many the newest."""
    title = tag("h2", tr("Events"))
    if not rows:
        return tag("section", title, tag("p", tr("No events yet."), class_="mute"))
    shown = rows[-_MAX_EVENTS:]
    left_out = len(rows) - len(shown)
    heads = [TableHead(tr("When"), "still"), TableHead("", "still"), TableHead(tr("Action"))]
    text = tr("{n} earlier ones are not shown; use kmonitor export to get them").format(n=left_out)
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
