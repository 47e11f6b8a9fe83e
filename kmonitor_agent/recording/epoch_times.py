"""Time of a fit's epochs by part: an account in which each moment belongs to one part.

A cursor moves from hook to hook of ours and from mark to mark (`frameworks/callback_markers.py`),
and the time in between is added to its part, so the parts add up. Long steps, the first and the
last of an epoch, and all steps while a few take much of the time and for some epochs after that,
are timed one by one; of short steps some are timed, five times a second, at the request of the
agent's thread. The time of the other short steps is divided in the proportions of the timed ones.
A pause, which is an untimed step that takes far longer than a plain one, is not divided: what it
takes more is compiling, waiting for input where that is known, or else the rest.
"""

import threading
from collections import defaultdict
from collections.abc import Callable
from operator import add
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Final

from kmonitor_agent.frameworks.callback_markers import (
    CallbackKind,
    CallbackMarkers,
    Hook,
    callback_kind,
    callback_name,
)
from kmonitor_agent.frameworks.graph_waits import GraphWaits
from kmonitor_agent.frameworks.input_timing import (
    LONGEST_GAP_S,
    NO_ITERATOR,
    PythonInput,
    TensorFlowInput,
    input_timing,
)
from kmonitor_agent.probes.compiled_code import CODE_FROM_S, CompileDetector
from kmonitor_agent.probes.step_clock import LONG_STEP_S, StepClock
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.wire.messages.events import CallbackTime, EpochParts, StepTimes
from kmonitor_agent.wire.messages.readings import Reading

if TYPE_CHECKING:
    import weakref

_ENOUGH_TIMED: Final = 5
"""Number of timed steps in an epoch that represent the others.

If there are fewer, earlier ones are added.
"""

_WATCHED_STEP_S: Final = 0.001
_WATCHED_PART: Final = 0.1
"""All steps are timed while slow ones take this part of the time, and a step takes this long on
average."""

_WATCHED_EPOCHS: Final = 20
"""Number of epochs in which all steps are timed after the last one with slow steps."""

_PAUSE_S: Final = 0.2
_PAUSE_TIMES: Final = 10.0
"""Minimum length of a pause: seconds, and times that of a plain step."""

_OUTLIER_S: Final = 0.05
"""Minimum length of a timed step whose wait represents no other, seconds; it is as many times as
long as a plain step as a pause is."""

_LONGEST_NAME: Final = 200
_MOST_NAMES: Final = 8

# Parts of the account beside those of `EpochParts`.
_INSIDE: Final = "inside"
_GAP: Final = "gap"
_UNTIMED: Final = "untimed"
_CALLBACK: Final = "callback"

_Named = tuple[str, str]
"""(part of the account, class of a callback)."""

_PART_OF: Final[dict[CallbackKind, str]] = {
    "ours": "ours",
    "checkpoint": "checkpoints",
    "other": "callbacks",
}


class EpochTimer:
    """Accounts for the time of one fit; owned by its training thread.

    Args:
        count_functions: Returns the framework's count of functions, which grows with each trace or
            compiled program.
        privacy: Hides private names.
        fault: Called with an exception that a mark of ours raised.
        since_s: Time at which the last epoch of the previous fit ended; None without one.
        collected_s: Time since then in calls of `collect()`, seconds; it is ours, not the
            script's.

    Attributes:
        ended_s: Time at which the last epoch's end was reported, by `perf_counter`.
        last_waited_s: Wait for data from a Python iterator in the epoch's last timed step,
            seconds.
    """

    def __init__(
        self,
        clock: StepClock,
        count_functions: Callable[[], Reading],
        privacy: Privacy,
        fault: Callable[[Exception], None],
        since_s: float | None = None,
        collected_s: float = 0.0,
    ) -> None:
        self._clock = clock
        self._privacy = privacy
        self._fault = fault
        self._thread = 0
        self._markers = CallbackMarkers(None, self._passed, fault)
        self._is_passing = False
        self._input: PythonInput | TensorFlowInput | None = None
        self._after_validation = "validation"
        self._validated = (0.0, 0.0)
        self._cpu_before_s = process_time()
        self._at = perf_counter() if since_s is None else since_s
        self.ended_s = self._at
        self._kind = "rest" if since_s is None else "between_fits"
        self._spent = defaultdict[str, float](float)
        self._callbacks: list[float] = []
        self._by_name = defaultdict[_Named, float](float)
        self._shares: dict[str, float] = {}
        self._name_shares: dict[_Named, float] = {}
        self._earlier = dict[str, float]()
        self._earlier_names = dict[_Named, float]()
        self._plain_s = 0.0
        self._is_watched = False
        self._watched_epochs = 0
        self._graph_waits = GraphWaits(clock)
        self._begin_steps()
        self._compiling = CompileDetector(count_functions)
        self._take(perf_counter() - collected_s)
        self._take(perf_counter(), "ours")
        self._kind = "rest"

    def _begin_steps(self) -> None:
        """Reset the step state; no step of the epoch has begun."""
        self._is_first = True
        self._steps_to_go = 0
        self._timed = defaultdict[str, float](float)
        self._timed_callbacks: list[float] = []
        self._timed_names = defaultdict[_Named, float](float)
        self._whole_callbacks: list[float] = []
        self._in_steps = defaultdict[_Named, float](float)
        self._compiled: list[float] = []
        self._pauses: list[float] = []
        self._step_at = 0.0
        self._step_inside = 0.0
        self._step_batches = 0
        self._first_step_s = self._last_step_s = 0.0
        self._is_first_unread = False
        self._unread_s = 0.0
        self._ended_steps = -1
        self._is_gap_long = False
        self.last_waited_s = 0.0
        self._graph_waits.begin_epoch()

    def follow(self, token: "weakref.ref[Any] | None", epoch_iterator: Any) -> None:
        """Time the fit on this thread; called again for each further call of Keras' `fit`.

        Args:
            token: Keras' list of callbacks.
            epoch_iterator: Keras' iterator over the data; None if not found.
        """
        self.close()
        self._thread = threading.get_ident()
        self._markers = CallbackMarkers(token, self._passed, self._fault)
        self._input = input_timing(epoch_iterator)
        self._graph_waits.follow(self._input)

    def input_source(self) -> Reading:
        """Source of the input wait, or the reason why the wait is unknown."""
        if self._input is None:
            return Reading.missing("seconds", NO_ITERATOR)
        if self._input.absent:
            return Reading.missing("seconds", self._input.absent)
        return Reading(None, "seconds", self._input.source)

    def enter(self) -> None:
        self._take(perf_counter())

    def leave(self, after: str) -> None:
        """Leave a hook of ours.

        Args:
            after: Part that follows if the list is not marked: "input", "between_epochs", "rest".
        """
        self._take(perf_counter(), "ours")
        if self._is_passing:
            self._kind = _CALLBACK
        else:
            self._kind = after if self._markers.is_set or after != "input" else _UNTIMED

    def begin_epoch(self) -> None:
        """Begin an epoch, in a hook of ours: its first step is timed."""
        self.enter()
        self._begin_steps()
        with_code = self._validated[0] > 0.0 or self._plain_s >= CODE_FROM_S
        self._validated = (0.0, 0.0)
        self._cpu_before_s = process_time()
        self._compiling.begin(with_code=with_code)
        self._mark()

    def begin_validation(self) -> None:
        """Begin a validation: the last step is over."""
        now_s = perf_counter()
        self._leave_inside(now_s)
        self._take(now_s)
        self._end_last_step(now_s)
        if self._kind in {_CALLBACK, "between_epochs"}:
            self._after_validation = self._kind
        else:  # Keras' `evaluate` goes on and ends its iterator; callbacks follow, maybe unmarked
            self._after_validation = "validation" if self._markers.is_set else "rest"
        self._kind = "validation"
        self._validated = (now_s, now_s)
        self._validation_cpu_s = process_time()

    def end_validation(self) -> None:
        if self._kind == "validation":
            self._take(perf_counter())
            self._kind = self._after_validation
            self._validated = (self._validated[0], self._at)
            self._cpu_before_s += process_time() - self._validation_cpu_s

    def step_due(self) -> None:
        """Time the step that begins; called at the end of our hook at its begin."""
        self._graph_waits.read_due(perf_counter())
        if not self._markers.is_set and self._mark():
            # Callbacks behind ours are called unmarked this time.
            if isinstance(self._input, PythonInput):
                self._input.begin()
            self.leave(_INSIDE)
            self._begin_step(self._at)
        else:
            self.leave(self._kind)

    def note_long(self, seconds: float) -> None:
        """Note that a step took `seconds`, which is long; called at the next step's begin."""
        is_timed = self._clock.steps - self._clock.steps_per_tick == self._ended_steps
        is_pause = False
        if not is_timed:
            is_pause = seconds >= _PAUSE_S
            if self._compiling.was_compiled(seconds, seconds, self._plain_s):
                is_pause = False
                self._compiled.append(seconds)
                self._spent[_UNTIMED] -= seconds
                self._spent[_INSIDE] += seconds
            elif is_pause:
                self._pauses.append(seconds)
        is_gap_long = self._is_gap_long or not is_timed
        is_outlier = seconds >= max(_OUTLIER_S, _PAUSE_TIMES * self._plain_s)
        self._graph_waits.pass_long(
            seconds,
            is_pause=is_outlier if is_timed else is_pause,
            is_timed=is_timed,
            is_gap_long=is_gap_long,
        )

    def end_epoch(self, times: StepTimes | None, computed_s: float = 0.0) -> EpochParts:
        """End an epoch, in a hook of ours; return its parts.

        Args:
            computed_s: Time at which the last step was computed, by `perf_counter`; 0: unknown.
        """
        # A device that is behind still computes the steps when their validation begins.
        began_s, ended_s = self._validated
        late_s = max(0.0, min(computed_s, ended_s) - began_s)
        self._spent["validation"] -= late_s
        self._spent[_INSIDE] += late_s
        parts = self._parts()
        self._watch(times)
        self._spent.clear()
        self._by_name.clear()
        self.ended_s = self._at
        return parts

    def _watch(self, times: StepTimes | None) -> None:
        """Time all steps of the next epoch if a few are slow, which timing some does not see."""
        self._watched_epochs = max(0, self._watched_epochs - 1)
        self._is_watched = self._graph_waits.reads_all = False
        if times is None:
            return
        if times.slow_part >= _WATCHED_PART and times.mean_s >= _WATCHED_STEP_S:
            self._watched_epochs = _WATCHED_EPOCHS
            self._is_watched = True
        elif times.step_s >= _WATCHED_STEP_S:
            self._is_watched = self._watched_epochs > 0
        self._graph_waits.reads_all = self._is_watched

    def close(self) -> None:
        """Stop timing; the fit ended."""
        self._markers.close()
        if isinstance(self._input, PythonInput):
            self._input.end()

    def _mark(self) -> bool:
        if threading.get_ident() != self._thread or not self._markers.set():
            return False
        if not self._is_passing:
            self._callbacks = [0.0] * len(self._markers.callbacks)
        self._steps_to_go = 2 if isinstance(self._input, PythonInput) else 1
        return True

    def _unmark(self) -> None:
        self._note_callbacks()
        self._markers.remove()
        self._is_passing = False
        if isinstance(self._input, PythonInput):
            self._input.end()

    def _take(self, now_s: float, kind: str | None = None) -> None:
        self._spent[kind or self._kind] += now_s - self._at
        self._at = now_s

    def _passed(self, hook: Hook, index: int) -> None:
        """Pass a mark in Keras' list, which is before the callback with this index."""
        if not self._markers.is_set:
            return
        now_s = perf_counter()
        self._is_passing = True
        if index > 0:
            self._callbacks[index - 1] += now_s - self._at
            self._at = now_s
        elif hook == "step_end":
            self._step_inside += now_s - self._at
            self._take(now_s, _INSIDE)
        elif hook == "step_begin":
            self._pass_step_begin(now_s)
        else:
            self._pass_epoch_hook(now_s)
        if not self._is_passing:
            return
        self._kind = _CALLBACK
        if index == len(self._callbacks):
            self._kind = _AFTER[hook]

    def _pass_step_begin(self, now_s: float) -> None:
        if self._kind == "input" or self._step_at == 0.0:
            self._take(now_s)
        else:
            self._close_step_at(now_s)
        if not self._markers.is_set:
            self._kind = _UNTIMED
            return
        if isinstance(self._input, PythonInput):
            self._input.begin()
        elif self._is_first:
            self._graph_waits.begin_first_step(now_s)
        self._begin_step(now_s)

    def _pass_epoch_hook(self, now_s: float) -> None:
        self._leave_inside(now_s)
        if self._kind == _GAP:
            self._take(now_s, "rest")  # the metrics' results, and what ends an epoch
        else:
            self._take(now_s)
        self._end_last_step(now_s)

    def _begin_step(self, now_s: float) -> None:
        self._step_at = now_s
        self._step_inside = 0.0
        self._step_waited = self._waited()
        self._step_batches = self._batches()
        self._step_callbacks = self._callbacks[:]

    def _close_step_at(self, now_s: float) -> None:
        """Close the running step at the begin of the next one."""
        self._leave_inside(now_s)
        self._take(now_s, _INSIDE if self._kind == _INSIDE else _GAP)
        seconds = now_s - self._step_at
        self._graph_waits.note_times(seconds - self._step_inside, self._plain_s)
        self._end_step(now_s, is_whole=True)
        self._steps_to_go -= 1
        is_long = seconds >= LONG_STEP_S or self._is_watched
        if self._steps_to_go <= 0 and not is_long and not self._clock.is_last:
            self._unmark()

    def _leave_inside(self, now_s: float) -> None:
        """Add the rest of a step whose end Keras calls beside the training, or not at all."""
        if self._kind == _INSIDE:
            self._step_inside += now_s - self._at

    def _end_step(self, now_s: float, *, is_whole: bool = False) -> None:
        """End a timed step; the time after the last step of an epoch belongs to no step."""
        if self._step_at == 0.0:
            return
        self._ended_steps = self._clock.steps
        self.last_waited_s = waited_s = self._waited() - self._step_waited
        inside_s = self._step_inside
        plain_s = max(0.0, inside_s - waited_s)
        is_compiled = self._compiling.was_compiled(inside_s, plain_s, self._plain_s)
        self._take(perf_counter(), "ours")
        if is_compiled:
            self._compiled.append(inside_s)
        elif not self._is_first:
            if is_whole or not self._plain_s:  # else it may be one that found no more data
                self._plain_s = min(self._plain_s or plain_s, plain_s)
            if self._is_batch_timed():
                self._add_timed(now_s, waited_s, is_whole=is_whole)
            elif is_whole:
                self._unread_s += now_s - self._step_at
        else:
            self._first_step_s = inside_s
            self._is_first_unread = not self._is_batch_timed()
        outside_s = now_s - self._step_at - inside_s
        self._is_gap_long = is_compiled or outside_s >= LONGEST_GAP_S
        if self._is_first and self._is_gap_long:
            waited_s = 0.0 if is_compiled else self._first_wait_s()
            self._graph_waits.leave_out_first_step(now_s, waited_s)
        self._is_first = False
        self._step_at = 0.0

    def _end_last_step(self, now_s: float) -> None:
        """End the last step of an epoch, if it is timed and running."""
        inside_s = self._step_inside
        n_compiled = len(self._compiled)
        is_usual = self._step_at > 0.0 and not self._is_first
        self._end_step(now_s)
        if is_usual and len(self._compiled) == n_compiled:
            self._last_step_s = inside_s

    def _add_timed(self, now_s: float, waited_s: float, *, is_whole: bool) -> None:
        """Add a step to those that represent the others."""
        pairs = zip(self._callbacks, self._step_callbacks, strict=True)
        taken = [seconds - before for seconds, before in pairs]
        callbacks_s = sum(taken)
        before = self._timed_callbacks or [0.0] * len(taken)
        self._timed_callbacks = list(map(add, before, taken))
        if is_whole:
            self._whole_callbacks = self._timed_callbacks
        own_s = now_s - self._step_at if is_whole else self._step_inside + callbacks_s
        self._timed["steps"] += 1
        self._timed["wall"] += own_s
        self._timed["callbacks"] += callbacks_s
        self._timed["input"] += waited_s

    def _waited(self) -> float:
        return self._input.waited_s if isinstance(self._input, PythonInput) else 0.0

    def _batches(self) -> int:
        return self._input.batches if isinstance(self._input, PythonInput) else 0

    def _is_batch_timed(self) -> bool:
        """True unless Python's batch for the step was requested before batches were timed."""
        return self._batches() > self._step_batches or not isinstance(self._input, PythonInput)

    def _note_callbacks(self) -> None:
        """Add the time of the callbacks to the account, by class."""
        none = [0.0] * len(self._callbacks)
        timed = self._timed_callbacks or none
        whole = self._whole_callbacks or none
        for callback, seconds, timed_s, whole_s in zip(
            self._markers.callbacks, self._callbacks, timed, whole, strict=True
        ):
            if seconds > 0.0:
                named = self._named(callback)
                self._spent[named[0]] += seconds
                self._by_name[named] += seconds
                self._timed_names[named] += timed_s
                self._in_steps[named] += whole_s
        self._callbacks = none
        self._timed_callbacks = []
        self._whole_callbacks = []

    def _named(self, callback: object) -> "_Named":
        name = callback_name(callback, self._privacy.name)
        return _PART_OF[callback_kind(callback)], name[:_LONGEST_NAME]

    def _parts(self) -> EpochParts:
        if self._markers.is_set:
            self._note_callbacks()
        spent = self._spent
        untimed_s = spent.pop(_UNTIMED, 0.0)
        wall_s = untimed_s + sum(spent.values())
        inside_s = spent.pop(_INSIDE, 0.0)
        gap_s = spent.pop(_GAP, 0.0)
        steps_s = inside_s + gap_s + untimed_s
        timed = 1.0 if steps_s <= 0.0 else min(1.0, max(0.0, 1.0 - untimed_s / steps_s))
        pauses_s = self._pauses_s(untimed_s)
        untimed_s -= pauses_s
        self._share_out(untimed_s)
        compiling_s = self._compiling_s(inside_s)
        inside_s += untimed_s - self._share(untimed_s, "callbacks")
        input_s = self._input_s(untimed_s)
        waited_s = 0.0 if input_s is None else min(pauses_s, self._graph_waits.in_pauses_s)
        inside_s += waited_s
        spent["rest"] += pauses_s - waited_s
        if input_s is not None:
            input_s += self._first_wait_s() if self._is_first_unread else 0.0
            input_s = min(input_s, inside_s + gap_s - compiling_s)
            of_gap_s = min(gap_s, input_s)
            gap_s -= of_gap_s
            inside_s -= input_s - of_gap_s
        first_s = spent.pop("input", 0.0)
        return EpochParts(
            wall_s=wall_s,
            input_s=None if input_s is None else max(0.0, input_s) + first_s,
            first_input_s=self._first_input_s(first_s, input_s),
            compute_s=max(0.0, inside_s - compiling_s) + (first_s if input_s is None else 0.0),
            callbacks_s=max(0.0, spent["callbacks"]),
            checkpoints_s=spent["checkpoints"],
            ours_s=max(0.0, spent["ours"]),
            validation_s=spent["validation"],
            compiling_s=compiling_s,
            between_epochs_s=spent["between_epochs"],
            between_fits_s=spent["between_fits"],
            rest_s=max(0.0, spent["rest"] + spent[_CALLBACK] + gap_s),
            cpu_s=max(0.0, process_time() - self._cpu_before_s),
            timed=timed,
            callbacks=[
                CallbackTime(name, seconds, part == "checkpoints", self._in_steps[part, name])
                for (part, name), seconds in sorted(
                    self._by_name.items(), key=lambda item: item[1], reverse=True
                )
                if part != "ours"
            ][:_MOST_NAMES],
        )

    def _share_out(self, untimed_s: float) -> None:
        """Divide the untimed time among callbacks in the proportions of the timed steps."""
        self._add_earlier()
        if self._timed["wall"] > 0.0:
            self._shares = {
                name: self._timed[name] / self._timed["wall"] for name in ("callbacks", "input")
            }
            whole_s = sum(self._timed_names.values())
            self._name_shares = {
                named: seconds / whole_s for named, seconds in self._timed_names.items() if whole_s
            }
        callbacks_s = self._share(untimed_s, "callbacks")
        for named, part in self._name_shares.items():
            self._spent[named[0]] += part * callbacks_s
            self._by_name[named] += part * callbacks_s
            self._in_steps[named] += part * callbacks_s

    def _add_earlier(self) -> None:
        """Add missing timed steps from earlier epochs."""
        missing = _ENOUGH_TIMED - self._timed["steps"]
        if missing > 0 and self._earlier:
            part = min(1.0, missing / self._earlier["steps"])
            for name, seconds in self._earlier.items():
                self._timed[name] += part * seconds
            for named, seconds in self._earlier_names.items():
                self._timed_names[named] += part * seconds
        if self._timed["steps"]:
            self._earlier = dict(self._timed)
            self._earlier_names = dict(self._timed_names)

    def _share(self, seconds: float, of: str) -> float:
        return seconds * self._shares.get(of, 0.0)

    def _first_wait_s(self) -> float:
        """Wait for input within the first step of the epoch: its time beyond that of others."""
        return max(0.0, self._first_step_s - self._plain_s) if self._plain_s else 0.0

    def _first_input_s(self, before_s: float, input_s: float | None) -> float:
        """Part of the wait for input that an epoch's first batch takes."""
        if input_s is None:
            return 0.0
        return before_s + min(max(0.0, input_s), self._first_wait_s())

    def _pauses_s(self, untimed_s: float) -> float:
        """Time that pauses took beyond plain steps, part of the untimed."""
        plain_s = self._plain_s
        least_s = max(_PAUSE_S, _PAUSE_TIMES * plain_s) if plain_s else float("inf")
        whole_s = sum(seconds - plain_s for seconds in self._pauses if seconds >= least_s)
        return min(max(0.0, untimed_s), whole_s)

    def _compiling_s(self, inside_s: float) -> float:
        whole_s = sum(self._compiled) - len(self._compiled) * self._plain_s
        return min(inside_s, max(0.0, whole_s))

    def _input_s(self, untimed_s: float) -> float | None:
        """Time that the steps waited for input, seconds; None if unknown."""
        source = self._input
        if source is None or source.absent:
            return None
        if isinstance(source, PythonInput):
            waited_s, source.waited_s = source.waited_s, 0.0
            return waited_s + self._share(untimed_s + self._unread_s, "input")
        self._graph_waits.end_epoch(self._last_step_s, self._plain_s)
        return self._graph_waits.waited_s(self._first_wait_s())


_AFTER: Final[dict[Hook, str]] = {
    "step_begin": _INSIDE,
    "step_end": _GAP,
    "epoch_begin": "input",
    "epoch_end": "between_epochs",
}
"""Part that follows the last callback of each hook."""
