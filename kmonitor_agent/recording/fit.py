"""A running fit: its state, the detection of its end, its parts, and its stops.

An exception that leaves Keras' `fit` calls no hook: the end is detected by the death of the frame
of `fit`, or by a search for that frame on the stacks.
"""

import inspect
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any, Final, Self

from kmonitor_agent.call_stacks import call_stacks
from kmonitor_agent.frameworks.base import FitFacts, Framework, KerasModel, computes_behind
from kmonitor_agent.frameworks.callback_base import with_keras_callback
from kmonitor_agent.probes.held_memory import read_held
from kmonitor_agent.probes.step_clock import StepClock
from kmonitor_agent.reclaim.outcome import ReclaimOutcome
from kmonitor_agent.recording.action_requests import ActionRequest
from kmonitor_agent.recording.epoch_times import EpochTimer
from kmonitor_agent.recording.fit_origin import FitOrigin, callers_of
from kmonitor_agent.recording.worker_agreement import WorkerAgreement
from kmonitor_agent.wire.messages.events import StepTimes
from kmonitor_agent.wire.messages.readings import Reading

STEP_SOURCE: Final = Reading(
    None,
    "seconds",
    "step clock, start to start: the median over a whole epoch; for samples, and until the first"
    " epoch ends, the median over the current epoch so far",
)
"""Source of a step time."""

MEAN_STEP_SOURCE: Final = Reading(
    None,
    "seconds",
    "mean step time over a whole epoch, from the start of the first step to the result of "
    "the last, because steps were queued faster than the device computed them",
)
"""Source of a step time if the device runs behind."""


@dataclass(slots=True)
class PeakWatch:
    """State of the wait for the first steps of a fit.

    Attributes:
        batch: Examples per step.
        before_bytes: Peak use of the allocator before the fit, bytes.
        steps_before: Number of steps in the epochs that have ended.
    """

    batch: int
    before_bytes: float
    steps_before: int = 0


@dataclass(slots=True)
class Fit:
    """A running fit; owned by its training thread, read by the agent's thread.

    Holds no model: a run must not keep objects alive that the script dropped.

    Attributes:
        ordinal: Ordinal in the run, from 1.
        origin: Thread and frame in which it runs.
        model: Weak reference to the model.
        planned_steps: Steps per epoch; None until known.
        planned_epochs: Epochs of the fit, including those before its first one; 0: unknown.
        keep_checkpoints: Number of newest checkpoints to keep.
        epoch: Index of the running epoch, from 0.
        epochs_done: Number of epochs that ended in this process.
        epochs_before: Number of epochs that had ended in earlier processes.
        is_in_epoch: True if an epoch began and its end was not reported.
        epoch_began_s: Session time at which the epoch began, seconds.
        timer: Account of the time of its epochs; None: unknown.
        last_steps: Step times of the last epoch; None if too few were measured.
        stopped_by_us: True if an action of ours stopped it.
        is_open: True until its end is reported.
        is_traced: True if its graph was counted since the last trace of its step.
        is_count_due: True if objects that the script keeps are to be counted at the next step.
        is_reload_effect_reported: True after the check if a reload would change its result.
        fit_in_parts: The training of `kmonitor_agent.fit` that this is part of; None in a plain
            `fit`.
        worker_agreement: Agreement with other workers that train this model; None without them.
        undescribed_facts: Facts of the model until they are sent; None afterwards.
        is_left_out: True if it had finished in an earlier process of the run: no epoch runs, and
            nothing is reported again.
        why_not_restart: Reason why the process cannot be restarted at this fit; empty if it can.
        restart_request: Request to leave at the running epoch's end and be restarted; None without
            a request.
        listings: Number of times that its callback is in the list of callbacks.
        validation_bytes: Growth of memory in the running epoch's validations, bytes; None if none
            has ended, or memory cannot be read.
        held_before_bytes: Memory at the begin of the running validation; None outside of one.
        hook_calls: Calls of the running step's hook so far; there are `listings` per step.
        step_logs: Keras' logs of the last step's end, unprocessed; None before the first.
        ended_batch: Index of the last batch whose step ended; None if Keras knows the number of
            steps.
        computed_s: Arrival of `step_logs`, by `perf_counter`; 0 if no device can be behind.
        why_no_rate: Reason why the learning rate could not be read, as last reported; None: not
            reported.
        peak: Wait for the first steps to report their peak; None if reported, or impossible.
        pending_stops: Stops of a loop of the script's own, each with the steps done at the
            request, until the loop ends or continues regardless.
        stop_tail: Last callback once a stop was requested; None before.
        is_run_stopping: True if a stop of this fit and all fits within it was requested.
    """

    ordinal: int
    framework: Framework
    clock: StepClock
    origin: FitOrigin
    model: Callable[[], KerasModel]
    checkpoint_dir: Path
    planned_steps: int | None = None
    planned_epochs: int = 0
    epoch: int = 0
    epochs_done: int = 0
    epochs_before: int = 0
    is_in_epoch: bool = False
    epoch_began_s: float = 0.0
    timer: EpochTimer | None = None
    last_steps: StepTimes | None = None
    stopped_by_us: bool = False
    is_open: bool = True
    is_traced: bool = False
    is_count_due: bool = False
    is_reload_effect_reported: bool = False
    undescribed_facts: FitFacts | None = None
    fit_in_parts: "FitInParts | None" = None
    worker_agreement: WorkerAgreement | None = None
    is_left_out: bool = False
    keep_checkpoints: int = 2
    why_not_restart: str = ""
    restart_request: ActionRequest | None = None
    listings: int = 1
    validation_bytes: float | None = None
    held_before_bytes: float | None = None
    hook_calls: int = 0
    step_logs: Any = None
    ended_batch: int | None = None
    computed_s: float = 0.0
    why_no_rate: str | None = None
    peak: PeakWatch | None = None
    pending_stops: list[tuple[ActionRequest, int]] = field(
        default_factory=list[tuple[ActionRequest, int]]
    )
    stop_tail: Any = field(default=None, repr=False)
    is_run_stopping: bool = False
    watch: Any = field(default=None, repr=False)

    @property
    def last_step_s(self) -> float | None:
        """Median step time of the last epoch, seconds."""
        return None if self.last_steps is None else self.last_steps.step_s

    @property
    def step_source(self) -> Reading:
        """Source of the step time, or the reason why there is none."""
        why = self.clock.why_untimed(self.planned_steps)
        if why:
            return Reading.missing("seconds", why)
        return MEAN_STEP_SOURCE if self.is_device_behind else STEP_SOURCE

    @property
    def is_device_behind(self) -> bool:
        """True if the last epoch's steps began ahead of the device that computes them."""
        return self.last_steps is not None and self.last_steps.p50_s is None

    @property
    def running_step_s(self) -> float | None:
        """Median of the running epoch's steps so far; any thread.

        While the device is behind, this is the last epoch's step time: the time between handing
        steps over is not a step time.
        """
        return self.last_step_s if self.is_device_behind else self.clock.median_s()

    @property
    def why_untimed(self) -> str:
        """Reason why the last epoch's steps are untimed; empty if timed, or maybe later."""
        return self.clock.why_untimed(self.planned_steps) if self.last_steps is None else ""

    @property
    def steps_done(self) -> int:
        """Steps of the epoch that ends; of unknown data TensorFlow begins one too many."""
        begun = self.clock.steps
        if self.ended_batch is None:
            return begun
        return max(begun - self.clock.steps_per_tick, min(begun, self.ended_batch + 1))

    def begin_epoch(self) -> None:
        self.hook_calls = 0
        # Where Keras does not know the number of steps, it is most likely that of the last epoch.
        steps = self.planned_steps or self.steps_done
        self.step_logs = self.ended_batch = None
        self.clock.begin_epoch()
        self.clock.plan(steps)
        if self.timer is not None:
            self.timer.begin_epoch()
        self.validation_bytes = self.held_before_bytes = None

    def follow(self, origin: FitOrigin) -> None:
        """Set where the fit runs, in this or another call of Keras' `fit`."""
        self.origin = origin
        if self.timer is not None:
            iterator = None if origin.epoch_iterator is None else origin.epoch_iterator()
            self.timer.follow(origin.token, iterator)

    def enter_hook(self) -> None:
        if self.timer is not None:
            self.timer.enter()

    def leave_hook(self, after: str) -> None:
        """Leave a hook of ours; see `EpochTimer.leave`."""
        if self.timer is not None:
            self.timer.leave(after)

    def close_timer(self) -> float | None:
        """Stop timing; return the time at which its last epoch ended, by `perf_counter`."""
        if self.timer is None:
            return None
        self.timer.close()
        return self.timer.ended_s

    def step_due(self) -> None:
        """Time the step that begins; at the end of our hook at its begin."""
        if self.timer is not None:
            self.timer.step_due()

    def begin_validation(self) -> None:
        self.held_before_bytes = read_held().value if self.is_in_epoch else None
        if self.timer is not None and self.is_in_epoch:
            self.timer.begin_validation()

    def end_validation(self) -> None:
        if self.timer is not None:
            self.timer.end_validation()
        before = self.held_before_bytes
        after = read_held().value
        self.held_before_bytes = None
        if before is not None and after is not None:
            self.validation_bytes = (self.validation_bytes or 0.0) + after - before

    def step_end_hook(self) -> Callable[..., None]:
        """Hook that Keras calls at each step's end, possibly on another thread."""
        is_timed = computes_behind(self.framework)
        if self.planned_steps or self.origin.is_own_loop:
            return self._store_timed_logs if is_timed else self._store_logs
        return self._store_timed_batch if is_timed else self._store_batch

    def _store_logs(self, batch: Any, logs: Any = None) -> None:
        """Keep a step's logs unprocessed, as numbers or on the device."""
        self.step_logs = logs

    def _store_batch(self, batch: Any, logs: Any = None) -> None:
        """Keep a step's logs and the index of its batch."""
        self.step_logs = logs
        self.ended_batch = batch if type(batch) is int else None

    def _store_timed_batch(self, batch: Any, logs: Any = None) -> None:
        self._store_batch(batch, logs)
        self.computed_s = perf_counter()

    def _store_timed_logs(self, batch: Any, logs: Any = None) -> None:
        """Keep a step's logs and the time of their arrival, which is when they were computed."""
        self.step_logs = logs
        self.computed_s = perf_counter()

    def step_times(self) -> StepTimes | None:
        """Step times of the epoch; only the mean if a device computes them later."""
        waited_s = 0.0 if self.timer is None else self.timer.last_waited_s
        return self.clock.step_times(self.computed_s - waited_s)

    def is_first_call(self) -> bool:
        """True if a hook that runs at each step was called for the first of its listings."""
        is_first = self.hook_calls == 0
        self.hook_calls = (self.hook_calls + 1) % self.listings
        return is_first


def watch_end(fit: Fit, ended: Callable[[Fit], None]) -> None:
    """Call `ended` when the frame of `fit` dies before its `on_train_end`.

    The frame dies with the exception that left it: at the end of the script's `except`, on
        whatever thread drops it. The exception itself is no longer known by then.
    """
    token = fit.origin.callback_list()
    if token is not None:
        fit.watch = weakref.ref(token, lambda _: ended(fit))


def is_on_stack(fit: Fit) -> bool:
    """True if the fit still runs, as far as the callers of this function show.

    A loop of the script's own may have begun the fit in a function that has returned since: such a
    fit runs as long as its list of callbacks lives.
    """
    if fit.origin.is_own_loop:
        return fit.origin.callback_list() is not None
    return _is_among(fit, callers_of(inspect.currentframe()))


def is_running(fit: Fit) -> bool:
    """True if the fit's thread is in the fit now; for any fit and thread."""
    with call_stacks() as stacks:
        return _is_among(fit, stacks.get(fit.origin.thread, ()))


def _is_among(fit: Fit, frames: Iterable[FrameType]) -> bool:
    if fit.origin.callback_list() is None:
        return False
    return any(id(frame) == fit.origin.frame_id for frame in frames)


@dataclass(frozen=True, slots=True)
class PendingReload:
    """A reload that waits for the end of the running call of `fit`.

    Attributes:
        fit: Ordinal of the fit.
        run: Run id.
        folder: Folder of its checkpoints.
        keep: Number of checkpoints to keep.
        on_done: Called with the outcome.
    """

    fit: int
    run: str
    folder: Path
    on_done: Callable[[ReclaimOutcome], None]
    keep: int = 2


class FitInParts:
    """A training of `kmonitor_agent.fit`: several calls of Keras' `fit`, each with a new model.

    Owned by the thread of the training.

    Attributes:
        model: The model of the running part.
        pending_reloads: Waiting reloads.
    """

    def __init__(self, model: KerasModel) -> None:
        self.model = model
        self.pending_reloads: list[PendingReload] = []

    def __enter__(self) -> Self:
        _RUNNING.setdefault(threading.get_ident(), []).append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _RUNNING[threading.get_ident()].remove(self)
        if not _RUNNING[threading.get_ident()]:
            del _RUNNING[threading.get_ident()]


_RUNNING: Final[dict[int, list[FitInParts]]] = {}
"""Trainings in parts by thread ident, innermost last."""


def fit_in_parts(model: KerasModel) -> FitInParts | None:
    """Training in parts that this thread runs for this model; None for a plain `fit`."""
    for candidate in reversed(_RUNNING.get(threading.get_ident(), [])):
        if candidate.model is model:
            return candidate
    return None


_IGNORED: Final = "the loop continues: it ignores model.stop_training, which was set to True"

_ENDED_BEFORE: Final = "the fit it was meant for had already ended"


class FitStopper:
    """Stops fits and completes the requests for it; on the threads that train.

    Args:
        open_fits: Returns the run's open fits, in the order of their begin.
        finish: Keeps the record of a stop: the fit, the request, the steps done in its epoch, and
            the reason why it did not end; empty if it did.
    """

    def __init__(
        self,
        open_fits: Callable[[], Sequence[Fit]],
        finish: Callable[[Fit, ActionRequest, int, str], None],
    ) -> None:
        self._open_fits = open_fits
        self._finish = finish

    def stop(self, fit: Fit, request: ActionRequest, step: int) -> None:
        """End the fits that a request is for.

        Args:
            fit: Fit at whose safe point this runs.
            request: Request to stop this fit, another one, or the run.
            step: Steps done in its running epoch.
        """
        targets = self._targets(fit, request)
        for target in targets:
            _request_stop(target)
        unsure = [target for target in targets if target.origin.is_own_loop]
        if unsure:
            # The outermost ends last.
            unsure[0].pending_stops.append((request, step))
        else:
            self._finish(fit, request, step, "" if targets else _ENDED_BEFORE)

    def fit_started(self, fit: Fit) -> None:
        """End a new fit after one step if it is nested in fits that a stop of the run ends."""
        if any(each.is_run_stopping for each in self._enclosing_fits(fit)):
            _request_stop(fit)
            fit.is_run_stopping = True

    def epoch_started(self, fit: Fit) -> None:
        """Report that a loop of the script's own continued in spite of a stop."""
        self._settle(fit, _IGNORED)

    def fit_ended(self, fit: Fit) -> None:
        """Complete the stops of a fit that has ended in any way."""
        self._settle(fit, "")
        token = fit.origin.callback_list()
        if token is not None and fit.stop_tail is not None:
            # By identity: the script's callbacks may compare as they like.
            token.callbacks[:] = [each for each in token.callbacks if each is not fit.stop_tail]
        fit.stop_tail = None

    def _settle(self, fit: Fit, why: str) -> None:
        stops, fit.pending_stops = fit.pending_stops, []
        for request, step in stops:
            self._finish(fit, request, step, why)

    def _targets(self, fit: Fit, request: ActionRequest) -> list[Fit]:
        """Fits to end, the outermost first."""
        if request.of == "run":
            enclosing = self._enclosing_fits(fit)
            for outer_fit in enclosing:
                outer_fit.is_run_stopping = True
            return enclosing
        if request.fit is None:
            return [fit]
        return [outer_fit for outer_fit in self._open_fits() if outer_fit.ordinal == request.fit]

    def _enclosing_fits(self, fit: Fit) -> list[Fit]:
        """Fits that this one runs in, and itself, the outermost first."""
        before = [each for each in self._open_fits() if each.ordinal < fit.ordinal]
        return [*(each for each in before if each.origin.thread == fit.origin.thread), fit]


def _request_stop(fit: Fit) -> None:
    """Have a fit stop at its next safe point."""
    model = fit.model()
    if model is None:
        return
    model.stop_training = True
    fit.stopped_by_us = True
    token = fit.origin.callback_list()
    if token is not None and fit.stop_tail is None:
        fit.stop_tail = with_keras_callback(StopCallback)(fit)
        fit.stop_tail.set_model(model)
        # Keras may be iterating over this very list, and then reaches what is added to it.
        token.callbacks.append(fit.stop_tail)


class StopCallback:
    """Last callback of a fit that has to stop, so that no other callback revokes the stop."""

    model: Any

    def __init__(self, fit: Fit) -> None:
        super().__init__()
        self._fit = fit
        # tf_keras: turning logs into numbers for us would make every step wait for the device.
        self._supports_tf_logs = True

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        del batch, logs
        self._stop()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        del epoch, logs
        self._stop()

    def _stop(self) -> None:
        model = self._fit.model()
        if self._fit.is_open and model is not None:
            model.stop_training = True
