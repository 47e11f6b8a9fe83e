"""The hub's main loop: reads from agents and desktops, commits, sends what is committed."""

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import psutil

from kmonitor.base.wakeup import WakeupPipe
from kmonitor.hub.access.endpoints import MEMORY_CHECK_EVERY_S, HubEndpoints
from kmonitor.hub.alerts import ALERTS_EVERY_S, HELD_NAME, HubAlerts
from kmonitor.hub.faults import HubFaults
from kmonitor.hub.health import HEALTH_CHECK_EVERY_S, HubHealth
from kmonitor.hub.ingest.agents import AgentService
from kmonitor.hub.ingest.folder_reader import FolderReader
from kmonitor.hub.ingest.liveness import Liveness
from kmonitor.hub.ingest.process_watch import ProcessWatch
from kmonitor.hub.ingest.spools import SpoolIngest
from kmonitor.hub.judge.judge_thread import JudgeDispatcher, JudgeThread
from kmonitor.hub.judge.slowness.stalls import StallMonitor
from kmonitor.hub.log import LOG
from kmonitor.hub.metrics.exporters import PUBLISH_EVERY_S, MetricsExporters
from kmonitor.hub.metrics.snapshot import HubSnapshot
from kmonitor.hub.options import HubOptions, Keep
from kmonitor.hub.runs.hub_event_log import HubEventLog
from kmonitor.hub.runs.retention import Retention
from kmonitor.hub.runs.team_runs import TAKE_EVERY_S as TEAM_EVERY_S
from kmonitor.hub.runs.team_runs import TeamRuns
from kmonitor.hub.runs.verification import STEP_EVERY_S as VERIFY_EVERY_S
from kmonitor.hub.runs.verification import EventVerifier
from kmonitor.hub.store.store_choice import open_database
from kmonitor.hub.views.access_requests import AccessService
from kmonitor.hub.views.edits import EditService
from kmonitor.hub.views.series import PACK_EVERY_S, SamplePacker, SeriesThread
from kmonitor.hub.views.viewers import CommandService, ViewerContext, ViewerService
from kmonitor_agent.wire.local.clock import Clock, WallClockCheck
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.unions import (
    AuditRequest,
    ErrorMessage,
    HubReply,
    HubRequest,
    KeysRequest,
)
from kmonitor_agent.wire.release import VERSION

if TYPE_CHECKING:
    import zmq


class LoopSchedule:
    """Repeated tasks, run by the loop that owns it."""

    def __init__(self, faults: HubFaults) -> None:
        self._faults = faults
        self._tasks: list[_Task] = []

    def every(
        self, interval_s: float | Callable[[], float], name: str, act: Callable[[], None]
    ) -> None:
        """Run `act` every `interval_s` seconds, asked after each run; the first time at once."""
        interval = interval_s if callable(interval_s) else partial(float, interval_s)
        self._tasks.append(_Task(name, interval, act, 0.0))

    def run_due(self, now_s: float) -> None:
        for task in self._tasks:
            if now_s >= task.next_s:
                with self._faults.guarded(task.name):
                    task.act()
                task.next_s = now_s + task.interval_s()

    def wait_s(self, now_s: float) -> float:
        """Seconds until something is due."""
        return max(0.0, min(task.next_s for task in self._tasks) - now_s)


@dataclass(slots=True)
class _Task:
    name: str
    interval_s: Callable[[], float]
    act: Callable[[], None]
    next_s: float


_BOUND_EVERY_S = 300.0
"""Interval at which all spools together are brought below their bound, seconds; living agents do
so too."""

_WORKING_EVERY_S = 1.0
"""Interval at which clients that wait for a reply are sent `ReplyPending`, seconds."""


class HubLoop:
    """Everything of a running hub; owned by the thread that calls `run`.

    Attributes:
        hub: The hub's id.
    """

    _metrics_exporters: MetricsExporters | None = None
    _is_stopping = _is_moved = False

    def __init__(
        self,
        folders: Folders,
        context: "zmq.Context[zmq.Socket[bytes]]",
        pipe: WakeupPipe,
        faults: HubFaults,
        clock: Clock,
        options: HubOptions | None = None,
    ) -> None:
        """Open database and sockets.

        Args:
            pipe: Wakes the loop from other threads and from signals.
            options: Options; None: as this user's hub, without an end.

        Raises:
            UserError: The database cannot be used, or a newer program wrote it.
            zmq.ZMQError: A socket cannot be bound.
        """
        self._clock = clock
        self._pipe = pipe
        self._faults = faults
        self._folders = folders
        self._started_wall_s = clock.wall_s()
        self._options = options or HubOptions()
        database = open_database(folders, self._options.store or "")
        self.hub = database.hub
        self._event_log = HubEventLog(database, faults, clock, is_lenient=self._options.is_lenient)
        self._endpoints = endpoints = self._open_endpoints(context)
        self._series = SeriesThread(database.open_reader, pipe.wake)
        self._judge_thread = JudgeThread(database.open_reader, pipe.wake)
        self._sample_packer = SamplePacker(self._event_log, self._series, clock)
        self._judge_dispatcher = JudgeDispatcher(
            self._event_log, self._judge_thread, faults, endpoints.to_desktop
        )
        self._event_log.listeners.append(StallMonitor(self._event_log).on_event)
        processes = ProcessWatch(folders.state)
        self._host = processes.host
        self._agent_service = AgentService(self._event_log, faults, clock, endpoints.to_agent)
        self._access = AccessService(endpoints, self._event_log, clock)
        self._watch_runs(processes)
        self._health = self._build_health()
        self._viewer_service = self._build_viewer_service()
        self._busy_s = clock.monotonic_s()

    def _open_endpoints(self, context: "zmq.Context[zmq.Socket[bytes]]") -> HubEndpoints:
        return HubEndpoints(
            self._folders,
            context,
            self._faults,
            self._clock,
            audit=self._event_log.audit,
            on_ended=self._end_sessions,
        )

    def _watch_runs(self, processes: ProcessWatch) -> None:
        """Build what follows living, spooled, old and other hubs' runs."""
        is_shared = self._event_log.database.is_shared
        self._team = TeamRuns(self._event_log, self._clock) if is_shared else None
        folders = self._folders
        faults = self._faults
        clock = self._clock
        connections = self._agent_service.agent_connections
        check = WallClockCheck(clock, folders.database)
        self._spools = SpoolIngest(
            folders.spool,
            self._event_log,
            connections,
            faults,
            clock,
            check,
            is_far=processes.is_far,
        )
        folder = self._options.folder
        self._folder_reader = (
            None if folder is None else FolderReader(folder, self._event_log, faults, clock)
        )
        self._liveness = Liveness(
            self._event_log,
            connections,
            processes,
            clock,
            is_settled=(self._folder_reader or self._spools).is_settled,
        )
        keep = self._options.keep or Keep()
        may_go = self._liveness.is_abandoned
        self._retention = Retention(self._event_log, keep, clock, may_go, check)
        self._alerts = self._build_alerts()

    def listen(self, bind: str) -> None:
        """Also serve the network at `ADDRESS:PORT`, for authorized keys; before `run`.

        Raises:
            NetworkRefused: It cannot listen there, or not safely.
        """
        self._endpoints.listen(bind)
        LOG.info("listening at %s", self._endpoints.address)

    def start_exporters(self) -> None:
        """Open the metrics exporters that the options name; before `run`.

        Raises:
            ExporterRefused: One of them cannot be opened.
        """
        self._metrics_exporters = exporters = MetricsExporters(self._faults)
        self._event_log.listeners.append(exporters.on_event)
        if self._options.prometheus:
            exporters.serve(self._options.prometheus)
        if self._options.otlp:
            exporters.send(self._options.otlp, hub=self.hub, host=self._host)

    def stop(self) -> None:
        """Stop once all received events are committed; from a signal or any thread."""
        self._is_stopping = True
        self._pipe.wake()

    def run(self, is_in_place: Callable[[], bool]) -> bool:
        """Serve until `stop`, or until a file of the hub was moved away.

        Args:
            is_in_place: Returns True if the hub's locks still lie where they were.

        Returns:
            True if it ended because a file was moved away.
        """
        schedule = self._schedule(is_in_place)
        if self._metrics_exporters is not None:
            schedule.every(PUBLISH_EVERY_S, "figures", self._publish)
        self._endpoints.watch(self._pipe.fileno())
        self._series.start()
        self._judge_thread.start()
        if self._team is not None:
            self._team.start()
        while not (self._is_stopping or self._is_moved):
            now_s = self._clock.monotonic_s()
            wait_s = schedule.wait_s(now_s)
            commit_s = self._event_log.wait_s(now_s)
            if commit_s is not None:
                wait_s = min(wait_s, commit_s)
            if self._viewer_service.rows_queue:
                wait_s = 0.0
            self._endpoints.wait(math.ceil(wait_s * 1000))
            self._pipe.clear()
            # A fault in one message, run or answer ends neither the loop nor the turn of others.
            with self._faults.guarded("serve"):
                self._serve()
            schedule.run_due(self._clock.monotonic_s())
            self._commit_if_due()
            self._event_verifier.check()
        return self._is_moved

    def close(self) -> None:
        """Commit, then close everything."""
        with self._faults.guarded("last commit"):
            self._spools.close()
            if self._event_log.commit():
                self._agent_service.acknowledge()
                self._after_commit_of_alerts()
        closers = [self._series.stop, self._judge_thread.stop, self._endpoints.close]
        if self._metrics_exporters is not None:
            # It waits a little for a collector that hangs.
            closers.insert(0, self._metrics_exporters.close)
        if self._team is not None:
            closers.insert(0, self._team.stop)
        if self._alerts is not None:
            closers.append(self._alerts.close)
        for close in (*closers, self._event_log.database.close):
            with self._faults.guarded("close"):
                close()

    def _build_health(self) -> HubHealth:
        self._event_verifier = EventVerifier(
            self._event_log, self._folders.spool, self._faults, self._clock
        )
        health = HubHealth(
            self._folders,
            self._event_log,
            self._retention,
            is_fixed=self._options.keep is not None,
            sources=(
                lambda: self._spools.trouble,
                self._event_verifier.text,
                lambda: self._metrics_exporters.trouble() if self._metrics_exporters else "",
                lambda: self._alerts.trouble if self._alerts else "",
            ),
        )
        health.refresh()
        return health

    def _build_viewer_service(self) -> ViewerService:
        log = self._event_log
        context = ViewerContext(
            host=self._host,
            series=self._series,
            verdicts=self._judge_thread,
            commands=CommandService(log, self._clock, self._liveness.is_gone),
            edits=EditService(
                log,
                is_abandoned=self._liveness.is_abandoned,
                is_read_only=self._options.folder is not None,
            ),
            peer_of=self._endpoints.authorizer.peer_of_identity,
            troubles=self._health.troubles,
            on_hub_request=self._send_hub_reply,
            on_access_request=self._answer_about_access,
        )
        return ViewerService(log, context, self._faults, self._clock, self._endpoints.to_desktop)

    def _build_alerts(self) -> HubAlerts | None:
        """None if the hub only reads a folder: its runs are another hub's."""
        if self._options.folder is not None:
            return None
        held = self._folders.database / HELD_NAME
        alerts = HubAlerts(self._folders.settings, held, self._host, self._clock)
        self._event_log.listeners.append(alerts.on_event)
        self._event_log.own_listeners.append(alerts.on_event)
        return alerts

    def _schedule(self, is_in_place: Callable[[], bool]) -> LoopSchedule:
        def look_around() -> None:
            are_endpoints_in_place = self._endpoints.is_in_place()
            if not (
                are_endpoints_in_place and is_in_place() and self._event_log.database.is_in_place()
            ):
                self._is_moved = True

        def expire() -> None:
            self._viewer_service.expire()
            live = {record.run for record in self._event_log.registry.live()}
            self._agent_service.agent_connections.expire(self._clock.monotonic_s(), live)

        schedule = LoopSchedule(self._faults)
        schedule.every(0.1, "commands", self._agent_service.send_commands)
        schedule.every(0.2, "hints", self._viewer_service.hint)
        schedule.every(0.5, "liveness", self._liveness.update_all)
        schedule.every(0.2, "spools", self._spools.step)
        schedule.every(_BOUND_EVERY_S, "spool limit", self._spools.bound)
        schedule.every(2.0, "places", look_around)
        schedule.every(2.0, "expiry", expire)
        schedule.every(0.5, "sweep", self._sweep)
        schedule.every(1.0, "retention", self._retention.step)
        schedule.every(HEALTH_CHECK_EVERY_S, "condition", self._health.refresh)
        if self._team is not None:
            schedule.every(TEAM_EVERY_S, "team", self._team.apply_found)
        self._schedule_upkeep(schedule)
        schedule.every(_WORKING_EVERY_S, "working", self._send_pending_replies)
        schedule.every(0.2, "keys", self._endpoints.refresh_keys)
        schedule.every(3600.0, "audit", self._bound_audit)
        schedule.every(MEMORY_CHECK_EVERY_S, "memory", self._check_memory)
        if self._options.idle_s is not None:
            schedule.every(1.0, "idle", self._end_when_idle)
        return schedule

    def _schedule_upkeep(self, schedule: LoopSchedule) -> None:
        schedule.every(PACK_EVERY_S, "packing", self._sample_packer.step)
        schedule.every(VERIFY_EVERY_S, "verifying", self._event_verifier.step)
        if self._alerts is not None:
            alerts = self._alerts
            registry = self._event_log.registry
            schedule.every(ALERTS_EVERY_S, "alerts", lambda: alerts.step(registry.live()))
        if self._folder_reader is not None:
            read = partial(self._read_folder, self._folder_reader)
            schedule.every(self._folder_reader.wait_s, "folder", read)

    def _serve(self) -> None:
        self._endpoints.serve(self._agent_service.handle, self._viewer_service.handle)
        self._viewer_service.rows_queue.serve()
        for identity, reply in self._series.pop_answers():
            with self._faults.guarded("series"):
                self._endpoints.to_desktop(identity, reply)
        with self._faults.guarded("judging"):
            self._judge_dispatcher.dispatch_results()
        with self._faults.guarded("packing"):
            self._sample_packer.store_packed()

    def _send_pending_replies(self) -> None:
        for identity, working in (
            *self._series.late_replies(),
            *self._judge_thread.late_replies(),
        ):
            self._endpoints.to_desktop(identity, working)

    def _check_memory(self) -> None:
        self._endpoints.check_memory(is_working=self._series.is_working)

    def _commit_if_due(self) -> None:
        wait_s = self._event_log.wait_s(self._clock.monotonic_s())
        if wait_s != 0.0 or not self._event_log.commit():
            return
        for name, act in (
            ("acknowledge", self._agent_service.acknowledge),
            ("judging", self._judge_dispatcher.after_commit),
            ("hints", self._viewer_service.hint),
            ("alerts", self._after_commit_of_alerts),
        ):
            with self._faults.guarded(name):
                act()

    def _after_commit_of_alerts(self) -> None:
        if self._alerts is not None:
            self._alerts.after_commit()

    def _sweep(self) -> None:
        if not self._event_log.database.is_disconnected:
            self._event_log.database.sweep()

    def _bound_audit(self) -> None:
        if not self._event_log.database.is_disconnected:
            self._event_log.database.bound_audit()

    def _publish(self) -> None:
        if self._metrics_exporters is None:
            return
        snapshot = HubSnapshot(
            version=VERSION,
            started_wall_s=self._started_wall_s,
            wall_s=self._clock.wall_s(),
            agents=len(self._agent_service.agent_connections),
            viewers=self._viewer_service.count_desktops(),
            rows=self._event_log.registry.rows,
            database_bytes=self._event_log.database.size_bytes(),
            faults=self._fault_counts(),
            troubles=len(self._health.troubles()),
            runs_removed=self._retention.removed,
            resident_bytes=psutil.Process().memory_info().rss,
            cpu_s=time.process_time(),
        )
        self._metrics_exporters.publish(
            snapshot, self._event_log.registry, self._clock.monotonic_s()
        )

    def _fault_counts(self) -> dict[str, int]:
        faults = self._faults.fault_counts()
        if self._endpoints.unsent:
            faults["unsent"] = self._endpoints.unsent
        return faults

    def _end_when_idle(self) -> None:
        now_s = self._clock.monotonic_s()
        idle_s = self._options.idle_s
        # A run that was read from a folder may look alive for ever, and needs no hub to continue.
        is_needed = any(not record.is_shipped for record in self._event_log.registry.live())
        is_needed = is_needed or (self._alerts is not None and self._alerts.is_needed)
        if is_needed or len(self._viewer_service) > 0 or self._spools.is_shipping():
            self._busy_s = now_s
        elif idle_s is not None and now_s - self._busy_s > idle_s:
            LOG.info("nobody needed the hub for %g s", idle_s)
            self._is_stopping = True

    def _read_folder(self, reader: FolderReader) -> None:
        was_reading = reader.is_reading()
        reader.step()
        if was_reading and not reader.is_reading():
            self._liveness.update_all()  # whoever waited for the end asks at once

    def _is_reading(self) -> bool:
        return self._folder_reader is not None and self._folder_reader.is_reading()

    def _send_hub_reply(self, identity: bytes, request: HubRequest) -> None:
        peer = self._endpoints.authorizer.peer_of_identity(identity)
        if request.stop and (peer is None or peer.is_far):
            text = "only the user who owns this hub can stop it, on the hub's own host"
            if peer is not None:
                self._endpoints.authorizer.refusals.of_peer(peer, "stop the hub", text)
            error = ErrorMessage(
                code="unauthorized", text=text, fatal=True, request_id=request.request_id
            )
            self._endpoints.to_desktop(identity, error)
            return
        if request.stop:
            self.stop()
        reply = HubReply(
            request_id=request.request_id,
            hub=self.hub,
            version=VERSION,
            pid=os.getpid(),
            host=self._host,
            started_wall_s=self._started_wall_s,
            agents=len(self._agent_service.agent_connections),
            viewers=self._viewer_service.count_desktops(),
            rows=self._event_log.registry.rows,
            database_bytes=self._event_log.database.size_bytes(),
            wall_s=self._clock.wall_s(),
            faults=self._fault_counts(),
            is_shipping=self._spools.is_shipping() or self._is_reading(),
            folder=str(self._options.folder or ""),
            retention_days=self._retention.keep.days,
            retention_bytes=self._retention.keep.n_bytes,
            retention_is_fixed=self._options.keep is not None,
            runs_removed=self._retention.removed,
            troubles=self._health.troubles(),
            unwritten=self._health.unwritten,
            prometheus="" if self._metrics_exporters is None else self._metrics_exporters.page_url,
            otlp="" if self._metrics_exporters is None else self._metrics_exporters.endpoint,
            alerts="" if self._alerts is None else self._alerts.state,
            head=self._event_log.head,
            role="viewer" if peer is not None and peer.role == "viewer" else "operator",
        )
        self._endpoints.to_desktop(identity, reply)

    def _answer_about_access(self, identity: bytes, request: KeysRequest | AuditRequest) -> None:
        peer = self._endpoints.authorizer.peer_of_identity(identity)
        if peer is not None:
            self._access.serve(
                peer, request, lambda reply: self._endpoints.to_desktop(identity, reply)
            )

    def _end_sessions(self, keys: set[str]) -> None:
        self._agent_service.end_sessions(keys)
        self._viewer_service.end_sessions(keys)
