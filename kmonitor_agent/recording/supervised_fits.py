"""Fits of a run under `kmonitor run`: resumed at their begin, saved at their end, restarted.

At an epoch's end the last callback of a fit commits its state and, if a restart was requested,
announces the restart to the supervisor and ends the process. The next process resumes the fit in
the same callback at the fit's begin. Everything here runs on the threads that train.
"""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import msgspec

from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.callback_base import with_keras_callback
from kmonitor_agent.frameworks.detection import fit_resumer
from kmonitor_agent.guard import FaultLog, describe_exception, is_from_signal_handler
from kmonitor_agent.limit_watch import LimitWatch
from kmonitor_agent.reclaim.actions import predict_reload_effect, read_footprint
from kmonitor_agent.reclaim.restart.fit_state import (
    CannotResume,
    FitStateStore,
    RestartOrigin,
    SavedFit,
)
from kmonitor_agent.recording.action_executor import ActionExecutor
from kmonitor_agent.recording.action_requests import ActionRequest
from kmonitor_agent.recording.fit import Fit
from kmonitor_agent.recording.limit_enforcer import LimitEnforcer
from kmonitor_agent.recording.process_session import ProcessSession
from kmonitor_agent.recording.resumable_fit import ResumableFit, SaveResult
from kmonitor_agent.wire.local.supervision import (
    LEAVE_WITHIN_S,
    RESTART_STATUS,
    RestartRequest,
    Supervision,
    find_supervision,
    why_not_direct_child,
)
from kmonitor_agent.wire.messages.commands import SetLimits
from kmonitor_agent.wire.messages.events import ActionRecord, Notice
from kmonitor_agent.wire.messages.fields import MAX_TEXT, new_id


class SupervisorClient:
    """A run's side of the supervisor: its folder, settings and last restart.

    Attributes:
        why_not: Reason why this process cannot be restarted; empty if it can.
        saves_each_epoch: True if state is to be saved at epochs' ends, to survive a crash.
        supervisor: The supervisor's process id; 0 without one.
        run_id: The run's id: that of the process before, or a new one.
        started_by: Requester of the restart that started this process; empty if there was none.
        in_vain: Number of earlier restarts in a row that did not help the limit that requested
            them.
        futile: `Escalation.remembered` of that limit in the process before.
        is_leaving: True if state is committed and this process is about to end.
    """

    def __init__(self, name: str) -> None:
        """Read the settings of this process's supervisor, if it has one.

        Args:
            name: The run's name.
        """
        self.why_not = why_not_restart()
        self.saves_each_epoch = False
        self.supervisor = 0
        self.run_id = new_id()
        self.started_by = ""
        self.in_vain = 0
        self.futile: list[str] = []
        self.is_leaving = False
        self._within_s = LEAVE_WITHIN_S
        self._supervision: Supervision | None = None
        self._state_store: FitStateStore | None = None
        supervision = find_supervision(os.environ)
        if self.why_not or supervision is None:
            return
        try:
            self.run_id = supervision.run_id(name)
        except OSError as exc:
            self.why_not = f"the folder of kmonitor run cannot be written to: {exc}"
            return
        self._supervision = supervision
        self._state_store = FitStateStore(supervision.states(self.run_id))
        left = supervision.previous_request()
        if left is not None and left.run == self.run_id:
            self.started_by = left.requested_by
            self.in_vain = left.in_vain
            self.futile = left.futile
        terms = supervision.settings()
        if terms is not None:
            self.supervisor = terms.supervisor
            self.saves_each_epoch = terms.saves_each_epoch
            self._within_s = terms.leave_within_s

    @property
    def store(self) -> FitStateStore | None:
        """Store of committed states of fits; None if this process is not supervised."""
        return self._state_store

    def saved(self, fit: int) -> SavedFit | None:
        """State of a fit that an earlier process of the run committed; None if there is none.

        Raises:
            CannotResume: The state cannot be read.
        """
        return None if self._state_store is None else self._state_store.read(fit)

    def announce(self, requested_by: str, watch: LimitWatch | None = None) -> None:
        """Announce to the supervisor that this process leaves in order to be restarted.

        Args:
            watch: Watch of the limit that requested it; the next process continues with its state.

        Raises:
            OSError: The supervisor's folder cannot be written.
        """
        if self._supervision is not None:
            in_vain = 0 if watch is None else watch.restarts_in_vain
            escalation = None if watch is None else watch.escalation
            futile: list[str] = [] if escalation is None else escalation.remembered
            self._supervision.leave(
                RestartRequest(self.run_id, requested_by[:200], in_vain, futile)
            )

    def leave(self) -> None:
        """Leave the process with status 75; always raises `SystemExit`.

        The script's `finally` blocks and exit functions run. If the process does not end by that
        (the fit runs in a thread of its own; a thread never ends; the script catches the exception
        and continues with its next fit), it is ended by force.
        """
        self.is_leaving = True
        with contextlib.suppress(Exception):  # no thread is left: the process leaves all the same
            threading.Thread(
                target=_end_after, args=(self._within_s,), name=_FINISH, daemon=True
            ).start()
        if threading.current_thread() is not threading.main_thread():
            _exit_for_restart()
        raise SystemExit(RESTART_STATUS)

    def end_if_leaving(self) -> None:
        """End the process if the script continued in spite of `leave`."""
        if self.is_leaving:
            _exit_for_restart()


_NOT_SUPERVISED: Final = (
    "this run was not started by kmonitor run, so it cannot be restarted: start it with kmonitor"
    " run -- python train.py"
)


def why_not_restart() -> str:
    """Reason why this process cannot be restarted; empty if it was started by `kmonitor run`."""
    supervision = find_supervision(os.environ)
    if supervision is None:
        return _NOT_SUPERVISED
    return why_not_direct_child(supervision, supervision.settings())


_FINISH: Final = "kmonitor-leave"


def _end_after(seconds: float, wait: Callable[[float], object] | None = None) -> None:
    try:
        (wait or threading.Event().wait)(seconds)
    except Exception:  # noqa: BLE001 - no clock, no deadline: the process leaves by itself
        return
    _exit_for_restart()


def _exit_for_restart() -> None:
    """Exit with status 75 at once, after flushing printed text."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # closed, broken, or not a stream at all
            stream.flush()
    os._exit(RESTART_STATUS)


_NO_FIT: Final = "kmonitor cannot find the Keras fit that runs this callback"

_IN_PARTS: Final = "kmonitor_agent.fit cannot be resumed in another process; model.fit can"

_NOT_FOLLOWED: Final = "this fit cannot be resumed in another process"

_SEVERAL: Final = "another fit is running in this process and would be cut off"


class SupervisedFits:
    """Adds a callback to each supervised fit and runs its work.

    Does nothing if the process is not supervised.
    """

    def __init__(
        self,
        client: SupervisorClient,
        faults: FaultLog,
        *,
        limits: LimitEnforcer,
        executor: ActionExecutor,
        session: ProcessSession,
    ) -> None:
        """Note the restart that started this process.

        Args:
            client: Connection to the supervisor.
            limits: Limits that are saved with the state.
            executor: Reports results.
            session: Ended when the process leaves.
        """
        self._supervisor_client = client
        self._limits = limits
        self._action_executor = executor
        self._process_session = session
        self._faults = faults
        self._open: list[Fit] = []
        limits.note_restart(client.started_by, client.in_vain, client.futile)

    def follow(self, fit: Fit, model: KerasModel) -> None:
        """Have a fit that begins resumed where an earlier process left it, and saved later.

        Args:
            fit: The fit, before any report of it.
        """
        self._supervisor_client.end_if_leaving()
        origin = fit.origin
        try:
            self._follow(fit, model)
        except Exception as exc:
            # No callback of ours then handles a restart: report that to whoever asks for one, or
            # asked for the last.
            fit.why_not_restart = f"{_NOT_FOLLOWED}: {describe_exception(exc)}"
            fit.is_left_out = False
            fit.epochs_before = 0
            fit.origin = origin
            self._report_not_resumed(fit)
            raise

    def _follow(self, fit: Fit, model: KerasModel) -> None:
        states = self._supervisor_client.store
        fit.why_not_restart = self._supervisor_client.why_not
        if states is None:
            return
        token = None if fit.origin.token is None else fit.origin.token()
        if fit.fit_in_parts is not None:
            fit.why_not_restart = _IN_PARTS
        elif token is None or fit.origin.is_own_loop:
            fit.why_not_restart = _NO_FIT
        else:
            fit.why_not_restart = fit_resumer(model).why_not_resumable(model, token.callbacks)
        if token is None or fit.why_not_restart:
            self._report_not_resumed(fit)
            return
        saved, failure = _read_saved_fit(self._supervisor_client, fit.ordinal, self._faults)
        resumable_fit = ResumableFit(
            fit,
            self._supervisor_client.run_id,
            states,
            saved,
            lambda why: self._report_resumed(fit, saved, why),
        )
        fit.is_left_out = resumable_fit.is_left_out
        if saved is not None:
            self._apply_saved(fit, saved)
        self._open = [*(each for each in self._open if each.is_open), fit]
        callback = with_keras_callback(SupervisedFitCallback)(
            resumable_fit,
            token.callbacks,
            lambda model, callbacks: self._end_epoch(fit, resumable_fit, model, callbacks),
            lambda model, callbacks: self._end_fit(resumable_fit, model, callbacks),
            self._faults,
        )
        if failure is not None:
            callback.refuse(failure)
        self._add(callback, token, model)

    def _report_not_resumed(self, fit: Fit) -> None:
        saved, _ = _read_saved_fit(self._supervisor_client, fit.ordinal, self._faults)
        self._report_resumed(fit, saved, fit.why_not_restart)

    def _add(self, callback: Any, token: Any, model: KerasModel) -> None:
        # Keras is iterating over this very list, and reaches what is added to it.
        callback.set_params(getattr(token, "params", None))
        callback.set_model(model)
        token.callbacks.append(callback)

    def _apply_saved(self, fit: Fit, saved: SavedFit) -> None:
        state = saved.state
        if state.limits:
            self._limits.restore_commanded(msgspec.json.decode(state.limits, type=SetLimits))
        if fit.is_left_out:
            return
        fit.epochs_before = state.epochs_run
        fit.origin = replace(fit.origin, initial_epoch=state.next_epoch)

    def reload_effect_known(self, fit: Fit, model: KerasModel, inexact: str) -> None:
        """Note the effect of a reload; the fit's step was traced.

        Args:
            inexact: Effect of a reload on the result; empty if there is none.
        """
        if not fit.why_not_restart:
            fit.why_not_restart = fit_resumer(model).why_not_exact(inexact)

    def _report_resumed(self, fit: Fit, saved: SavedFit | None, why: str) -> None:
        """Report once that the restart begun by the process before is over."""
        states = self._supervisor_client.store
        if saved is None or states is None or not saved.state.origin.record:
            return
        with self._faults.guarded("run.resumed"):
            state = saved.state
            if not states.mark_as_resumed(fit.ordinal, saved.checksum):
                return  # a crash later on had it taken up again
            record = msgspec.json.decode(state.origin.record, type=ActionRecord)
            left_out = "; ".join([record.why, *(f"not kept: {each}" for each in state.left_out)])
            record = msgspec.structs.replace(
                record,
                variables=len(state.variables),
                state_bytes=state.state_bytes,
                checksum=saved.checksum,
                why=left_out.removeprefix("; "),
            )
            # It is reported even if it cannot be measured.
            seconds = 0.0
            after = None
            with self._faults.guarded("run.resumed"):
                seconds = time.time() - state.origin.left_wall_s
                after = None if why else read_footprint(fit.framework, fit.model())
            record = msgspec.structs.replace(record, after=after)
            self._action_executor.report_restarted(record, seconds=seconds, why=why)

    def _end_epoch(
        self, fit: Fit, resumable_fit: ResumableFit, model: KerasModel, callbacks: list[Any]
    ) -> None:
        request, fit.restart_request = fit.restart_request, None
        self._limits.epoch_ended()
        # The guard lets `SystemExit` pass.
        with self._faults.guarded("run.tail"):
            if request is not None:
                self._leave_or_report(fit, resumable_fit, request, model, callbacks)
            elif self._supervisor_client.saves_each_epoch and resumable_fit.is_due(
                fit.why_not_restart
            ):
                self._report_unsaved(
                    resumable_fit.save("epoch", model, callbacks, limits=self._limits_text())
                )

    def _leave_or_report(
        self,
        fit: Fit,
        resumable_fit: ResumableFit,
        request: ActionRequest,
        model: KerasModel,
        callbacks: list[Any],
    ) -> None:
        try:
            self._leave(fit, resumable_fit, request, model, callbacks)
        except Exception as exc:
            self._action_executor.restart_failed(
                fit, request, SaveResult(0.0, why=describe_exception(exc))
            )
            raise

    def _end_fit(self, fit: ResumableFit, model: KerasModel, callbacks: list[Any]) -> None:
        self._report_unsaved(fit.end(model, callbacks, self._limits_text()))

    def _leave(
        self,
        fit: Fit,
        resumable_fit: ResumableFit,
        request: ActionRequest,
        model: KerasModel,
        callbacks: list[Any],
    ) -> None:
        others = [each for each in self._open if each.is_open and each is not fit]
        result = SaveResult(0.0, why=_SEVERAL)
        if not others:
            result = resumable_fit.save(
                "epoch",
                model,
                callbacks,
                origin=self._origin(fit, request, model),
                limits=self._limits_text(),
            )
        if result.checkpoint is not None:
            try:
                self._supervisor_client.announce(request.requested_by, request.watch)
            except OSError as exc:
                result = SaveResult(
                    result.seconds, why=f"kmonitor run could not be notified: {exc}"
                )
        if result.checkpoint is None:
            self._action_executor.restart_failed(fit, request, result)
            return
        # State is committed and the supervisor knows: whatever fails now, the process leaves.
        with self._faults.guarded("run.leave"):
            self._action_executor.expire_waiting("the process ended for a restart")
        with self._faults.guarded("run.leave"):
            self._process_session.restart(self._supervisor_client.supervisor)
            self._faults.write_out()
        self._supervisor_client.leave()

    def _origin(self, fit: Fit, request: ActionRequest, model: KerasModel) -> RestartOrigin:
        record = self._action_executor.begin_restart_record(fit, request)
        inexact = predict_reload_effect(fit.framework, model)
        record = msgspec.structs.replace(record, why=inexact[:MAX_TEXT])
        return RestartOrigin(
            command="" if request.command is None else request.command.id,
            requested_by=request.requested_by,
            left_wall_s=time.time(),
            record=msgspec.json.encode(record).decode(),
        )

    def _report_unsaved(self, result: SaveResult) -> None:
        if result.why:
            text = f"State for a restart was not saved: {result.why}"
            self._process_session.emit(
                Notice(
                    t_s=self._process_session.now_s(),
                    level="warning",
                    code="save_refused",
                    text=text,
                )
            )

    def _limits_text(self) -> str:
        commanded = self._limits.commanded()
        return "" if commanded is None else msgspec.json.encode(commanded).decode()


def _read_saved_fit(
    client: SupervisorClient, fit: int, faults: FaultLog
) -> tuple[SavedFit | None, CannotResume | None]:
    """A fit's saved state, or the reason why it cannot be resumed.

    Neither if nothing was saved.
    """
    try:
        return client.saved(fit), None
    except CannotResume as exc:
        faults.record("run.resume", exc)
        return None, exc
    except Exception as exc:  # noqa: BLE001 - as bad as a damaged one: nothing is known of it
        faults.record("run.resume", exc)
        return None, CannotResume(describe_exception(exc))


class SupervisedFitCallback:
    """Last callback of a supervised fit; resumes it, saves it, and leaves the process.

    Unlike our other hooks these may end the fit: by `CannotResume`, since continuing would change
        the training's result, and by `SystemExit`, which was requested.

    Args:
        fit: Saves and resumes the fit.
        callbacks: The fit's list of callbacks, this one last.
        at_epoch_end: Called with model and callbacks after all other callbacks at an epoch's end.
        at_fit_end: Called with model and callbacks after all other callbacks at the fit's end.
    """

    model: Any

    def __init__(
        self,
        fit: ResumableFit,
        callbacks: list[Any],
        at_epoch_end: Callable[[Any, list[Any]], None],
        at_fit_end: Callable[[Any, list[Any]], None],
        faults: FaultLog,
    ) -> None:
        super().__init__()
        self._resumable_fit = fit
        self._callbacks = callbacks
        self._at_epoch_end = at_epoch_end
        self._at_fit_end = at_fit_end
        self._faults = faults
        self._failure: CannotResume | None = None
        # tf_keras: turning logs into numbers for us would make every step wait for the device.
        self._supports_tf_logs = True

    def refuse(self, failure: CannotResume) -> None:
        """Make the fit fail at its begin: its saved state cannot be read."""
        self._failure = failure

    def on_train_begin(self, logs: Any = None) -> None:
        """Resume from the saved state; all other callbacks are reset."""
        del logs
        if self._failure is not None:
            raise self._failure
        self._guard(lambda: self._resumable_fit.begin(self._fitted(), self._callbacks))

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Prepare the data; `fit` knows its first epoch by now."""
        del epoch, logs
        self._guard(lambda: self._resumable_fit.epoch_started(self._fitted()))

    def on_test_begin(self, logs: Any = None) -> None:
        del logs
        self._resumable_fit.evaluated()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        del epoch, logs
        self._guard(lambda: self._at_epoch_end(self._fitted(), self._callbacks))

    def on_train_end(self, logs: Any = None) -> None:
        del logs
        self._guard(lambda: self._at_fit_end(self._fitted(), self._callbacks))

    def _fitted(self) -> KerasModel:
        # Keras' own `model` asks the model what it is, and on JAX has it wait for the device.
        return vars(self).get("_model", vars(self).get("model"))

    def _guard(self, work: Callable[[], None]) -> None:
        try:
            work()
        except CannotResume:
            raise
        except Exception as exc:
            if is_from_signal_handler(exc):
                raise
            self._faults.record("run.tail", exc)
