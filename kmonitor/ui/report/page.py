"""A report as one HTML file: no script, nothing loaded from anywhere."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kmonitor.base.atomic_file import atomic_file
from kmonitor.connect.hub_client import HubClient
from kmonitor.ui.charts.cards import RateLabel
from kmonitor.ui.report.chart_svg import chart_svg
from kmonitor.ui.report.contents import ReportChart, ReportContents, report_contents
from kmonitor.ui.report.markup import Markup, escaped, joined, tag, tone_mark
from kmonitor.ui.report.sections import (
    environment_section,
    events_section,
    memory_map_section,
    model_section,
    reclaims_section,
)
from kmonitor.ui.report.study_section import study_section
from kmonitor.ui.report.style import DrawingColours, style_element
from kmonitor.ui.shell.header import ChipState
from kmonitor.ui.text.formats import NARROW_SPACE, day_clock_text
from kmonitor.ui.text.language import language_tag, tr
from kmonitor.ui.verdicts.evidence import EvidenceState
from kmonitor.ui.verdicts.verdict_label import VerdictLabel
from kmonitor_agent.wire.messages.unions import RunSummary
from kmonitor_agent.wire.release import VERSION


def write_report(client: HubClient, run: RunSummary, output: Path) -> None:
    """Write the report of a run; a file of that name is replaced.

    Args:
        client: Of the run's hub.
        run: The run.
        output: The file.

    Raises:
        UserError: The hub does not answer, or the file cannot be written; it is as it was.
    """
    page = report_page(report_contents(client, run))
    with atomic_file(output) as file:
        file.write(page.encode())


_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
"""Even if a text of a script were taken for markup, nothing could run or be loaded."""


def report_page(contents: ReportContents) -> str:
    """The whole file.

    Args:
        contents: What it says.
    """
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
        text = tr("No verdicts: no epoch has ended.")
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
    created = tr("Made by kmonitor {version} on {moment}.").format(
        version=VERSION, moment=day_clock_text(contents.created_wall_s)
    )
    note = tr("Names and text come from the training script.")
    return tag("footer", escaped(f"{created} {note}".replace(NARROW_SPACE, " ")))


_MAX_STEM_BYTES: Final = 120
_SHORT_ID_LETTERS: Final = 8


def file_stem(run: RunSummary) -> str:
    """A name for a file about a run, which no file system refuses: "resnet50-3f2a8c1e"."""
    # Without points: what follows one would be taken for the ending.
    letters = "".join(each if each.isalnum() or each in "-_" else "-" for each in run.name)
    name = letters.encode()[:_MAX_STEM_BYTES].decode(errors="ignore").strip("-")
    return f"{name or 'run'}-{run.run[:_SHORT_ID_LETTERS]}"
