"""Where a run ran, with which versions, and where each figure comes from."""

from collections.abc import Iterable, Sequence

from kmonitor.ui.limits.limit_text import limit_text
from kmonitor.ui.report.contents import ReportContents
from kmonitor.ui.report.markup import Markup, Part, tag
from kmonitor.ui.report.tables import Head, facts, table
from kmonitor.ui.runs.readings import ReadingGroup
from kmonitor.ui.runs.run_states import state_picture
from kmonitor.ui.text.formats import bytes_text, day_clock_text, duration_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.events import BootStarted, SourceOf


def environment_section(contents: ReportContents) -> Markup:
    """Host, versions, processes; readings and sources, which a study's own process has none of."""
    boots, readings, sources = contents.boots, contents.readings, contents.sources
    return tag(
        "section",
        tag("h2", tr("Environment")),
        facts(_facts(contents)),
        tag("h2", tr("Processes")) if len(boots) > 1 else "",
        _boots(boots) if len(boots) > 1 else "",
        tag("h2", tr("Last readings")) if readings else "",
        _readings(readings) if readings else "",
        tag("h2", tr("Where each figure comes from")) if sources else "",
        _sources(sources) if sources else "",
    )


def _facts(contents: ReportContents) -> list[tuple[str, str]]:
    run = contents.run
    boot = contents.boots[-1] if contents.boots else None
    state = state_picture(run, now_wall_s=contents.made_wall_s)
    versions = "\n".join(f"{name} {version}" for name, version in sorted(run.versions.items()))
    unavailable = (
        [f"{name}: {why}" for name, why in sorted(boot.unavailable.items())] if boot else []
    )
    checkpoint = run.checkpoint_bytes
    return [
        (tr("Host"), run.host),
        (tr("User"), boot.user if boot else ""),
        (tr("Script"), boot.script if boot else ""),
        (tr("Job"), run.job),
        (tr("Started"), day_clock_text(run.started_wall_s)),
        (tr("Ran"), duration_text(run.duration_s)),
        (tr("State"), f"{state.word}. {state.why}" if state.why else state.word),
        (tr("Backend"), run.backend),
        (tr("Versions"), versions),
        (tr("Limits"), "\n".join(limit_text(limit) for limit in run.limits)),
        (tr("Last checkpoint"), "" if checkpoint is None else bytes_text(checkpoint)),
        (tr("Not available"), "\n".join(unavailable)),
    ]


def _boots(boots: Iterable[BootStarted]) -> Markup:
    heads = [Head(tr("Started"), "still"), Head(tr("Host")), Head(tr("Process"), "number")]
    rows: list[list[Part]] = [
        [day_clock_text(boot.started_wall_s), boot.host, str(boot.pid)] for boot in boots
    ]
    return table(heads, rows)


def _readings(groups: Sequence[ReadingGroup]) -> Markup:
    heads = [Head(tr("Reading"), "long"), Head(tr("Value"), "number"), Head(tr("Source"))]
    return table(heads, [row for group in groups for row in _group(group)])


def _group(group: ReadingGroup) -> list[list[Part]]:
    rows: list[list[Part]] = [
        [f"{group.title}: {each.title}", each.value, each.tooltip] for each in group.rows
    ]
    if group.absent:
        absent = tag("span", group.absent, class_="mute")
        rows.append([f"{group.title}: {tr('the rest')}", "", absent])
    return rows


def _sources(sources: Iterable[SourceOf]) -> Markup:
    heads = [
        Head(tr("Figure"), "long"),
        Head(tr("Unit")),
        Head(tr("Source, or why there is none")),
    ]
    rows: list[list[Part]] = [
        [each.field, each.unit, each.source or tag("span", each.absent, class_="mute")]
        for each in sources
    ]
    return table(heads, rows)
