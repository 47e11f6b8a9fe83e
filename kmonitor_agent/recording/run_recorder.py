"""Recorder of one run in this process, from its first fit to the process's exit.

Composes the parts of `recording` and forwards Keras' hooks to them.
"""

import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Final, TypedDict

from kmonitor_agent.frameworks.base import FitFacts, Framework, KerasModel
from kmonitor_agent.frameworks.callback_base import leave_timing_check_to_others, times_hooks
from kmonitor_agent.frameworks.detection import framework_for
from kmonitor_agent.frameworks.script_values import safe_count, safe_get
from kmonitor_agent.guard import is_from_signal_handler
from kmonitor_agent.probes.step_clock import StepClock
from kmonitor_agent.reclaim.actions import predict_reload_effect
from kmonitor_agent.reclaim.deferred_signals import SIGNALS, HandlerException
from kmonitor_agent.reclaim.outcome import ReclaimAction, ReclaimOutcome
from kmonitor_agent.recording.action_executor import ActionExecutor
from kmonitor_agent.recording.action_requests import ActionRequest, CommandHandler, RequestQueue
from kmonitor_agent.recording.action_results import ActionResults
from kmonitor_agent.recording.epoch_times import EpochTimer
from kmonitor_agent.recording.fit import Fit, fit_in_parts, is_on_stack, is_running, watch_end
from kmonitor_agent.recording.fit_origin import FitOrigin, find_origin, is_same_fit
from kmonitor_agent.recording.fit_reporter import FitReporter, ModelReporter
from kmonitor_agent.recording.keras_logs import KerasLogWriter
from kmonitor_agent.recording.limit_enforcer import LimitEnforcer
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.recording.process_session import (
    ClosedRun,
    ProcessSession,
    UncaughtException,
    how_ended,
)
from kmonitor_agent.recording.sampler import Sampler, SamplerTarget
from kmonitor_agent.recording.settings import Settings
from kmonitor_agent.recording.supervised_fits import SupervisedFits, SupervisorClient
from kmonitor_agent.recording.worker_agreement import worker_agreement
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.events import Event, Notice

_HOUSEKEEPING_S: Final = 1.0
"""Time between rounds of the recorder's own upkeep (expired requests, log file), seconds."""


class _EventArguments(TypedDict):
    """Arguments of every part that emits events."""

    emit: Callable[[Event], None]
    now_s: Callable[[], float]
    privacy: Privacy


class RunRecorder:
    """A run in this process: its session, limits, requests and fits.

    The hooks run on the threads that train and may raise: the callback guards them with `faults`.
    Nothing here starts a thread or touches a file before the first fit.

    Attributes:
        faults: Our own faults in this run.
        process_session: The run in this process, and its link to the hub.
        limits: Limits in effect.
        sampler: Reads memory and other resources.
        privacy: Hides private names and texts.
        steps_done: Number of steps in the epochs that ended in this process.
        log_writer: Writes our values into Keras' logs, for callbacks with `logs=True`.
    """

    _ended_s: float | None = None
    _collected_s = 0.0
    _left_by: BaseException | None = None
    _stopped_by_us = False

    def __init__(self, name: str, settings: Settings, before: ClosedRun | None = None) -> None:
        """Begin a run, with the settings of its first callback, or continue a closed one."""
        self._supervisor_client = SupervisorClient(name)
        self.name: Final = name
        self.run_id: Final = self._supervisor_client.run_id if before is None else before.run_id
        self._folders = find_folders()
        self.privacy = privacy = Privacy(private=settings.private)
        self._settings = settings
        self.process_session = session = self._begin_session(settings)
        self.faults: Final = session.faults
        self._fits: list[Fit] = []
        self._before = before = before or ClosedRun(self.run_id)
        self._fit_count = before.fits
        self._last_epoch = before.last_epoch
        self.steps_done = before.steps_done
        self._begin_lock = threading.Lock()
        self._sampler_target = SamplerTarget()
        self._queue = RequestQueue(self._mark_batches_due)
        self.limits = limits = LimitEnforcer(
            emit=session.emit, request=self._queue.put, now_s=session.now_s
        )
        reporting = _EventArguments(emit=session.emit, now_s=session.now_s, privacy=privacy)
        self._action_executor = self._make_executor(reporting)
        self._command_handler = self._make_handler(takes_commands=settings.commands)
        self.sampler = Sampler(current_target=self.current_target, limits=limits, **reporting)
        self._fit_reporter = FitReporter(counts=self.sampler.heap_counts, **reporting)
        self.log_writer = KerasLogWriter(
            self.sampler, self.current_target, session.emit, session.now_s
        )
        self._model_reporter = ModelReporter(
            reporter=self._fit_reporter,
            faults=self.faults,
            device=self.sampler.device_name,
            **reporting,
        )
        self._supervised_fits = SupervisedFits(
            self._supervisor_client,
            self.faults,
            limits=limits,
            executor=self._action_executor,
            session=session,
        )

    def _begin_session(self, settings: Settings) -> ProcessSession:
        return ProcessSession(
            run=self.run_id,
            name=self.name,
            settings=settings,
            folders=self._folders,
            privacy=self.privacy,
            why_not_restart=self._supervisor_client.why_not,
        )

    @property
    def has_begun(self) -> bool:
        """True once the run has begun, and in a fork of its process."""
        return self.process_session.is_started or not self.process_session.is_ours

    @property
    def results(self) -> ActionResults:
        """Results of actions so far, oldest first."""
        return ActionResults(self._action_executor.action_results)

    def current_target(self) -> SamplerTarget:
        """Framework, fit and graph that train now; any thread."""
        return self._sampler_target

    def open_fits(self) -> tuple[Fit, ...]:
        """Fits without a reported end, in the order of their begin; any thread."""
        return tuple(self._fits)

    def request(self, request: ActionRequest) -> None:
        """Request an action; any thread."""
        if not self._queue.put(request):
            text = f"{request.action} was refused: too many requests are waiting for a safe point"
            self.process_session.emit(
                Notice(
                    t_s=self.process_session.now_s(),
                    level="warning",
                    code="request_dropped",
                    text=text,
                )
            )

    def report_collected(self, outcome: ReclaimOutcome) -> None:
        """Report a `collect()` call of the script, if the run has begun."""
        if self.process_session.is_started and self.process_session.is_ours:
            newest = self._fits[-1] if self._fits else None
            epoch = self._last_epoch if newest is None else newest.epoch
            self._action_executor.report_collected(outcome, fit=self._fit_count, epoch=epoch)
            self.sampler.calls += not self._fits
            self._collected_s += outcome.seconds if newest is None else 0.0
            self._fit_reporter.kept_objects.unit_ended("collect", newest)

    def call_ended(self, model: KerasModel, settings: Settings) -> bool:
        """Count an `evaluate` or `predict` outside of fits; True if the run begins with it.

        Args:
            settings: Settings of the callback that saw the call.
        """
        if not self.process_session.is_ours or self._fits:
            return False
        begins = self.begin_without_fit(framework_for(model), settings)
        self.sampler.calls += 1
        self._fit_reporter.kept_objects.unit_ended("call", None)
        return begins

    def begin_without_fit(self, framework: Framework, settings: Settings | None = None) -> bool:
        """Begin the run, if it has not begun; True if it begins now."""
        begins = not self.process_session.is_started
        if begins:
            with self._begin_lock, self.faults.guarded("run.start"):
                self._start(framework)
            with self.faults.guarded("run.limits"):
                self.limits.set_by_script((settings or self._settings).limits)
        if self._sampler_target.framework is None:
            self._sampler_target = SamplerTarget(framework)
        return begins

    def begin_fit(
        self, callback: object, model: KerasModel, params: object, settings: Settings
    ) -> Fit | None:
        """Begin a fit; None in a fork, or if another callback of ours records it already.

        Args:
            callback: Callback whose `on_train_begin` is running.
            params: Keras' parameters: "epochs", "steps".
        """
        origin = find_origin(callback)
        guarded = self.faults.guarded
        with guarded("run.timing_check"):
            leave_timing_check_to_others(origin.callback_list())
        if not self.process_session.is_ours or self._is_followed(origin):
            return None
        with self._begin_lock:
            # Counted whatever fails: saved states of fits go by this number.
            ordinal = self._fit_count = self._fit_count + 1
            with guarded("run.start"):
                self._start(framework_for(model), rebuilds=fit_in_parts(model) is not None)
        with guarded("run.close_forgotten"):
            self._close_forgotten()
        self._left_by = None
        with guarded("run.limits"):
            self.limits.set_by_script(settings.limits)
        framework = framework_for(model)
        facts = self._facts(framework, model)
        fit = self._new_fit(ordinal, origin, framework, model, facts, params, settings)
        self._follow(fit, model)
        if not fit.is_left_out:
            self._report_begin(fit, model, facts)
        fit.leave_hook("rest")
        return fit

    def _new_fit(  # noqa: PLR0913, PLR0917 - all that is known of a fit at its begin
        self,
        ordinal: int,
        origin: FitOrigin,
        framework: Framework,
        model: KerasModel,
        facts: FitFacts,
        params: object,
        settings: Settings,
    ) -> Fit:
        clock = StepClock(
            steps_per_execution=facts.steps_per_execution,
            on_due=lambda: self._serve_due(fit),
            on_long=lambda seconds: timer.note_long(seconds),  # noqa: PLW0108 - made below
            on_fault=partial(self.faults.record, "run.step"),
        )
        fault = partial(self.faults.record, "run.step_mark")
        since_s = None if self._fits else self._ended_s
        collected_s = 0.0 if since_s is None else self._collected_s
        timer: EpochTimer = EpochTimer(
            clock, framework.functions_made, self.privacy, fault, since_s, collected_s
        )
        self._collected_s = 0.0
        fit = Fit(
            ordinal=ordinal,
            framework=framework,
            clock=clock,
            timer=timer,
            origin=origin,
            model=weakref.ref(model),
            checkpoint_dir=settings.checkpoint_dir or self._folders.checkpoints / self.run_id,
            keep_checkpoints=settings.keep_checkpoints,
            planned_steps=safe_count(safe_get(params, "steps")),
            planned_epochs=safe_count(safe_get(params, "epochs")) or 0,
            undescribed_facts=facts,
            fit_in_parts=fit_in_parts(model),
            worker_agreement=worker_agreement(framework, model),
        )
        return fit

    def _follow(self, fit: Fit, model: KerasModel) -> None:
        guarded = self.faults.guarded
        fit.follow(fit.origin)
        if fit.fit_in_parts is not None:
            self.process_session.unavailable.pop("reload", None)
        with guarded("run.supervised"):
            self._supervised_fits.follow(fit, model)
        self._fits.append(fit)
        self._action_executor.fit_stopper.fit_started(fit)
        self._watch(fit)
        with guarded("run.watch_end"):
            watch_end(fit, self._on_dropped)

    def _facts(self, framework: Framework, model: KerasModel) -> FitFacts:
        with self.faults.guarded("run.facts"):
            return framework.fit_facts(model)
        return FitFacts(model="")

    def _report_begin(self, fit: Fit, model: KerasModel, facts: FitFacts) -> None:
        with self.faults.guarded("run.fit_started"):
            self._fit_reporter.fit_started(fit, model, facts, fit.planned_epochs)
        with self.faults.guarded("run.model"):
            self._model_reporter.begin_fit(fit, model if facts.is_built else None)
        with self.faults.guarded("run.graph"):
            self._count_graph(fit, model)
        fit.clock.due = True

    def end_part(self, fit: Fit) -> None:
        """End a part: a call of Keras' `fit` ends, the training continues in another one."""
        fit.watch = None  # the death of its frame is no end

    def begin_part(self, callback: object, fit: Fit, model: KerasModel) -> None:
        """Begin the next part: the same fit for all observers, with another model object.

        Args:
            callback: Callback whose hook is running.
            fit: Fit that continues.
            model: The new model object.
        """
        fit.follow(find_origin(callback))
        fit.model = weakref.ref(model)
        watch_end(fit, self._on_dropped)
        fit.is_traced = False
        fit.clock.due = True
        self._count_graph(fit, model, is_judged=False)

    def begin_epoch(self, fit: Fit, epoch: object) -> None:
        """Begin an epoch; a second call, by a callback that is listed twice, does nothing."""
        index = safe_count(epoch)
        if index is None:  # a loop of the script's own counts its epochs in its own way
            index = fit.epochs_before + fit.epochs_done
        if fit.is_in_epoch and fit.epoch == index:
            return
        self._action_executor.fit_stopper.epoch_started(fit)
        fit.epoch = index
        fit.is_in_epoch = True
        fit.begin_epoch()
        fit.epoch_began_s = self.process_session.now_s()
        self._watch(fit)
        self._fit_reporter.epoch_started(fit)
        fit.leave_hook("input")

    def end_epoch(self, fit: Fit, model: KerasModel, logs: object, params: object) -> None:
        """End an epoch: report it, judge its graph and times, and run waiting requests, once."""
        if not fit.is_in_epoch:
            return
        fit.enter_hook()
        fit.epochs_done += 1
        self.steps_done += fit.steps_done
        fit.is_in_epoch = False
        # Each by itself: what fails costs neither the limits nor a stop that waits.
        guarded = self.faults.guarded
        with guarded("run.step_time"):
            fit.planned_steps = safe_count(safe_get(params, "steps")) or fit.planned_steps
            fit.last_steps = fit.step_times()
        with guarded("run.report_epoch"):
            self._fit_reporter.epoch_ended(fit, model, logs)
        with guarded("run.model"):
            self._model_reporter.describe(fit, model)
            self._model_reporter.end_epoch(fit)
        fit.is_traced = True
        with guarded("run.graph"):
            self._count_graph(fit, model)
        with guarded("run.log_metrics"):
            self.log_writer.epoch_ended(fit)
        with guarded("run.reload_effect"):
            self._report_reload_effect(fit, model)
        with guarded("run.limits"):
            self.limits.observe_times(
                self.process_session.now_s() - fit.epoch_began_s, fit.last_steps, fit.why_untimed
            )
        self._follow_up(fit)
        with guarded("run.serve_epoch"):
            self._action_executor.serve(fit, "epoch")
        with guarded("run.agreed_reload"):
            self._action_executor.reload_with_workers(fit, model)
        fit.leave_hook("between_epochs")

    def end_fit(self, fit: Fit, *, stopped: bool = False) -> None:
        if self._close(fit) and not fit.is_left_out:
            self._fit_reporter.fit_ended(fit, "stopped" if stopped else "finished", None)

    def leave_fit(self, fit: Fit, exc: BaseException | None) -> None:
        """End a fit that an exception left; None: the script caught an unknown exception."""
        if self._close(fit):
            self._fit_reporter.fit_ended(fit, "left" if exc is None else how_ended(exc), exc)

    def handle_uncaught(self, uncaught: UncaughtException) -> None:
        """End the fits of a thread that an uncaught exception left."""
        for fit in tuple(self._fits):
            if fit.origin.thread == uncaught.thread:
                self.leave_fit(fit, uncaught.exc)
        if uncaught.is_last:
            self._left_by = uncaught.exc

    @property
    def has_open_fit(self) -> bool:
        return bool(self._fits)

    def set_idle(self, *, is_idle: bool) -> None:
        """Set if this run is idle while another run of the process is active."""
        self.process_session.set_idle(is_idle=is_idle)

    def closed(self) -> ClosedRun:
        """State to keep of this run if it is closed before the process ends."""
        return ClosedRun(
            self.run_id,
            self._fit_count,
            self._last_epoch,
            self.steps_done,
            self.limits.commanded() or self._before.limits,
            self.process_session.release_spool,
        )

    def close(self, within_s: float) -> None:
        """Report open fits and the end of the session; returns at once.

        Args:
            within_s: Maximum time for the hub, seconds.
        """
        if not self.process_session.is_ours:
            return
        guarded = self.faults.guarded
        with guarded("run.expire"):
            self._action_executor.expire_waiting(
                "the process ended before a safe point was reached"
            )
        for fit in tuple(self._fits):
            with guarded("run.close_fit"):
                if self._left_by is None and is_running(fit) and self._close(fit):
                    self._fit_reporter.fit_ended(fit, "interrupted", None)
                self.leave_fit(fit, self._left_by)
        with guarded("run.end"):
            self.process_session.end(
                left_by=self._left_by, stopped=self._stopped_by_us, within_s=within_s
            )

    def _make_executor(self, reporting: _EventArguments) -> ActionExecutor:
        return ActionExecutor(
            run=self.run_id,
            queue=self._queue,
            limits=self.limits,
            faults=self.faults,
            on_acted=self._acted,
            on_performed=self._performed,
            open_fits=self.open_fits,
            **reporting,
        )

    def _make_handler(self, *, takes_commands: bool) -> CommandHandler:
        return CommandHandler(
            takes_commands=takes_commands,
            session=self.process_session,
            queue=self._queue,
            report=self._action_executor.report_progress,
            set_limits=self.limits.set_by_command,
            is_paused=lambda: self._action_executor.is_paused,
        )

    def _is_followed(self, origin: FitOrigin) -> bool:
        return any(is_same_fit(fit.origin, origin) for fit in self._fits)

    def _start(self, framework: Framework, *, rebuilds: bool = False) -> None:
        if self.process_session.is_started:
            return
        self.process_session.start(framework, self._command_handler.receive, rebuilds=rebuilds)
        if self._before.limits is not None:
            self.limits.restore_commanded(self._before.limits)
        interval_s = self._settings.sample_interval_s
        self.sampler.begin(self.process_session.every, interval_s)
        self.process_session.every(interval_s, self._watch_steps)
        self.process_session.every(_HOUSEKEEPING_S, self._run_housekeeping, while_idle=True)

    def _watch_steps(self) -> None:
        self._fit_reporter.kept_objects.watch_steps(self._sampler_target.fit)

    def _run_housekeeping(self) -> None:
        self._command_handler.expire()
        self.faults.write_out()

    def _close_forgotten(self) -> None:
        """End fits of this thread that no longer run, because an exception left them."""
        for fit in tuple(self._fits):
            if fit.origin.thread == threading.get_ident() and not is_on_stack(fit):
                self.leave_fit(fit, None)

    def _on_dropped(self, fit: Fit) -> None:
        with self.faults.guarded("run.dropped"):
            self.leave_fit(fit, None)

    def _close(self, fit: Fit) -> bool:
        """Close a fit; True if it was open."""
        if not fit.is_open:
            return False
        fit.is_open = False
        with self.faults.guarded("run.leave_agreement"):
            self._action_executor.leave_agreement(fit)
        self._action_executor.fit_stopper.fit_ended(fit)
        self._follow_up(fit)
        self._last_epoch = fit.epoch
        fit.watch = None
        self._ended_s = fit.close_timer()
        if fit in self._fits:
            self._fits.remove(fit)
        self._stopped_by_us = fit.stopped_by_us
        self._watch(self._fits[-1] if self._fits else None)
        return True

    def _watch(self, fit: Fit | None) -> None:
        framework = self._sampler_target.framework if fit is None else fit.framework
        self._sampler_target = SamplerTarget(framework, fit, self._sampler_target.graph)

    def _count_graph(self, fit: Fit, model: KerasModel, *, is_judged: bool = True) -> None:
        graph = fit.framework.graph(model)
        self._sampler_target = SamplerTarget(fit.framework, self._sampler_target.fit, graph)
        self._fit_reporter.graph_counted(fit, graph)
        if is_judged:
            self.limits.observe_graph(graph)
        if fit.is_traced:
            self.limits.report_graph_unwatched(graph)

    def _serve_due(self, fit: Fit) -> None:
        is_open = False
        try:
            try:
                is_open = SIGNALS.open(is_watched=self._has_work(fit))
                self._serve_batch(fit)
            except Exception as exc:
                if is_from_signal_handler(exc):
                    raise
                self.faults.record("run.serve_due", exc)
            finally:
                if is_open:
                    SIGNALS.close(self.faults)
        except HandlerException as passing:
            raise (passing.error if is_open else passing) from None
        finally:
            if is_open:
                SIGNALS.close_left(self.faults)

    def _has_work(self, fit: Fit) -> bool:
        """True if more is due than timing a step, which takes less time than watching signals."""
        is_known = fit.is_traced and fit.undescribed_facts is None and fit.peak is None
        return not is_known or fit.is_count_due or self._queue.waits("batch")

    def _serve_batch(self, fit: Fit) -> None:
        # Before its first step a model that Keras builds late has neither layers nor slots, and
        # none has the step's graph, and the first epoch may take hours.
        if not self._queue.waits("batch") and times_hooks(fit.origin.callback_list()):
            fit.clock.due_after(1)
            return
        fit.enter_hook()
        is_early = fit.clock.steps == 0
        fit.clock.due = is_early and not fit.is_traced
        with self.faults.guarded("run.describe_model"):
            fit.clock.due |= self._model_reporter.waits(fit)
            if not is_early and (model := fit.model()) is not None:
                self._model_reporter.describe(fit, model)
                self._count_traced(fit, model)
        if fit.is_count_due:
            fit.is_count_due = False
            self._fit_reporter.kept_objects.count(fit)
        with self.faults.guarded("run.serve_batch"):
            self._action_executor.serve(fit, "batch", step=fit.clock.steps)
        fit.step_due()

    def _count_traced(self, fit: Fit, model: KerasModel) -> None:
        if not fit.is_traced:
            fit.is_traced = True
            with self.faults.guarded("run.count_traced"):
                self._count_graph(fit, model)
                self._report_reload_effect(fit, model)

    def _report_reload_effect(self, fit: Fit, model: KerasModel) -> None:
        """Report once, before any reload is requested, that a reload would change the result."""
        if not fit.is_reload_effect_reported:
            fit.is_reload_effect_reported = True
            if why := predict_reload_effect(fit.framework, model):
                self._supervised_fits.reload_effect_known(fit, model, why)
                text = f"A reload in this fit is {why}"
                now_s = self.process_session.now_s()
                self.process_session.emit(
                    Notice(t_s=now_s, level="info", code="reload_inexact", text=text)
                )

    def _performed(self, performed: set[str]) -> None:
        # An `auto`, or a pause, is several actions. A reloaded model's graph waits for its step.
        if (
            (graph := self._sampler_target.graph)
            and "collect" in performed
            and "reload" not in performed
        ):
            self.limits.observe_graph(graph)

    def _acted(self, fit: Fit, action: ReclaimAction) -> None:
        model = fit.model()
        with self.faults.guarded("run.acted"):
            if model is not None:
                self._count_graph(fit, model, is_judged=False)
        if action == "reload":
            fit.is_traced = False
            fit.clock.due = True

    def _follow_up(self, fit: Fit) -> None:
        with self.faults.guarded("run.follow_up"):
            self._action_executor.diagnoser.follow_up(fit)

    def _mark_batches_due(self) -> None:
        if self._queue.waits("batch"):
            for fit in tuple(self._fits):
                fit.clock.due = True
