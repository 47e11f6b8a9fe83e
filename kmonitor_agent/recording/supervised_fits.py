"""The fits of a run under `kmonitor run`: taken up at their begin, saved at their end, left."""

import time
from dataclasses import replace
from typing import Any, Final

import msgspec

from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.callback_base import with_keras_callback
from kmonitor_agent.frameworks.resuming import taking_up
from kmonitor_agent.guard import FaultLog, described
from kmonitor_agent.reclaim.actions import foretell
from kmonitor_agent.reclaim.memory import footprint
from kmonitor_agent.reclaim.restart.fit_state import Asked, SavedFit
from kmonitor_agent.recording.action_executor import Performer
from kmonitor_agent.recording.action_requests import Request
from kmonitor_agent.recording.fit import Fit
from kmonitor_agent.recording.limit_enforcer import LimitKeeper
from kmonitor_agent.recording.process_session import Boot
from kmonitor_agent.recording.restarting import Restarting, read_saved
from kmonitor_agent.recording.resumable_fit import Resumption, Saved
from kmonitor_agent.recording.tail import Tail
from kmonitor_agent.wire.messages.commands import SetLimits
from kmonitor_agent.wire.messages.events import ActionRecord, Notice
from kmonitor_agent.wire.messages.version import MAX_TEXT

_NO_FIT: Final = "kmonitor cannot see Keras' own fit around this callback"
_IN_PARTS: Final = "kmonitor_agent.fit is not taken up by another process; model.fit is"
_NOT_FOLLOWED: Final = "this fit cannot be taken up by another process"
_SEVERAL: Final = "another fit runs in this process, which would be cut off"


class SupervisedFits:
    """Adds a tail to each fit and does what it calls for; on the threads that train.

    Does nothing at all where the process is not supervised.
    """

    def __init__(
        self,
        restarting: Restarting,
        faults: FaultLog,
        *,
        limits: LimitKeeper,
        performer: Performer,
        boot: Boot,
    ) -> None:
        """Keep the parts of the session.

        Args:
            restarting: The supervisor's side.
            faults: Our own faults.
            limits: Whose limits go along.
            performer: Tells what was done.
            boot: Ended when the process leaves.
        """
        self._restarting = restarting
        self._limits = limits
        self._performer = performer
        self._boot = boot
        self._faults = faults
        self._open: list[Fit] = []
        limits.started_again(restarting.started_by, restarting.in_vain)

    def follow(self, fit: Fit, model: KerasModel) -> None:
        """A fit begins: have it taken up where an earlier process left it, and saved later.

        Args:
            fit: Before anything of it was told.
            model: What is fitted.
        """
        self._restarting.end_if_leaving()
        origin = fit.origin
        try:
            self._follow(fit, model)
        except Exception as exc:
            # No tail hears of a restart then: whoever asks for one, or asked for the last, is
            # told so.
            fit.why_not_restart = f"{_NOT_FOLLOWED}: {described(exc)}"
            fit.is_left_out, fit.epochs_before, fit.origin = False, 0, origin
            self._tell_not_taken_up(fit)
            raise

    def _follow(self, fit: Fit, model: KerasModel) -> None:
        states = self._restarting.states
        fit.why_not_restart = self._restarting.why_not
        if states is None:
            return
        token = None if fit.origin.token is None else fit.origin.token()
        if fit.parts is not None:
            fit.why_not_restart = _IN_PARTS
        elif token is None or fit.origin.is_own_loop:
            fit.why_not_restart = _NO_FIT
        else:
            fit.why_not_restart = taking_up(model).why_not_resumable(model, token.callbacks)
        if token is None or fit.why_not_restart:
            self._tell_not_taken_up(fit)
            return
        saved, failure = read_saved(self._restarting, fit.ordinal, self._faults)
        resumption = Resumption(
            fit,
            self._restarting.run_id,
            states,
            saved,
            lambda why: self._tell_resumed(fit, saved, why),
        )
        fit.is_left_out = resumption.is_left_out
        if saved is not None:
            self._take_over(fit, saved)
        self._open = [*(each for each in self._open if each.is_open), fit]
        tail = with_keras_callback(Tail)(
            resumption,
            token.callbacks,
            lambda model, callbacks: self._end_epoch(fit, resumption, model, callbacks),
            lambda model, callbacks: self._end_fit(resumption, model, callbacks),
            self._faults,
        )
        if failure is not None:
            tail.refuse(failure)
        self._add(tail, token, model)

    def _tell_not_taken_up(self, fit: Fit) -> None:
        saved, _ = read_saved(self._restarting, fit.ordinal, self._faults)
        self._tell_resumed(fit, saved, fit.why_not_restart)

    def _add(self, tail: Any, token: Any, model: KerasModel) -> None:
        # Keras goes through this very list at the moment, and comes to what is added to it.
        tail.set_params(getattr(token, "params", None))
        tail.set_model(model)
        token.callbacks.append(tail)

    def _take_over(self, fit: Fit, saved: SavedFit) -> None:
        state = saved.state
        if state.limits:
            self._limits.take_over(msgspec.json.decode(state.limits, type=SetLimits))
        if fit.is_left_out:
            return
        fit.epochs_before = state.epochs_run
        fit.origin = replace(fit.origin, initial_epoch=state.next_epoch)

    def foretold(self, fit: Fit, model: KerasModel, inexact: str) -> None:
        """The fit's step was traced.

        Args:
            fit: Which.
            model: What is fitted.
            inexact: What a reload would change in the result; empty if nothing.
        """
        if not fit.why_not_restart:
            fit.why_not_restart = taking_up(model).why_not_exact(inexact)

    def _tell_resumed(self, fit: Fit, saved: SavedFit | None, why: str) -> None:
        """The restart that the process before began is over: tell of it, once."""
        states = self._restarting.states
        if saved is None or states is None or not saved.state.asked.record:
            return
        with self._faults.guarded("session.resumed"):
            state = saved.state
            if not states.is_first_taken_up(fit.ordinal, saved.checksum):
                return  # a crash later on had it taken up again
            begun = msgspec.json.decode(state.asked.record, type=ActionRecord)
            left_out = "; ".join([begun.why, *(f"not kept: {each}" for each in state.left_out)])
            begun = msgspec.structs.replace(
                begun,
                variables=len(state.variables),
                state_bytes=state.state_bytes,
                checksum=saved.checksum,
                why=left_out.removeprefix("; "),
            )
            # What cannot be measured keeps nobody from hearing of it.
            seconds, after = 0.0, None
            with self._faults.guarded("session.resumed"):
                seconds = time.time() - state.asked.left_wall_s
                after = None if why else footprint(fit.framework, fit.model())
            begun = msgspec.structs.replace(begun, after=after)
            self._performer.tell_restarted(begun, seconds=seconds, why=why)

    def _end_epoch(
        self, fit: Fit, resumption: Resumption, model: KerasModel, callbacks: list[Any]
    ) -> None:
        request, fit.leave = fit.leave, None
        self._limits.epoch_ended()
        # The guard lets `SystemExit` pass.
        with self._faults.guarded("session.tail"):
            if request is not None:
                self._leave_or_tell(fit, resumption, request, model, callbacks)
            elif self._restarting.saves_each_epoch and resumption.is_due(fit.why_not_restart):
                self._tell_unsaved(
                    resumption.save("epoch", model, callbacks, limits=self._limits_text())
                )

    def _leave_or_tell(
        self,
        fit: Fit,
        resumption: Resumption,
        request: Request,
        model: KerasModel,
        callbacks: list[Any],
    ) -> None:
        try:
            self._leave(fit, resumption, request, model, callbacks)
        except Exception as exc:
            self._performer.restart_failed(fit, request, Saved(0.0, why=described(exc)))
            raise

    def _end_fit(self, resumption: Resumption, model: KerasModel, callbacks: list[Any]) -> None:
        self._tell_unsaved(resumption.end(model, callbacks, self._limits_text()))

    def _leave(
        self,
        fit: Fit,
        resumption: Resumption,
        request: Request,
        model: KerasModel,
        callbacks: list[Any],
    ) -> None:
        others = [each for each in self._open if each.is_open and each is not fit]
        saved = Saved(0.0, why=_SEVERAL)
        if not others:
            saved = resumption.save(
                "epoch",
                model,
                callbacks,
                asked=self._asked(fit, request, model),
                limits=self._limits_text(),
            )
        if saved.checkpoint is not None:
            try:
                in_vain = 0 if request.watch is None else request.watch.restarts_in_vain
                self._restarting.announce(request.asked_by, in_vain)
            except OSError as exc:
                saved = Saved(saved.seconds, why=f"kmonitor run could not be told: {exc}")
        if saved.checkpoint is None:
            self._performer.restart_failed(fit, request, saved)
            return
        # State is committed and the supervisor knows: whatever fails now, the process leaves.
        with self._faults.guarded("session.leave"):
            self._performer.expire_waiting("the process ended to start again")
        with self._faults.guarded("session.leave"):
            self._boot.restart(self._restarting.supervisor)
            self._faults.write_out()
        self._restarting.leave()

    def _asked(self, fit: Fit, request: Request, model: KerasModel) -> Asked:
        begun = self._performer.restart_begun(fit, request)
        inexact = foretell(fit.framework, model)
        begun = msgspec.structs.replace(begun, why=inexact[:MAX_TEXT])
        return Asked(
            command="" if request.command is None else request.command.id,
            asked_by=request.asked_by,
            left_wall_s=time.time(),
            record=msgspec.json.encode(begun).decode(),
        )

    def _tell_unsaved(self, saved: Saved) -> None:
        if saved.why:
            text = f"State for a restart was not saved: {saved.why}"
            self._boot.emit(
                Notice(t_s=self._boot.now_s(), level="warning", code="save_refused", text=text)
            )

    def _limits_text(self) -> str:
        commanded = self._limits.commanded()
        return "" if commanded is None else msgspec.json.encode(commanded).decode()
