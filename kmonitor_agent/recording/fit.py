"""One call of `fit` as the session follows it, and how it notices that it ended without a word."""

import inspect
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

from kmonitor_agent.call_stacks import DATA_NAMES, call_stacks, is_of_keras, locals_of
from kmonitor_agent.frameworks.base import FitFacts, Framework, KerasModel
from kmonitor_agent.frameworks.script_values import attribute_of, count_of
from kmonitor_agent.probes.step_clock import StepClock
from kmonitor_agent.recording.action_requests import Request
from kmonitor_agent.recording.parts import Parts
from kmonitor_agent.recording.worker_agreement import Meeting

_BETWEEN: Final = "_call_begin_hook"
"""In v1 graph mode the list of callbacks calls itself through this method."""


@dataclass(frozen=True, slots=True)
class FitOrigin:
    """Where a fit runs.

    Attributes:
        thread: Its thread's ident.
        frame_id: `id` of the frame of `fit`, 0 if it was not found; valid while `token` lives.
        token: Keras' CallbackList, which only the frame of `fit` holds; None if not found.
        batch_size: None when the data decide it.
        initial_epoch: First epoch's index, from 0.
        is_own_loop: The script calls Keras' CallbackList itself: no `fit` of Keras is there.
    """

    thread: int
    frame_id: int = 0
    token: "weakref.ref[Any] | None" = None
    batch_size: int | None = None
    initial_epoch: int = 0
    is_own_loop: bool = False


@dataclass(slots=True)
class PeakWatch:
    """Waits for the first steps of a fit.

    Attributes:
        batch: Examples a step.
        before_bytes: Highest use by the allocator before the fit.
        steps_before: Steps in the epochs that have ended.
    """

    batch: int
    before_bytes: float
    steps_before: int = 0


@dataclass(slots=True)
class Fit:
    """A running fit; owned by its training thread, read by the agent's thread.

    Holds no model: a run must not keep alive what the script let go.

    Attributes:
        ordinal: In the run, from 1.
        framework: Of the model.
        clock: Times its steps.
        origin: Where it runs.
        model: Weak reference to the model.
        planned_steps: Steps per epoch; None until known.
        planned_epochs: Epochs of the fit, those before its first one included; 0: not known.
        checkpoint_dir: Where its checkpoints go.
        keep_checkpoints: How many of the newest stay there.
        epoch: Index of the running epoch, from 0.
        epochs_done: Epochs that ended in this process.
        epochs_before: Epochs that had ended in the processes before.
        is_in_epoch: An epoch began and its end was not told.
        epoch_began_s: The boot's time when the epoch began, seconds.
        last_step_s: Median step time of the last epoch, seconds.
        stopped_by_us: An action of ours asked it to stop.
        is_open: Its end has not been told.
        is_traced: Its graph was counted since its step was traced last.
        is_foretold: Whether a reload would change its result has been looked at.
        parts: The training of `kmonitor_agent.fit` that this is part of; None in a plain `fit`.
        meeting: The other workers that train this model, which reload together; None without.
        undescribed: How the model is compiled, until its facts are told; None afterwards.
        is_left_out: It had finished in an earlier process of the run: no epoch runs, nothing of
            it is told again.
        why_not_restart: Why the process cannot be started again at this fit; empty when it can.
        leave: The request to leave at the running epoch's end and be started again, once made.
        listed: How often its callback is in the list of callbacks.
        heard: Calls of the running step's hook so far, of which there are as many.
        step_logs: What Keras gave at the last step's end, as it is; None before the first.
        why_no_rate: Why the learning rate could not be read, as was told last; None: not told.
        peak: Waits for the first steps, to tell what they took; None: told, or cannot be.
        stops: Stops of a loop of the script's own, each with the steps done when it was ordered,
            until it ends or goes on all the same.
        stop_tail: Behind all callbacks once a stop was ordered.
        is_run_stopping: A stop was ordered of this fit and all that run in it.
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
    last_step_s: float | None = None
    stopped_by_us: bool = False
    is_open: bool = True
    is_traced: bool = False
    is_foretold: bool = False
    undescribed: FitFacts | None = None
    parts: Parts | None = None
    meeting: Meeting | None = None
    is_left_out: bool = False
    keep_checkpoints: int = 2
    why_not_restart: str = ""
    leave: Request | None = None
    listed: int = 1
    heard: int = 0
    step_logs: Any = None
    why_no_rate: str | None = None
    peak: PeakWatch | None = None
    stops: list[tuple[Request, int]] = field(default_factory=list[tuple[Request, int]])
    stop_tail: Any = field(default=None, repr=False)
    is_run_stopping: bool = False
    watch: Any = field(default=None, repr=False)

    def hear_anew(self) -> None:
        """An epoch begins."""
        self.heard = 0
        self.step_logs = None

    def hear_logs(self, batch: Any, logs: Any = None) -> None:
        """A step ended; its logs are kept as they are, whether numbers or on the device."""
        self.step_logs = logs

    def is_first_heard(self) -> bool:
        """Whether a hook that runs each step was called for the first of its listings."""
        is_first = self.heard == 0
        self.heard = (self.heard + 1) % self.listed
        return is_first


def find_origin(callback: object) -> FitOrigin:
    """Where the fit runs whose `on_train_begin` is being called; call it from that hook only.

    Args:
        callback: Ours, to tell it from Keras' list of callbacks.
    """
    thread = threading.get_ident()
    frame = _list_frame(inspect.currentframe(), callback)
    if frame is None:
        return FitOrigin(thread)
    token = frame.f_locals.get("self")
    fit_frame = frame.f_back
    if fit_frame is not None and fit_frame.f_code.co_name == _BETWEEN:
        fit_frame = fit_frame.f_back
    if token is None or fit_frame is None:
        return FitOrigin(thread)
    batch_size, initial_epoch = _read_locals(fit_frame)
    return FitOrigin(
        thread,
        id(fit_frame),
        weakref.ref(token),
        batch_size,
        initial_epoch,
        is_own_loop=not is_of_keras(fit_frame),
    )


def is_same_fit(one: FitOrigin, other: FitOrigin) -> bool:
    """Whether two hooks were called in one and the same call of `fit`."""
    token = None if other.token is None else other.token()
    return token is not None and one.token is not None and one.token() is token


def watch_end(fit: Fit, ended: Callable[[Fit], None]) -> None:
    """Have `ended` called when the frame of `fit` dies before its `on_train_end`.

    The frame dies when the exception that left it does: at the end of the script's `except`, on
    whatever thread drops it. Which exception it was is not known any more by then.
    """
    token = None if fit.origin.token is None else fit.origin.token()
    if token is not None:
        fit.watch = weakref.ref(token, lambda _: ended(fit))


def is_on_stack(fit: Fit) -> bool:
    """Whether the fit still runs, as far as the callers of this function tell.

    A loop of the script's own may have told its begin in a function that has returned since: it
    runs for as long as its list of callbacks lives.
    """
    if fit.origin.is_own_loop:
        return fit.origin.token is not None and fit.origin.token() is not None
    return _is_among(fit, _callers(inspect.currentframe()))


def is_running(fit: Fit) -> bool:
    """Whether the fit's thread, any one, is in it now."""
    with call_stacks() as stacks:
        return _is_among(fit, stacks.get(fit.origin.thread, ()))


def _is_among(fit: Fit, frames: Iterable[FrameType]) -> bool:
    if fit.origin.token is None or fit.origin.token() is None:
        return False
    return any(id(frame) == fit.origin.frame_id for frame in frames)


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _list_frame(frame: FrameType | None, callback: object) -> FrameType | None:
    """The frame of `CallbackList.on_train_begin` that called our hook."""
    for each in _callers(frame):
        code = each.f_code
        if code.co_name == "on_train_begin" and code.co_varnames[:1] == ("self",):
            caller = each.f_locals.get("self")
            if caller is not callback and hasattr(caller, "callbacks"):
                return each
    return None


def _read_locals(frame: FrameType) -> tuple[int | None, int]:
    """Batch size and first epoch from the frame of Keras' `fit`, where alone they are told."""
    code = frame.f_code
    if not code.co_flags & inspect.CO_OPTIMIZED or DATA_NAMES.isdisjoint(code.co_varnames):
        # A script's own loop. Never look further: at module level the "locals" are its globals.
        return None, 0
    with locals_of(frame) as found:
        adapter = attribute_of(found.get("epoch_iterator"), "data_adapter")
        batch_size = count_of(found.get("batch_size")) or attribute_of(adapter, "batch_size")
        initial_epoch = found.get("initial_epoch")
    return count_of(batch_size), count_of(initial_epoch) or 0
