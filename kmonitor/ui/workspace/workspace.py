"""State of a window's hubs, updated by messages; no Qt."""

from collections.abc import Collection
from dataclasses import replace
from typing import Literal, Protocol

import msgspec

from kmonitor.alerts.evaluator import AlertEvaluator
from kmonitor.ui.events.diagnosis import DiagnosisStore
from kmonitor.ui.events.event_log import EventLogState
from kmonitor.ui.events.reclaims import ReclaimStore
from kmonitor.ui.events.run_end import RunEndStore
from kmonitor.ui.hosts.connection_status import BannerState, ConnectionStatus, StatusBarState
from kmonitor.ui.hosts.hosts import HERE, HostList, RouteStage, command_blocked_reason
from kmonitor.ui.limits.limit_store import LimitStore
from kmonitor.ui.memory.model_store import ModelStore
from kmonitor.ui.runs.readings import RunReadings
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.runs.run_store import RunStore
from kmonitor.ui.runs.sent_commands import CommandStore, SendRequest
from kmonitor.ui.studies.fold_charts import FoldMetricStore
from kmonitor.ui.studies.study_store import StudyStore
from kmonitor.ui.text.formats import duration_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.verdicts.verdict_store import VerdictStore
from kmonitor.ui.workspace.row_backfill import RowBackfill
from kmonitor.ui.workspace.run_edits import RunEdits
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.messages.codec import ProtocolError, decode_event
from kmonitor_agent.wire.messages.commands import Arguments, CommandName
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    AnyEvent,
    Diagnosis,
    FieldSources,
    Sample,
    Verdict,
)
from kmonitor_agent.wire.messages.unions import (
    CommandReply,
    EditReply,
    ErrorMessage,
    EventRow,
    HubReply,
    Message,
    ReplyPending,
    RowsReply,
    RunsReply,
    RunSummary,
    SeriesReply,
    VerdictsReply,
)

Topic = Literal["link", "runs", "log", "series", "readings", "commands"]
"""Part of the state that can change between two refreshes of the window."""


class SeriesSink(Protocol):
    """Receives the data of charts, so that the workspace need not import them and numpy."""

    def apply_event(self, row: EventRow, event: AnyEvent, *, is_live: bool) -> None:
        """Process a decoded event of any run, live or from history."""
        ...

    def apply_series(self, reply: SeriesReply) -> None:
        """Process a reply to a request for columns."""
        ...

    def note_pending(self, pending: ReplyPending) -> None:
        """Process the notice that a reply to a request for columns takes long."""
        ...

    def refuse(self, request_number: int) -> None:
        """Process the refusal of a request."""
        ...

    def show_runs(self, runs: list[RunSummary]) -> None:
        """Draw these runs, the selected one first."""
        ...

    def forget(self, runs: Collection[str]) -> None: ...


class Workspace:
    """Processes messages, updates its parts, and records changes; main thread only.

    Attributes:
        run_store: Runs of all hubs. link: Connection to this machine's hub. hosts: Connections to
            other hubs. log: Event log. commands: Commands sent from this window.
        limits: Limits in force and requested. reclaims: Records of reclaims. diagnoses: Results of
            diagnoses. verdicts: Verdicts on growth. models: Models of runs. ends: Ends of runs.
            alerts: Alerts for the user. edits: Names, notes and deletions sent from this window.
        studies: Events of studies about folds. fold_metrics: Epochs of one study's folds.
        changed: Parts that changed since the last refresh; the window clears it.
    """

    def __init__(self, *, clock: Clock, user: str) -> None:
        request = self.send_request
        self.run_store = RunStore()
        self.link = ConnectionStatus()
        self.hosts = HostList()
        self.log = EventLogState()
        self.alerts = AlertEvaluator()
        self.reclaims = ReclaimStore()
        self.diagnoses = DiagnosisStore()
        self.studies = StudyStore()
        self.fold_metrics = FoldMetricStore(request)
        self.verdicts = VerdictStore(request)
        self.models = ModelStore()
        self.ends = RunEndStore(request)
        self.commands = CommandStore(request, requester=user)
        self.limits = LimitStore(self.commands, user=user)
        self.edits = RunEdits(request)
        self.changed: set[Topic] = set()
        self._row_backfill = RowBackfill(request)
        self._readings: dict[str, RunReadings] = {}
        self._clock = clock
        self._hubs: dict[str, str] = {}
        self._senders: dict[str, SendRequest] = {}
        self._seen: dict[str, set[str]] = {}
        self._charts: SeriesSink | None = None

    def attach_hub(self, send_request: SendRequest, at: str = HERE) -> None:
        """Set the function that sends requests about the runs of a hub."""
        self._senders[at] = send_request

    def detach_hub(self, at: str) -> None:
        """Stop sending requests to a hub."""
        self._senders.pop(at, None)

    def send_request(self, message: Message) -> int:
        """Send a request to the hub of its run.

        Returns:
            Request number that the replies carry; 0: there is no hub yet.
        """
        at = self.run_store.at(_run_of(message))
        send = self._senders.get(at) or self._senders.get(HERE)
        return 0 if send is None else send(message)

    def attach_charts(self, charts: SeriesSink) -> None:
        self._charts = charts
        self._show_runs()

    def readings(self, run: str) -> RunReadings:
        return self._readings.setdefault(run, RunReadings())

    def link_at(self, at: str) -> ConnectionStatus:
        """Return the connection to a hub, by its host's address; `HERE`: this machine's."""
        host = self.hosts.get(at)
        return host.link if host is not None else self.link

    def link_of(self, run: str) -> ConnectionStatus:
        return self.link_at(self.run_store.at(run))

    def is_reached(self, run: str) -> bool:
        """True if the hub of a run is connected."""
        return self.link_of(run).is_live

    def why_no_command(self, run: str) -> str:
        """Reason why this window may not send commands to a run; empty if it may."""
        return command_blocked_reason(self.link_of(run).hub, self.hub_name(run))

    def hub_name(self, run: str) -> str:
        """Name of the host of a run's hub."""
        host = self.hosts.get(self.run_store.at(run))
        hub = self.link_of(run).hub
        return host.name if host is not None else hub.host if hub else ""

    def now_wall_s(self) -> float:
        """Now, UTC epoch seconds."""
        return self._clock.wall_s()

    def age_text(self, run: str) -> str:
        """Age of the last data of a run whose hub is lost; empty if the hub is not lost."""
        link = self.link_of(run)
        if link.state != "lost":
            return ""
        age_s = max(0.0, self._clock.wall_s() - link.lost_wall_s)
        return tr("last data {time} ago").format(time=duration_text(age_s))

    def banner(self, now_wall_s: float) -> BannerState | None:
        """Return the bar above the charts; None if there is no problem."""
        own = self.link.banner(now_wall_s)
        host = self.host_of_banner(now_wall_s)
        found = self.hosts.get(host) if host else None
        return found.banner(now_wall_s) if found is not None else own

    def host_of_banner(self, now_wall_s: float) -> str:
        """Address of the host that the banner is about; `HERE`: this machine, or no banner."""
        if self.link.banner(now_wall_s) is not None:
            return HERE
        host = self.hosts.troubled(self.run_store.at(self.run_store.selected or ""))
        return host.address if host is not None else HERE

    def dismiss_banner(self, now_wall_s: float) -> None:
        """Close the banner, as the user has read it."""
        host = self.hosts.get(self.host_of_banner(now_wall_s))
        if host is not None:
            host.dismiss()
        else:
            self.link.dismiss()

    def status(self, *, version: str) -> StatusBarState:
        state = self.link.status(version=version)
        n_live, n = self.hosts.reached_and_total()
        if not n:
            return state
        hosts = tr("{n} of {all} hosts connected").format(n=n_live, all=n)
        return replace(state, link=f"{state.link} \u00b7 {hosts}")

    def add_host(self, address: str, name: str = "") -> None:
        """Show a host; a host that is shown already gets this name."""
        self.hosts.add(address, name)
        self.changed |= {"link", "runs"}

    def remove_host(self, address: str) -> None:
        """Stop showing a host and its runs."""
        self.hosts.remove(address)
        self._forget(address)
        self._hubs.pop(address, None)
        self.run_store.leave(address)
        self.changed |= {"link", "runs", "log", "series", "readings"}
        self._show_runs()

    def set_route(
        self, at: str, stage: RouteStage, what: str, remedy: str, *, retry_in_s: float | None
    ) -> None:
        """Set the state of the route to a host; see `Host.set_route`."""
        host = self.hosts.get(at)
        if host is not None:
            now_wall_s = self._clock.wall_s()
            retry_wall_s = None if retry_in_s is None else now_wall_s + retry_in_s
            host.set_route(stage, what, remedy, retry_wall_s)
            self.changed |= {"link", "runs"}

    def connected(self, reply: HubReply, at: str = HERE) -> None:
        """Record that a hub answers, on this machine or on the host with this address."""
        host = self.hosts.get(at)
        if host is None and at:
            return  # removed meanwhile
        if self._is_known_elsewhere(reply, at) and host is not None:
            host.connected(reply, self._clock.wall_s())
            self.changed |= {"link", "runs"}
            return
        if reply.hub != self._hubs.get(at):
            self._forget(at)
            self._hubs[at] = reply.hub
        if host is not None:
            host.same_as = ""
            host.connected(reply, self._clock.wall_s())
        else:
            self.link.connected(reply)
        self.changed |= {"link", "runs", "log"}
        self._show_runs()

    def condition(self, reply: HubReply, at: str = HERE) -> None:
        """Process a connected hub's new reply about itself."""
        if not at or self.hosts.get(at) is not None:
            self.link_at(at).apply_hub_reply(reply)
            self.changed.add("link")

    def disconnected(
        self, why: str, *, retry_in_s: float, since_wall_s: float, at: str = HERE
    ) -> None:
        """Record that a hub does not answer."""
        if at and self.hosts.get(at) is None:
            return
        retry_wall_s = self._clock.wall_s() + retry_in_s
        link = self.link_at(at)
        link.disconnected(why, since_wall_s=since_wall_s, retry_wall_s=retry_wall_s)
        self.changed |= {"link", "runs"}

    def apply_message(self, message: msgspec.Struct, at: str = HERE) -> None:
        host = self.hosts.get(at)
        if (at and host is None) or (host is not None and host.same_as):
            return  # removed meanwhile, or reached another way too
        match message:
            case RunsReply():
                self._apply_runs(message, at)
            case RowsReply():
                self._apply_rows(message, at)
            case SeriesReply():
                self._apply_series(message)
            case VerdictsReply():
                self._judged(self.verdicts.apply_reply(message))
            case CommandReply():
                self._apply_command(message)
            case ErrorMessage() | EditReply() | ReplyPending():
                self._apply_outcome(message)
            case _:
                # Answers that only the asker needs, and hints.
                return

    def select(self, run: str) -> None:
        if self.run_store.select(run):
            self.changed |= {"runs", "readings", "series"}
            self._show_runs()

    def command(self, name: CommandName, args: Arguments | None = None) -> None:
        """Send a command to the selected run's process.

        Args:
            args: Arguments of the command; None: the default ones.
        """
        run = self.run_store.current()
        if run is not None and name in run.actions and not self.why_no_command(run.run):
            self.commands.send(run, name, args)
            self.changed.add("commands")

    @property
    def is_first_start(self) -> bool:
        """True if it is certain that there is no run yet."""
        hub = self.link.hub
        known_empty = self.run_store.is_filled or (hub is not None and hub.rows == 0)
        return not len(self.run_store) and known_empty

    def _is_known_elsewhere(self, reply: HubReply, at: str) -> bool:
        """True if a hub is already connected through another address, which is then used."""
        host = self.hosts.get(at)
        other = next((o for o, hub in self._hubs.items() if hub == reply.hub and o != at), None)
        if other is None:
            return False
        known = self.hosts.get(other)
        this_machine = tr("this machine")
        if host is not None and self.link_at(other).is_live:
            host.same_as = known.name if known is not None else this_machine
            return True
        # That way is lost, or this one is the shorter: the runs come by this one from now on.
        if known is not None:
            known.same_as = host.name if host is not None else this_machine
        self._hubs[at] = self._hubs.pop(other)
        self._seen.setdefault(at, set()).update(self._seen.pop(other, set()))
        self.run_store.move(other, at)
        return False

    def _forget(self, at: str) -> None:
        self._forget_runs(self._seen.pop(at, set()))

    def _forget_runs(self, runs: Collection[str]) -> None:
        for store in (
            self.log,
            self.reclaims,
            self.diagnoses,
            self.studies,
            self.verdicts,
            self.models,
            self.fold_metrics,
            self._row_backfill,
        ):
            store.forget(runs)
        for run in runs:
            self._readings.pop(run, None)
        if self._charts is not None:
            self._charts.forget(runs)

    def _apply_runs(self, reply: RunsReply, at: str) -> None:
        self._seen.setdefault(at, set()).update(summary.run for summary in reply.runs)
        if self.run_store.apply_reply(reply, at):
            self.changed.add("readings")
        if reply.deleted:
            self._forget_runs(reply.deleted)
            self.changed.add("log")
        for summary in reply.runs:
            self.limits.drop_confirmed(summary)
        self.changed |= {"runs", "series"}
        self._show_runs()

    def _apply_rows(self, reply: RowsReply, at: str) -> None:
        self._seen.setdefault(at, set()).update(row.run for row in reply.rows)
        is_live = not (self._row_backfill.apply_rows(reply) or self.fold_metrics.apply_rows(reply))
        if is_live:
            self.link.count_rows(len(reply.rows))
        for row in reply.rows:
            try:
                event = decode_event(row.body)
            except ProtocolError:
                # A newer agent's event type: stored by the hub, nothing for this version to show.
                continue
            self._apply_event(row, event, is_live=is_live)

    def _apply_event(self, row: EventRow, event: AnyEvent, *, is_live: bool) -> None:
        match event:
            case Sample():
                self.readings(row.run).apply_sample(event, row.t_s)
                self.changed.add("readings")
            case FieldSources():
                self.readings(row.run).apply_sources(event)
                self.changed.add("readings")
            case _:
                self._note(row, event)
        self.models.apply_event(row.run, event)
        self.fold_metrics.apply_event(row, event)
        self._judged(self.verdicts.apply_event(row.run, event, is_live=is_live))
        if self._charts is not None:
            self._charts.apply_event(row, event, is_live=is_live)
            self.changed.add("series")

    def _note(self, row: EventRow, event: AnyEvent) -> None:
        summary = self.run_store.get(row.run)
        now_wall_s = self._clock.wall_s()
        name = summary.name if summary else row.run[:8]
        wall_s = (summary.started_wall_s if summary else now_wall_s - row.t_s) + row.t_s
        if isinstance(event, ActionRecord):
            self.reclaims.add(row.run, row.row, event, wall_s=wall_s)
        elif isinstance(event, Diagnosis):
            self.diagnoses.add(row.run, row.row, event, wall_s=wall_s)
        self.studies.apply_event(row, event)
        is_new = self.log.add(row.row, event, run=row.run, name=name, wall_s=wall_s)
        if is_new:
            self.changed.add("log")
        if is_new or isinstance(event, Verdict):
            host = summary.host if summary else ""
            self.alerts.apply_event(
                row.run, name, host, event, wall_s=wall_s, now_wall_s=now_wall_s
            )

    def _apply_series(self, reply: SeriesReply) -> None:
        readings = self.readings(reply.run)
        readings.add_sources(reply.sources)
        is_handled = self.ends.apply_series(reply) or self._row_backfill.apply_series(
            reply, readings
        )
        if not is_handled and self._charts is not None:
            self._charts.apply_series(reply)
        self.changed |= {"series", "readings"}

    def _apply_command(self, reply: CommandReply) -> None:
        command = self.commands.apply_reply(reply)
        if command is not None:
            self.limits.ended(command)
            self.changed |= {"commands", "series"}

    def _apply_outcome(self, reply: EditReply | ErrorMessage | ReplyPending) -> None:
        if isinstance(reply, ReplyPending):
            if self._charts is not None:
                self._charts.note_pending(reply)
                self.changed.add("series")
        elif self.edits.apply_reply(reply):
            self.changed.add("runs")
        elif isinstance(reply, ErrorMessage):
            self._apply_error(reply)

    def _apply_error(self, error: ErrorMessage) -> None:
        command = self.commands.refuse(error)
        if command is not None:
            self.limits.ended(command)
            self.changed |= {"commands", "series"}
        if self._charts is not None:
            self._charts.refuse(error.request_id)
        self.verdicts.refuse(error.request_id)
        self.ends.refuse(error.request_id)
        self.fold_metrics.refuse(error.request_id)

    def _judged(self, is_another: bool) -> None:
        if is_another:
            self.changed |= {"series", "readings"}

    def _show_runs(self) -> None:
        current = self.run_store.current()
        ended = current.run if current is not None and has_ended(current) else ""
        if self.log.select_ended_run(ended):
            self._row_backfill.forget([ended])
        shown = [run for run in self.run_store.shown() if self.is_reached(run.run)]
        for summary in shown[:1]:
            self._row_backfill.want(summary)
            self.verdicts.want(summary.run)
        if self._charts is not None:
            self._charts.show_runs(shown)


def _run_of(message: Message) -> str:
    run = getattr(message, "run", "")
    runs = getattr(message, "runs", None)
    return str(run or (runs[0] if runs else ""))
