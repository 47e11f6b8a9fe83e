"""Everything that a report of a run says, as plain data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kmonitor.connect.hub_client import HubClient
from kmonitor.export.events import read_event
from kmonitor.ui.charts.arrangement import ChartSetup
from kmonitor.ui.charts.cards import CARD_METRICS, CardPicture
from kmonitor.ui.events.event_log import LogRow
from kmonitor.ui.events.last_minute import COLUMNS as LAST_MINUTE
from kmonitor.ui.events.last_minute import asked_from_s, last_minute
from kmonitor.ui.events.reclaims import ReclaimRow
from kmonitor.ui.events.run_end import end_picture
from kmonitor.ui.plots.chart_state import ChartPicture
from kmonitor.ui.report.study_contents import StudyContents, study_contents
from kmonitor.ui.report.told_desk import ToldDesk
from kmonitor.ui.runs.readings import ReadingGroup
from kmonitor.ui.runs.run_states import has_ended_badly
from kmonitor.ui.shell.header import HeaderPicture, header_picture
from kmonitor.ui.studies.study_store import is_study
from kmonitor.ui.verdicts.evidence import EvidencePicture, evidence_picture
from kmonitor_agent.wire.messages.events import (
    BootStarted,
    FitStarted,
    ModelFacts,
    SourceOf,
    Sources,
)
from kmonitor_agent.wire.messages.unions import RunSummary

CHART_WIDTH_PX: Final = 600
"""Curves are thinned to this width."""


@dataclass(frozen=True, slots=True)
class ReportChart:
    """One metric: the words of its card, and its chart."""

    card: CardPicture
    picture: ChartPicture


@dataclass(frozen=True, slots=True)
class ReportContents:
    """A run as it stood when the report was made.

    Attributes:
        run: Its summary.
        header: Title, subtitle and chips.
        made_wall_s: When the report was made, UTC epoch seconds.
        end: How it ended, where that was badly: its last minute, and what can go on.
        study: What its folds came to; None: it is a training of its own, and no study.
        charts: As in the window, left to right and top to bottom; then the training's metrics.
        verdicts: What was judged, with evidence, forecast and advice.
        reclaims: Records of saves, collects, reloads and restarts, oldest first.
        events: What happened, oldest first.
        readings: The last memory readings by group, and why others are missing.
        model: The parts of the last fit's model, in order; empty when none was told.
        fit: How the last fit was called; None before the first.
        boots: The run's processes, oldest first.
        sources: Of each measured field, as told last.
    """

    run: RunSummary
    header: HeaderPicture
    made_wall_s: float
    end: EvidencePicture | None
    study: StudyContents | None
    charts: Sequence[ReportChart]
    verdicts: Sequence[EvidencePicture]
    reclaims: Sequence[ReclaimRow]
    events: Sequence[LogRow]
    readings: Sequence[ReadingGroup]
    model: Sequence[ModelFacts]
    fit: FitStarted | None
    boots: Sequence[BootStarted]
    sources: Sequence[SourceOf]


@dataclass(frozen=True, slots=True)
class _Facts:
    """What no panel of the window shows."""

    model: Sequence[ModelFacts]
    fit: FitStarted | None
    boots: Sequence[BootStarted]
    sources: Sequence[SourceOf]


def report_contents(client: HubClient, run: RunSummary) -> ReportContents:
    """Ask a hub for all that a report says.

    Args:
        client: Of the run's hub.
        run: The run.

    Raises:
        Expected: The hub does not answer.
    """
    told = ToldDesk(client, run)
    desk, facts = told.desk, _facts(client, run.run)
    # Names as panels show them: without letters that turn a line around.
    shown = desk.book.current() or run
    now_wall_s = desk.now_wall_s()
    return ReportContents(
        run=shown,
        header=header_picture(shown, now_wall_s=now_wall_s, is_connected=True),
        made_wall_s=now_wall_s,
        end=_end(client, shown, now_wall_s),
        study=study_contents(client, told, shown) if is_study(shown) else None,
        charts=[] if is_study(shown) else _charts(told),
        verdicts=_verdicts(told, shown),
        reclaims=desk.reclaims.rows(run.run)[::-1],
        events=desk.log.rows()[::-1],
        readings=desk.readings(run.run).groups(),
        model=facts.model,
        fit=facts.fit,
        boots=facts.boots,
        sources=facts.sources,
    )


def _end(client: HubClient, run: RunSummary, now_wall_s: float) -> EvidencePicture | None:
    if not has_ended_badly(run):
        return None
    told = client.series(run.run, LAST_MINUTE, from_s=asked_from_s(run), buckets=4000)
    return end_picture(run, last_minute(told), now_wall_s=now_wall_s)


def _charts(told: ToldDesk) -> list[ReportChart]:
    charts: list[ReportChart] = []
    for metric in CARD_METRICS:
        card = told.charts.card(metric, now_s=0.0)
        picture = told.charts.picture(metric, CHART_WIDTH_PX).without_offer()
        if card is not None:
            charts.append(ReportChart(card, picture))
    for kind in told.kinds:
        card = told.metrics.card(kind, ChartSetup(kind.key))
        if card is not None and not card.absent:
            picture = told.metrics.picture(kind, ChartSetup(kind.key), CHART_WIDTH_PX)
            charts.append(ReportChart(card, picture))
    return charts


def _verdicts(told: ToldDesk, run: RunSummary) -> list[EvidencePicture]:
    desk = told.desk
    return [
        evidence_picture(run, verdict, now_wall_s=desk.now_wall_s(), can_ask=True)
        for metric in CARD_METRICS
        if (verdict := desk.verdicts.get(run.run, metric)) is not None
    ]


def _facts(client: HubClient, run: str) -> _Facts:
    models, boots, sources = list[ModelFacts](), list[BootStarted](), dict[str, SourceOf]()
    fit: FitStarted | None = None
    for row in client.all_rows(run, ("boot", "fit_start", "model", "sources")):
        match read_event(row):
            case BootStarted() as boot:
                boots.append(boot)
            case FitStarted() as started:
                fit = started
            case ModelFacts() as part:
                # The last fit's model only, each part once.
                models = [each for each in models if each.fit == part.fit]
                models = [*(each for each in models if each.part != part.part), part]
            case Sources(sources=told):
                sources |= {source.field: source for source in told}
            case _:
                pass
    return _Facts(models, fit, boots, list(sources.values()))
