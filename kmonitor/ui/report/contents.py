"""Contents of a report about a run or a study, as plain data loaded from a hub."""

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from kmonitor.connect.hub_client import HubClient, HubRefused
from kmonitor.export.events import decode_row
from kmonitor.memory.what_if import BatchPeak
from kmonitor.ui.charts.arrangement import ChartSetup
from kmonitor.ui.charts.cards import ChartCardState
from kmonitor.ui.charts.chart_kinds import PARTS_KEY, STANDARD_METRICS, available_chart_kinds
from kmonitor.ui.charts.extra_charts import ExtraCharts
from kmonitor.ui.charts.feed import ChartFeed
from kmonitor.ui.charts.standard_charts import StandardCharts
from kmonitor.ui.events.event_log import EventLogRow
from kmonitor.ui.events.reclaims import ReclaimRow
from kmonitor.ui.events.run_end import LAST_MINUTE_COLUMNS as LAST_MINUTE
from kmonitor.ui.events.run_end import last_minute_start_s, read_last_minute, run_end_state
from kmonitor.ui.memory.batch_curve import (
    PeakReductionRow,
    batch_fit_summary,
    peak_reduction_rows,
)
from kmonitor.ui.memory.layers import MapRow, map_rows
from kmonitor.ui.memory.map_estimator import MapEstimator
from kmonitor.ui.memory.run_subject import run_subject
from kmonitor.ui.memory.subjects import MapSubject
from kmonitor.ui.memory.totals import MapTotalsState, map_totals_state
from kmonitor.ui.plots.chart_state import ChartState
from kmonitor.ui.runs.readings import ReadingGroup
from kmonitor.ui.runs.run_states import has_ended, has_ended_badly
from kmonitor.ui.shell.header import HeaderState, header_state
from kmonitor.ui.studies.fold_charts import FoldMemoryState, FoldMetricState, fold_memory_state
from kmonitor.ui.studies.folds import attempts_by_fold
from kmonitor.ui.studies.study_page import StudyState, study_state
from kmonitor.ui.studies.study_store import folds_of, is_search, is_study
from kmonitor.ui.verdicts.evidence import EvidenceState, evidence_state
from kmonitor.ui.verdicts.verdict_text import is_said
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.fold_identity import Noun
from kmonitor_agent.wire.messages.events import (
    FieldSource,
    FieldSources,
    FitStarted,
    ModelFacts,
    SessionStarted,
)
from kmonitor_agent.wire.messages.unions import (
    ErrorMessage,
    Message,
    RowsReply,
    RowsRequest,
    RunsReply,
    RunSummary,
    SeriesReply,
    SeriesRequest,
    VerdictsReply,
    VerdictsRequest,
)
from kmonitor_agent.wire.messages.verdict_events import VERDICT_METRICS

CHART_WIDTH_PX: Final = 600
"""Curves are thinned to this width."""

PLOT_WIDTH_PX: Final = 530
PLOT_HEIGHT_PX: Final = 200
"""Size of the bars and lines in a study's charts."""


@dataclass(frozen=True, slots=True)
class ReportChart:
    card: ChartCardState
    chart_state: ChartState


@dataclass(frozen=True, slots=True)
class StudyContents:
    """A study as it was when the report was made.

    Attributes:
        page: Progress, each fold, and the attempts.
        memory: Peak memory of each fold.
        metrics: Metrics of the folds' epochs, the default one first; empty: no fold reported an
            epoch.
        is_search: True if the folds are the trials of a search.
    """

    page: StudyState
    memory: FoldMemoryState
    metrics: Sequence[FoldMetricState]
    is_search: bool


@dataclass(frozen=True, slots=True)
class MapContents:
    """The memory map of a run's model, as the window shows it.

    Attributes:
        totals: Peak as text, with its bar.
        rows: Memory by layer.
        points: Peaks over the batch.
        fit: Largest batches within the run's limit, as text; may be empty.
        advice: Changes that would lower the peak.
    """

    totals: MapTotalsState
    rows: Sequence[MapRow]
    points: Sequence[BatchPeak]
    fit: str
    advice: Sequence[PeakReductionRow]


@dataclass(frozen=True, slots=True)
class ReportContents:
    """A run as it was when the report was made.

    Attributes:
        header: Title, subtitle and chips.
        created_wall_s: Time of the report, UTC epoch seconds.
        end: End of the run if it ended badly: its last minute, and how to continue.
        study: Results of the folds; None: the run is a training, and no study.
        charts: As in the window, left to right and top to bottom; then the training's metrics.
        verdicts: Verdicts, with evidence, forecast and advice.
        reclaims: Records of saves, collects, reloads and restarts, oldest first.
        events: Events, oldest first.
        readings: Last memory readings by group, and the reason why others are missing.
        model: Parts of the last fit's model, in order; empty: none was reported.
        memory_map: Memory map of that model; None: there is none.
        fit: Arguments of the last fit; None before the first.
        sessions: The run's processes, oldest first.
        sources: Source of each measured field, as reported last.
    """

    run: RunSummary
    header: HeaderState
    created_wall_s: float
    end: EvidenceState | None
    study: StudyContents | None
    charts: Sequence[ReportChart]
    verdicts: Sequence[EvidenceState]
    reclaims: Sequence[ReclaimRow]
    events: Sequence[EventLogRow]
    readings: Sequence[ReadingGroup]
    model: Sequence[ModelFacts]
    memory_map: MapContents | None
    fit: FitStarted | None
    sessions: Sequence[SessionStarted]
    sources: Sequence[FieldSource]


_MAX_EXTRA_CHARTS: Final = 40


class ReportLoader:
    """A workspace without a window, whose requests are answered synchronously; for one thread.

    Attributes:
        workspace: State of the run, which is the selected and only one.
        charts: Charts of the run, in epochs if it has any, else in seconds.
        metrics: Further charts: training metrics and GPU readings.
        kinds: Kinds of further charts that the run has.
    """

    def __init__(self, client: HubClient, run: RunSummary) -> None:
        """Request everything that a window would. Raises: `HubUnreachable`, `HubAccessDenied`."""
        self._client = client
        self._run = run
        self._requests: deque[tuple[int, Message]] = deque()
        self._number = 0
        self.workspace = Workspace(clock=SystemClock(), user="")
        self.workspace.attach_hub(self._send_request)
        self._feed = ChartFeed(self._send_request)
        self.charts = StandardCharts(self.workspace, self._feed)
        self.workspace.attach_charts(self._feed)
        self.metrics = ExtraCharts(self.workspace, self._feed, self.charts)
        self._fill()
        self.kinds = [
            kind
            for kind in available_chart_kinds(self._feed.have([run.run]))
            if kind.group in ("training", "gpu") or kind.key == PARTS_KEY
        ][:_MAX_EXTRA_CHARTS]
        self._feed.want(column for kind in self.kinds for column in kind.requested_columns)
        self._apply_replies()
        has_epochs = len(self._feed.store.epoch_marks(run.run, "epochs")) > 0
        self.charts.count("epochs" if has_epochs else "seconds")

    def load_epochs(self, runs: Sequence[str]) -> None:
        """Load the epochs of these runs into the workspace's metrics of folds."""
        self.workspace.fold_metrics.want(runs)
        self._apply_replies()

    def _fill(self) -> None:
        hub = self._client.hub()
        reply = RunsReply(
            request_id=0,
            hub=hub.hub,
            change=self._run.change,
            head=hub.rows,
            version=hub.version,
            host=hub.host,
            runs=[self._run],
        )
        self.workspace.connected(hub)
        self.workspace.run_store.want(self._run.run)
        self.workspace.apply_message(reply)
        self._apply_replies()

    def _apply_replies(self) -> None:
        while self._requests:
            number, request = self._requests.popleft()
            reply = self._reply(request)
            if reply is not None:
                self.workspace.apply_message(msgspec.structs.replace(reply, request_id=number))

    def _send_request(self, message: Message) -> int:
        self._number += 1
        self._requests.append((self._number, message))
        return self._number

    def _reply(
        self, request: Message
    ) -> SeriesReply | RowsReply | VerdictsReply | ErrorMessage | None:
        client = self._client
        try:
            match request:
                case SeriesRequest(run=run, columns=columns, from_s=from_s, buckets=buckets):
                    return client.series(run, columns, from_s=from_s, buckets=buckets)
                case RowsRequest(cursor=cursor, runs=runs, kinds=kinds):
                    return client.rows(cursor=cursor, runs=runs, kinds=kinds)
                case VerdictsRequest(run=run):
                    return VerdictsReply(request_id=0, run=run, verdicts=client.verdicts(run))
                case _:
                    return None
        except HubRefused as refused:
            # An older hub judges nothing, and keeps no series of what it does not know.
            return ErrorMessage(code="unsupported", text=refused.text)


def report_contents(client: HubClient, run: RunSummary) -> ReportContents:
    """Request the contents of a report from a hub.

    Raises:
        UserError: The hub does not answer.
    """
    loader = ReportLoader(client, run)
    workspace = loader.workspace
    facts = _load_facts(client, run.run)
    # Names as panels show them: without letters that turn a line around.
    shown = workspace.run_store.current() or run
    now_wall_s = workspace.now_wall_s()
    return ReportContents(
        run=shown,
        header=header_state(shown, now_wall_s=now_wall_s, is_connected=True),
        created_wall_s=now_wall_s,
        end=_end(client, shown, now_wall_s),
        study=study_contents(client, loader, shown) if is_study(shown) else None,
        charts=[] if is_study(shown) else _charts(loader),
        verdicts=_verdicts(loader, shown),
        reclaims=workspace.reclaims.rows(run.run)[::-1],
        events=workspace.log.rows()[::-1],
        readings=workspace.readings(run.run).groups(),
        model=facts.model,
        memory_map=None if is_study(shown) else map_contents(run_subject(workspace, shown)),
        fit=facts.fit,
        sessions=facts.sessions,
        sources=facts.sources,
    )


def map_contents(subject: MapSubject) -> MapContents | None:
    """Return the full map of a subject; None if its model is not known."""
    estimator = MapEstimator()
    estimator.show(subject)
    estimator.finish()
    result = estimator.map_estimate
    layout = estimator.layout
    if result.found is None or layout is None:
        return None
    limit = subject.limit_bytes
    return MapContents(
        totals=map_totals_state(result, subject, limit),
        rows=map_rows(result.found, has_calls=bool(layout.calls)),
        points=result.points,
        fit=batch_fit_summary(result.fit, limit)[0] if limit is not None else "",
        advice=peak_reduction_rows(result.advice),
    )


def _end(client: HubClient, run: RunSummary, now_wall_s: float) -> EvidenceState | None:
    if not has_ended_badly(run):
        return None
    reply = client.series(run.run, LAST_MINUTE, from_s=last_minute_start_s(run), buckets=4000)
    return run_end_state(run, read_last_minute(reply), now_wall_s=now_wall_s)


def _charts(loader: ReportLoader) -> list[ReportChart]:
    charts: list[ReportChart] = []
    for metric in STANDARD_METRICS:
        card = loader.charts.card(metric, now_s=0.0)
        state = loader.charts.state(metric, CHART_WIDTH_PX).without_offer()
        if card is not None:
            charts.append(ReportChart(card, state))
    for kind in loader.kinds:
        card = loader.metrics.card(kind, ChartSetup(kind.key))
        if card is not None and not card.absent:
            state = loader.metrics.state(kind, ChartSetup(kind.key), CHART_WIDTH_PX)
            charts.append(ReportChart(card, state))
    return charts


def _verdicts(loader: ReportLoader, run: RunSummary) -> list[EvidenceState]:
    workspace = loader.workspace
    return [
        evidence_state(run, verdict, now_wall_s=workspace.now_wall_s(), can_request=True)
        for metric in dict.fromkeys((*STANDARD_METRICS, *VERDICT_METRICS))
        if (verdict := workspace.verdicts.get(run.run, metric)) is not None and is_said(verdict)
    ]


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts that no panel of the window shows."""

    model: Sequence[ModelFacts]
    fit: FitStarted | None
    sessions: Sequence[SessionStarted]
    sources: Sequence[FieldSource]


def _load_facts(client: HubClient, run: str) -> _Facts:
    models = list[ModelFacts]()
    sessions = list[SessionStarted]()
    sources = dict[str, FieldSource]()
    fit: FitStarted | None = None
    for row in client.all_rows(run, ("session", "fit_start", "model", "sources")):
        match decode_row(row):
            case SessionStarted() as session:
                sessions.append(session)
            case FitStarted() as started:
                fit = started
            case ModelFacts() as part:
                # The last fit's model only, each part once.
                models = [each for each in models if each.fit == part.fit]
                models = [*(each for each in models if each.part != part.part), part]
            case FieldSources(sources=reported):
                sources |= {source.field: source for source in reported}
            case _:
                pass
    return _Facts(models, fit, sessions, list(sources.values()))


def study_contents(client: HubClient, loader: ReportLoader, study: RunSummary) -> StudyContents:
    """Request the data of a study and its folds.

    Args:
        loader: Loader of the study's own run.

    Raises:
        UserError: The hub does not answer.
    """
    folds = folds_of(study, client.runs())
    record = loader.workspace.studies.get(study.run)
    now_wall_s = study.last_wall_s if has_ended(study) else loader.workspace.now_wall_s()
    tries = attempts_by_fold(study, record, folds, now_wall_s=now_wall_s)
    bound = None if record.started is None else record.started.memory_bytes
    finished = {each[-1].fold for each in tries if each[-1].state == "finished"}
    runs = {fold: folds[fold].run for fold in sorted(folds)}
    loader.load_epochs(list(runs.values()))
    return StudyContents(
        page=study_state(study, record, tries, now_wall_s=now_wall_s),
        memory=fold_memory_state(tries, bound, height_px=float(PLOT_HEIGHT_PX)),
        metrics=_fold_metrics(loader, runs, finished, "trial" if is_search(study) else "fold"),
        is_search=is_search(study),
    )


_MAX_METRICS: Final = 24


def _fold_metrics(
    loader: ReportLoader, runs: Mapping[int, str], finished: Collection[int], noun: Noun
) -> list[FoldMetricState]:
    metrics = loader.workspace.fold_metrics

    def picture(name: str) -> FoldMetricState:
        metrics.metric = name
        size_px = (PLOT_WIDTH_PX, PLOT_HEIGHT_PX)
        return metrics.state(runs, finished, noun=noun, size_px=size_px)

    choices = picture("").choices[:_MAX_METRICS]
    return [drawn for name in choices if (drawn := picture(name)).mean]
