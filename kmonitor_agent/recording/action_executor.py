"""Execution of requests on the training thread, one at a time, with a record of each.

When a request is taken, waits or expires: see `action_requests`.
Some actions are only planned here: a restart for the epoch's end, a reload for the end of a part
of `kmonitor_agent.fit`, and a reload that all workers of a fit run at the same step.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Final

import msgspec

from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.guard import FaultLog, describe_exception
from kmonitor_agent.limit_watch import (
    JUDGED_AT_ONCE,
    RELEASE_PART,
    EscalationLevel,
    GrowthCause,
    LimitWatch,
)
from kmonitor_agent.reclaim.actions import collect, read_footprint, reload, save, skipped_reload
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from kmonitor_agent.reclaim.deferred_signals import SIGNALS
from kmonitor_agent.reclaim.outcome import ReclaimAction, ReclaimOutcome
from kmonitor_agent.recording.action_requests import ActionRequest, RequestQueue, is_expired
from kmonitor_agent.recording.action_results import ActionResult, ActionResults
from kmonitor_agent.recording.diagnosis import Diagnoser
from kmonitor_agent.recording.fit import Fit, FitInParts, FitStopper, PendingReload
from kmonitor_agent.recording.limit_enforcer import LimitEnforcer
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.recording.resumable_fit import SaveResult
from kmonitor_agent.recording.worker_agreement import WorkerAgreement
from kmonitor_agent.wire.messages.commands import CommandState, SafePoint
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    CommandProgress,
    Event,
    Footprint,
    Notice,
    Paused,
)
from kmonitor_agent.wire.messages.fields import MAX_TEXT

PART_OF: Final = "auto"

Act = Callable[[Fit, ActionRequest, int], ActionRecord | None]
"""Runs one level and keeps its record.

None if the level will run after the safe point, and the end of the request is reported from there.
"""


class AutoExecutor:
    """Runs `auto`; on the training thread, one request at a time.

    Args:
        limits: Limits with their escalations.
        act: Runs a level.
    """

    def __init__(
        self,
        *,
        limits: LimitEnforcer,
        act: Act,
        report_progress: Callable[[ActionRequest, CommandState, str], None],
    ) -> None:
        self._limits = limits
        self._act = act
        self._report_progress = report_progress

    def perform(self, fit: Fit, request: ActionRequest, step: int) -> None:
        """Run the due levels of `auto`.

        Args:
            fit: Fit at whose safe point this runs.
            request: Request for `auto`.
            step: Steps done in the running epoch; 0 at its end.
        """
        if request.watch is not None:
            self._escalate(fit, request, request.watch, step)
        else:
            self._collect_then_reload(fit, request, step)

    def _escalate(self, fit: Fit, request: ActionRequest, watch: LimitWatch, step: int) -> None:
        """Run level after level until one may have helped; later readings judge it."""
        escalation = watch.escalation
        cause: GrowthCause = "traces" if _leaves_traces(fit) else "other"
        futile = [] if escalation is None else escalation.futile(cause)
        why_not = dict.fromkeys(futile, _FUTILE) | _why_not(fit)
        while (level := self._limits.next_step(watch, why_not)) not in ("wait", "nothing"):
            record = self._act(fit, replace(request, action=level, part_of=PART_OF), step)
            if record is None:
                return
            if escalation is not None and record.ok:
                escalation.note_outcome(level, cause, gave_back=not record.unchanged)
            if record.ok and _may_have_helped(record, watch):
                self._limits.reset_base(watch)
                return
        if level == "nothing":
            self._limits.report_exhausted(watch)

    def _collect_then_reload(self, fit: Fit, request: ActionRequest, step: int) -> None:
        # Nothing was measured that would call for a new process: never a restart.
        why_not = _why_not(fit)
        record: ActionRecord | None = None
        levels: tuple[EscalationLevel, ...] = ("collect", "reload")
        for level in levels:
            if level in why_not:
                continue
            record = self._act(fit, replace(request, action=level, part_of=PART_OF), step)
            if record is None:
                return
            if record.ok and _is_enough(fit, record):
                break
        if record is None:
            self._report_progress(request, "failed", "; ".join(dict.fromkeys(why_not.values())))
        else:
            why = "; ".join(filter(None, (record.unchanged, record.why)))[:MAX_TEXT]
            self._report_progress(request, "done" if record.ok else "failed", why)


_FUTILE: Final = "it freed nothing last time"


def _leaves_traces(fit: Fit) -> bool:
    """True if there are traces of dead models, which a collect or reload releases."""
    return bool(fit.framework.graph(fit.model()).retained)


def _why_not(fit: Fit) -> dict[EscalationLevel, str]:
    unavailable = fit.framework.info().unavailable
    why_not: dict[EscalationLevel, str] = {"restart": fit.why_not_restart}
    why_not["collect"] = unavailable.get("collect", "")
    if fit.fit_in_parts is None:  # else another model object takes over, which needs nothing
        why_not["reload"] = unavailable.get("reload", "")
    return {level: why for level, why in why_not.items() if why}


def _may_have_helped(record: ActionRecord, watch: LimitWatch) -> bool:
    """True if an action may have helped, so that later readings judge it."""
    if watch.spec.metric in JUDGED_AT_ONCE or record.action != "collect":
        return True
    return record.released_traces > 0 or _fell(record, watch.spec.metric)


def _fell(record: ActionRecord, metric: str) -> bool:
    if record.after is None:
        return False
    before = _memory(record.before, metric)
    after = _memory(record.after, metric)
    return before is not None and after is not None and after <= RELEASE_PART * before


def _memory(footprint: Footprint, metric: str) -> float | None:
    return footprint.ram_process_bytes if metric == "ram" else footprint.allocator_in_use_bytes


def _is_enough(fit: Fit, record: ActionRecord) -> bool:
    """True if no further level is needed: a reload, or a collect that released all traces."""
    return record.action == "reload" or (record.released_traces > 0 and not _leaves_traces(fit))


_PAUSE_CHECK_S: Final = 0.25
_MODEL_GONE: Final = "the model no longer exists"
_NOT_PAUSED: Final = "training is not paused"
_MOST_HELD: Final = 32
_NO_AGREEMENT: Final = "training ended before all workers were ready; none of them reloaded"


class ActionExecutor:
    """Runs requests one at a time; owned by whichever training thread reached a safe point.

    Args:
        run: Run id, for the checkpoints' tags.
        limits: Called when a limit's action has run.
        now_s: Seconds since the session started.
        privacy: Hides private parts of records.
        on_acted: Called after each collect and reload, also during a pause.
        on_performed: Called after each request with the recorded actions.
        open_fits: Returns the run's open fits, in the order of their begin; by default none, then
            a stop ends one fit.

    Attributes:
        action_results: Results of actions, oldest first.
        is_paused: True while a training thread is held by a pause.
        diagnoser: Finds growing objects.
        fit_stopper: Called at begins and ends of fits and epochs, where some stops take effect.
    """

    def __init__(  # noqa: PLR0913 - one for each part that it works with
        self,
        *,
        run: str,
        queue: RequestQueue,
        limits: LimitEnforcer,
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        privacy: Privacy,
        faults: FaultLog,
        on_acted: Callable[[Fit, ReclaimAction], None],
        on_performed: Callable[[set[str]], None],
        open_fits: Callable[[], Sequence[Fit]] = tuple,
    ) -> None:
        self.action_results = ActionResults()
        self.is_paused = False
        self._on_acted = on_acted
        self._on_performed = on_performed
        self._open_fits = open_fits
        self._faults = faults
        self._lock = threading.Lock()
        self._run_id = run
        self._queue = queue
        self._limits = limits
        self._emit = emit
        self._now_s = now_s
        self._privacy = privacy
        self.fit_stopper = FitStopper(open_fits, self._stop_settled)
        self._auto_executor = AutoExecutor(
            limits=limits, act=self._act, report_progress=self.report_progress
        )
        self.diagnoser = Diagnoser(emit=emit, now_s=now_s, privacy=privacy)

    def serve(self, fit: Fit, at: SafePoint, *, step: int = 0) -> None:
        """Run the requests that wait for a safe point.

        Args:
            fit: Fit that has reached the safe point.
            step: Steps done in the running epoch; 0 at its end.
        """
        # One action at a time: another thread that trains serves what waits at its next point.
        if not self._lock.acquire(blocking=False):
            return
        try:
            others = [each.ordinal for each in self._open_fits() if each is not fit]
            while (request := self._queue.take(at, others)) is not None:
                with self._faults.guarded("run.perform"):
                    self._on_performed(self.perform(fit, request, step=step))
        finally:
            self._lock.release()
            self._queue.remind()

    def perform(self, fit: Fit, request: ActionRequest, *, step: int = 0) -> set[str]:
        """Run a request and report its result; return the recorded actions."""
        known: int | None = None
        SIGNALS.watch()
        try:
            known = len(self.action_results)
            self._perform(fit, request, step)
        except Exception as exc:
            # Reported to whoever asked; the caller's guard counts it.
            if known is None or len(self.action_results) == known:
                self._finish(
                    self._record(fit, request, step, why=describe_exception(exc)), request
                )
            raise
        return {each.action for each in self.action_results[known:]}

    def _perform(self, fit: Fit, request: ActionRequest, step: int) -> None:
        if is_expired(request, self._now_s()):
            self.report_progress(request, "expired", "it expired before a safe point was reached")
            return
        if why := self._limits.why_dropped(request):
            self._report_not_done(request, why)
            return
        self.report_progress(request, "started")
        if request.action == "pause":
            self._pause(fit, request, step)
        elif request.action == "resume":
            self._finish(self._record(fit, request, step, why=_NOT_PAUSED), request)
        else:
            self._do(fit, request, step)

    def expire_waiting(self, why: str) -> None:
        """Report all waiting requests as expired; the process ends."""
        for request in self._queue.take_all():
            self.report_progress(request, "expired", why)
            if request.command is None:
                self._report_not_done(request, why)

    def _stop_settled(self, fit: Fit, request: ActionRequest, step: int, why: str) -> None:
        self._finish(self._record(fit, request, step, why=why), request)

    def _report_not_done(self, request: ActionRequest, why: str) -> None:
        # "reload follows" was said of a limit's; a script's would be lost without a word.
        text = f"{request.requested_by}: {request.action} was skipped: {why}."
        self._emit(Notice(t_s=self._now_s(), level="info", code="not_done", text=text))

    def report_progress(self, request: ActionRequest, state: CommandState, why: str = "") -> None:
        """Report a command's state; does nothing for requests of limits and scripts."""
        command = request.command
        if command is not None:
            self._emit(
                CommandProgress(
                    t_s=self._now_s(), id=command.id, name=command.name, state=state, why=why
                )
            )

    def report_collected(self, outcome: ReclaimOutcome, *, fit: int, epoch: int) -> None:
        """Report a `collect()` call of the script, between two fits or within one.

        Args:
            fit: Ordinal of the newest fit.
            epoch: Index of its newest epoch.
        """
        record = ActionRecord(
            t_s=self._now_s(),
            action="collect",
            ok=outcome.ok,
            requested_by="script",
            fit=fit,
            epoch=epoch,
            seconds=outcome.seconds,
            why=self._privacy.text(outcome.why)[:MAX_TEXT],
        )
        self._add_result(self._with_outcome(record, outcome, None))

    def _do(self, fit: Fit, request: ActionRequest, step: int) -> None:
        model = fit.model()
        if model is None:
            self._finish(self._record(fit, request, step, why=_MODEL_GONE), request)
        elif request.action == "auto":
            self._auto_executor.perform(fit, request, step)
            return
        elif request.action == "stop":
            self.fit_stopper.stop(fit, request, step)
        elif request.action == "diagnose":
            seconds, why = self.diagnoser.diagnose(fit, model)
            fit.clock.leave_out(retraced=False)
            self._finish(self._record(fit, request, step, seconds=seconds, why=why), request)
        else:
            record = self._act(fit, request, step)
            if record is not None:
                self._report_end(record, request)
            elif request.action == "reload":
                return  # reported by whoever does it
        if request.watch is not None:
            self._limits.reset_base(request.watch)

    def _act(self, fit: Fit, request: ActionRequest, step: int) -> ActionRecord | None:
        """Run an action on the model and keep its record; None if it is only planned."""
        if request.action == "restart":
            self._plan_restart(fit, request, step)
            return None
        if request.action == "reload" and fit.fit_in_parts is not None:
            self._plan_rebuild(fit, fit.fit_in_parts, request)
            return None
        if request.action == "reload" and fit.worker_agreement is not None:
            return self._plan_agreed_reload(fit, fit.worker_agreement, request)
        outcome = self._reclaim(fit, request, step)
        record = self._record(fit, request, step, seconds=outcome.seconds, why=outcome.why)
        record = self._with_outcome(record, outcome, fit.last_step_s)
        self._add_result(record)
        fit.clock.leave_out(retraced=request.action == "reload")
        if outcome.action in {"collect", "reload"}:
            self._on_acted(fit, outcome.action)
        return record

    def reload_with_workers(self, fit: Fit, model: KerasModel) -> None:
        """Reload with the other workers of a fit if one of them requested it.

        Args:
            fit: Fit at the end of an epoch.
        """
        agreement = fit.worker_agreement
        called_by = "" if agreement is None else agreement.called_by(fit.epoch)
        if agreement is None or not called_by:
            return
        store = CheckpointStore(fit.checkpoint_dir, keep=fit.keep_checkpoints)
        tag = CheckpointTag(run=self._run_id, fit=fit.ordinal, epoch=fit.epoch, step=0)
        outcome = agreement.act_together(
            lambda: reload(fit.framework, model, store, tag=tag, agreement=agreement),
            lambda why: skipped_reload(fit.framework, model, why),
        )
        requests, agreement.requests = agreement.requests, []
        for request in requests or [ActionRequest("reload", requested_by=called_by[:MAX_TEXT])]:
            self._reloaded(fit, request, outcome)
        if outcome.ok:
            self._on_acted(fit, "reload")

    def leave_agreement(self, fit: Fit) -> None:
        """Report reloads that still wait for the other workers; the fit ended."""
        agreement = fit.worker_agreement
        requests = [] if agreement is None else agreement.requests
        for request in requests:
            self._finish(self._record(fit, request, 0, why=_NO_AGREEMENT), request)
        requests.clear()

    def begin_restart_record(self, fit: Fit, request: ActionRequest) -> ActionRecord:
        """Record of a restart when the process begins to leave; the next process completes it.

        Args:
            fit: Fit that ends here.
        """
        before = read_footprint(fit.framework, fit.model())
        return msgspec.structs.replace(
            self._record(fit, request, 0),
            before=msgspec.structs.replace(before, step_time_s=fit.last_step_s),
        )

    def restart_failed(self, fit: Fit, request: ActionRequest, result: SaveResult) -> None:
        """Report that the process is not restarted, and why.

        Args:
            fit: Fit that continues here.
            result: Result of the save that failed.
        """
        record = self._record(fit, request, 0, seconds=result.seconds, why=result.why)
        self._finish(record, request)
        if request.part_of and request.watch is not None:
            self._auto_executor.perform(fit, request, 0)  # says that nothing more helps

    def report_restarted(self, pending: ActionRecord, *, seconds: float, why: str) -> None:
        """Report a restart whose fit continues in this process, or could not be resumed.

        Args:
            pending: Record of the process before, with the current memory and graph.
            seconds: Time since the process before began to leave, seconds.
            why: Reason why the fit could not be resumed; empty if it was.
        """
        record = msgspec.structs.replace(
            pending,
            t_s=self._now_s(),
            ok=not why,
            seconds=max(0.0, seconds),
            why=self._privacy.text(why or pending.why)[:MAX_TEXT],
        )
        self._add_result(record)
        if record.command is not None:
            self._emit(
                CommandProgress(
                    t_s=record.t_s,
                    id=record.command,
                    name="restart",
                    state="failed" if why else "done",
                    why=record.why if why else "",
                )
            )

    def _plan_restart(self, fit: Fit, request: ActionRequest, step: int) -> None:
        # At the epoch's end, when all callbacks have seen it; also when a batch was requested.
        if fit.why_not_restart:
            self._finish(self._record(fit, request, step, why=fit.why_not_restart), request)
        elif fit.restart_request is None:
            fit.restart_request = request
        else:
            self.report_progress(request, "failed", "a restart is already in progress")

    def _plan_rebuild(self, fit: Fit, fit_in_parts: FitInParts, request: ActionRequest) -> None:
        # After the epoch, between two calls of Keras' fit; also when a batch was requested.
        fit_in_parts.pending_reloads.append(
            PendingReload(
                fit=fit.ordinal,
                run=self._run_id,
                folder=fit.checkpoint_dir,
                keep=fit.keep_checkpoints,
                on_done=lambda outcome: self._reloaded(fit, request, outcome),
            )
        )

    def _plan_agreed_reload(
        self, fit: Fit, agreement: WorkerAgreement, request: ActionRequest
    ) -> ActionRecord | None:
        # At an epoch's end, which all workers reach at the same step; also for a batch's request.
        why = agreement.call(request, fit.epoch)
        if not why:
            return None
        record = self._record(fit, request, 0, why=why)
        self._add_result(record)
        return record

    def _reloaded(self, fit: Fit, request: ActionRequest, outcome: ReclaimOutcome) -> None:
        record = self._record(fit, request, 0, seconds=outcome.seconds, why=outcome.why)
        self._finish(self._with_outcome(record, outcome, fit.last_step_s), request)
        fit.clock.leave_out(retraced=True)
        if request.watch is not None:
            self._limits.reset_base(request.watch)

    def _reclaim(self, fit: Fit, request: ActionRequest, step: int) -> ReclaimOutcome:
        tag = CheckpointTag(run=self._run_id, fit=fit.ordinal, epoch=fit.epoch, step=step)
        model = fit.model()
        if request.action == "collect":
            return collect(fit.framework, model)
        store = CheckpointStore(fit.checkpoint_dir, keep=fit.keep_checkpoints)
        if request.action == "save":
            return save(fit.framework, model, store, tag=tag, export=request.export)
        return reload(fit.framework, model, store, tag=tag, mode=request.mode)

    def _pause(self, fit: Fit, request: ActionRequest, step: int) -> None:
        """Hold the training thread until it is resumed or stopped; Ctrl+C works."""
        began_s = perf_counter()
        try:  # Ctrl+C may come as soon as the pause is reported
            self.is_paused = True
            self._emit(Paused(t_s=self._now_s(), paused=True))
            self.report_progress(request, "done")
            ending = self._wait_for_end(fit, step)
        finally:
            self.is_paused = False
            fit.clock.leave_out(retraced=False)
            self._emit(Paused(t_s=self._now_s(), paused=False))
            self._add_result(self._record(fit, request, step, seconds=perf_counter() - began_s))
        if ending.action in {"stop", "restart"}:
            self.perform(fit, ending, step=step)
        else:
            self.report_progress(ending, "started")
            self._finish(self._record(fit, ending, step), ending)

    def _wait_for_end(self, fit: Fit, step: int) -> ActionRequest:
        while True:
            request = self._queue.take_or_wait(_PAUSE_CHECK_S)
            if request is None:
                continue
            if request.action in {"resume", "stop", "restart"}:
                return request
            if request.action == "pause":
                self.report_progress(request, "failed", "training is already paused")
            else:
                self.perform(fit, request, step=step)

    def _finish(self, record: ActionRecord, request: ActionRequest) -> None:
        self._add_result(record)
        self._report_end(record, request)

    def _report_end(self, record: ActionRecord, request: ActionRequest) -> None:
        why = "; ".join(filter(None, (record.unchanged, record.why)))[:MAX_TEXT]
        self.report_progress(request, "done" if record.ok else "failed", why)

    def _add_result(self, record: ActionRecord) -> None:
        self.action_results.append(ActionResult(record))
        self._emit(record)

    def _record(
        self, fit: Fit, request: ActionRequest, step: int, *, seconds: float = 0.0, why: str = ""
    ) -> ActionRecord:
        # `auto` has no record of its own, but for a model that is gone.
        return ActionRecord(
            t_s=self._now_s(),
            action="collect" if request.action == "auto" else request.action,
            ok=not why,
            requested_by=request.requested_by,
            command=None if request.command is None else request.command.id,
            fit=fit.ordinal,
            epoch=fit.epoch,
            step=step,
            part_of=request.part_of,
            seconds=max(0.0, seconds),
            why=self._privacy.text(why)[:MAX_TEXT],
        )

    def _with_outcome(
        self, record: ActionRecord, outcome: ReclaimOutcome, step_s: float | None
    ) -> ActionRecord:
        hide = self._privacy.text
        return msgspec.structs.replace(
            record,
            ok=outcome.ok,
            before=msgspec.structs.replace(outcome.before, step_time_s=step_s),
            after=outcome.after,
            mode=outcome.mode,
            variables=outcome.variables,
            state_bytes=outcome.state_bytes,
            checkpoint=outcome.checkpoint,
            checksum=outcome.checksum,
            export=outcome.export,
            released_traces=outcome.released_traces,
            released_models=outcome.released_models,
            disused_traces=outcome.disused_traces,
            held=[hide(line)[:MAX_TEXT] for line in outcome.held[:_MOST_HELD]],
            unchanged=hide(outcome.unchanged)[:MAX_TEXT],
            not_saved=[hide(line)[:MAX_TEXT] for line in outcome.not_saved[:_MOST_HELD]],
        )
