"""The limits of a run in force: set by script or command, judged on two threads."""

import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

import msgspec

from kmonitor_agent.frameworks.base import GraphCount
from kmonitor_agent.limit_watch import (
    GROWTH_PART,
    MOST_IN_VAIN,
    EscalationLevel,
    EscalationStep,
    LimitWatch,
    LimitWatches,
)
from kmonitor_agent.recording.action_requests import Action, ActionRequest
from kmonitor_agent.wire.limits import limit_amount_text, limit_text
from kmonitor_agent.wire.messages.commands import (
    STEP_TIME_METRICS,
    LimitMetric,
    LimitSpec,
    SetLimits,
)
from kmonitor_agent.wire.messages.events import (
    Event,
    LimitCrossed,
    LimitsInForce,
    Notice,
    StepTimes,
)

TRIAL_EPOCHS: Final = 3
"""Number of epochs after which a process restarted by a limit has shown its own needs."""

_IN_VAIN: Final = (
    f"the last {MOST_IN_VAIN} restarts did not help: each new process came within"
    f" {GROWTH_PART:.0%} of the limit in its first {TRIAL_EPOCHS} epochs"
)

_RELIEVES: Final = frozenset({"collect", "reload", "restart", "auto"})

_NO_SINGLE_STEPS: Final = (
    "the device lags behind the steps that are queued on it, so only their mean is known; use"
    " step_time or step_time_mean"
)
_BEGAN_S: Final = 0.0
"""Session time of its begin, seconds."""


@dataclass(frozen=True, slots=True)
class BoundedReading:
    """A metric's reading, in the metric's unit; None where absent.

    Attributes:
        value: Value of this run.
        of: Bound of the value: the whole that a percentage refers to.
    """

    value: float | None
    of: float | None = None


class _OthersWatch:
    """Detects that other processes brought a percentage of a bound to its limit.

    The crossing is compared with the last reading well below the limit. If others took four times
    as much as this run, freeing this run's memory would help little.
    """

    def __init__(self) -> None:
        self._below: BoundedReading | None = None

    def took_it(self, reading: BoundedReading, spec: LimitSpec) -> bool:
        """Judge the next reading.

        True if others caused most of the growth since the last reading well below the limit.
        """
        value = reading.value
        of = reading.of
        if spec.fraction is None or value is None or of is None:
            return False
        if self._below is None or value <= _WELL_BELOW * spec.fraction * of:
            self._below = reading
            return False
        own = max(0.0, value - (self._below.value or 0.0))
        others = (self._below.of or 0.0) - of
        return others > _FAR_MORE * own


_WELL_BELOW: Final = 0.9
_FAR_MORE: Final = 4


class LimitEnforcer:
    """Judges limits and requests their actions, behind a lock that is held for microseconds only.

    RAM and VRAM are judged on the agent's thread, graph, functions and step time on the training
    thread.

    Args:
        request: Called with the action of a crossing; returns False if it was refused.
        now_s: Seconds since the session started.
    """

    def __init__(
        self,
        *,
        emit: Callable[[Event], None],
        request: Callable[[ActionRequest], bool],
        now_s: Callable[[], float],
    ) -> None:
        self._emit = emit
        self._request = request
        self._now_s = now_s
        self._lock = threading.Lock()
        self.limit_watches = LimitWatches()
        self._script_limits: tuple[LimitSpec, ...] = ()
        self._commanded: set[LimitMetric] = set()
        self._unwatched: set[LimitSpec] = set()
        self._bounds: dict[LimitMetric, float] = {}
        self._others: weakref.WeakKeyDictionary[LimitWatch, _OthersWatch] = (
            weakref.WeakKeyDictionary()
        )
        self._started_by = ""
        self._in_vain = 0
        self._futile: Collection[str] = ()
        self._epochs = 0

    def set_by_script(self, specs: tuple[LimitSpec, ...]) -> None:
        """Set a callback's limits; setting the same again changes nothing.

        A metric whose limits came from a command keeps them: a loop that creates a callback for
            each model must not undo the user's settings in the app.
        """
        if specs == self._script_limits:
            return
        with self._lock:
            metrics: set[LimitMetric] = {spec.metric for spec in (*self._script_limits, *specs)}
            metrics -= self._commanded
            self._script_limits = specs
            changed = [spec for spec in specs if spec.metric in metrics]
            self._replace(metrics, changed)
        self.report_limits()
        self._report_too_large(changed)

    def set_by_command(self, wanted: SetLimits, requested_by: str) -> None:
        """Replace the limits of the named metrics."""
        specs = [
            msgspec.structs.replace(spec, set_by=requested_by or "app") for spec in wanted.limits
        ]
        with self._lock:
            self._commanded.update(wanted.metrics)
            self.limit_watches.replace(wanted.metrics, specs)
        self.report_limits()
        self._report_too_large(specs)

    def commanded(self) -> SetLimits | None:
        """Limits that were set by command; None if there are none."""
        with self._lock:
            metrics = sorted(self._commanded)
            specs = [spec for spec in self.limit_watches.specs() if spec.metric in self._commanded]
        return SetLimits(metrics=metrics, limits=specs) if metrics else None

    def restore_commanded(self, wanted: SetLimits) -> None:
        """Restore limits that were set by command in an earlier process of the run."""
        with self._lock:
            self._commanded.update(wanted.metrics)
            self._replace(wanted.metrics, wanted.limits)
        self.report_limits()
        self._report_too_large(wanted.limits)

    def report_limits(self) -> None:
        with self._lock:
            specs = self.limit_watches.specs()
        self._emit(LimitsInForce(t_s=self._now_s(), limits=specs))

    def observe(self, metric: LimitMetric, reading: BoundedReading) -> None:
        """Judge a reading: report crossings and releases, and request the actions of crossings."""
        now_s = self._now_s()
        crossings: list[tuple[LimitWatch, LimitCrossed, bool]] = []
        with self._lock:
            watches = self.limit_watches.watches(metric)
            for watch in watches:
                crossing = watch.observe(reading.value, reading.of, now_s)
                others = self._others.setdefault(watch, _OthersWatch())
                is_of_others = others.took_it(reading, watch.spec)
                if crossing is not None:
                    crossings.append((watch, crossing, is_of_others))
        for watch, crossing, is_of_others in crossings:
            if is_of_others and crossing.crossed and crossing.action in _RELIEVES:
                self._report_others(watch, crossing)
            else:
                self._answer(watch, crossing)
        self._report_unbounded(watches, reading)
        if reading.of is not None:
            is_first = metric not in self._bounds
            self._bounds[metric] = reading.of
            if is_first:
                self._report_too_large([watch.spec for watch in watches])

    def observe_graph(self, graph: GraphCount) -> None:
        """Judge the limits on `graph` and `functions`; does nothing without a count."""
        if graph.operations is not None:
            self.observe("graph", BoundedReading(float(graph.operations)))
            self.observe("functions", BoundedReading(float(graph.functions)))

    def observe_times(self, epoch_s: float, steps: StepTimes | None, why: str) -> None:
        """Judge the limits on the time of an epoch that ended and of its steps.

        Args:
            epoch_s: Duration of the epoch, seconds.
            steps: Times of its steps; None if they were not timed.
            why: Reason why they were not timed; empty if times may still come.
        """
        self.observe("epoch_time", BoundedReading(epoch_s))
        for metric, field in STEP_TIME_METRICS.items():
            self.observe(metric, BoundedReading(getattr(steps, field, None)))
            is_unknown = steps is not None and getattr(steps, field) is None
            if why or is_unknown:
                self.report_unwatched(metric, why or _NO_SINGLE_STEPS)

    def report_graph_unwatched(self, graph: GraphCount) -> None:
        """Report once why there is no count, if there is none."""
        if graph.operations is None:
            self.report_unwatched("graph", graph.absent)
            self.report_unwatched("functions", graph.absent)

    def report_unwatched(self, metric: LimitMetric, why: str) -> None:
        """Report once for each limit on a metric that it cannot be watched.

        Args:
            metric: Metric without a reading.
        """
        with self._lock:
            watches = self.limit_watches.watches(metric)
        for watch in watches:
            self._notify_once(watch.spec, "limit_unmeasured", f"is not monitored: {why}.")

    def reset_base(self, watch: LimitWatch) -> None:
        """Judge growth from here on; an action that a limit requested has run."""
        with self._lock:
            watch.reset_base()

    def next_step(
        self, watch: LimitWatch, why_not: Mapping[EscalationLevel, str]
    ) -> EscalationStep:
        """Next level of `auto` for a limit; a level that is returned counts as run now.

        "wait" for a limit that was released since its request: something else has helped, and the
        effect of a level could not be judged now.

        Args:
            why_not: Levels that are not possible here, with the reason.
        """
        now_s = self._now_s()
        with self._lock:
            if watch.escalation is None:
                return "nothing"
            if watch.is_in_vain:
                why_not = {"restart": _IN_VAIN, **why_not}
            if not watch.is_crossed:
                return "wait"
            step = watch.escalation.next_step(why_not, now_s)
            if step == "wait":
                watch.wait_for_level()
            return step

    def report_exhausted(self, watch: LimitWatch) -> None:
        """Report that `auto` has no further level that helps; it waits for growth from here on."""
        with self._lock:
            tried = "" if watch.escalation is None else watch.escalation.summary()
            watch.reset_base()
        text = (
            f"{limit_text(watch.spec)}: nothing helped ({tried}). The value is still above "
            "the limit; kmonitor will try again when the value has grown by another 5%."
        )
        self._emit(Notice(t_s=self._now_s(), level="warning", code="nothing_helps", text=text))

    def why_dropped(self, request: ActionRequest) -> str:
        """Reason why a limit's request is obsolete; empty if it is not.

        Only actions that free memory can be obsolete: a stop or a save responds to the crossing
            itself.

        Args:
            request: Request at its safe point.
        """
        watch = request.watch
        if watch is None or request.action not in _RELIEVES:
            return ""
        with self._lock:
            if watch not in self.limit_watches.all_watches():
                return "the limit was changed in the meantime"
            return "" if watch.is_crossed else "the limit is no longer exceeded"

    def epoch_ended(self) -> None:
        """Count an ended epoch of this process if a restart is possible."""
        self._epochs += 1
        if self._epochs == TRIAL_EPOCHS:
            with self._lock:
                for watch in self.limit_watches.all_watches():
                    watch.end_trial()

    def note_restart(
        self, requested_by: str, in_vain: int = 0, futile: Collection[str] = ()
    ) -> None:
        """Note that this process was started by a restart; call it before limits are set.

        Args:
            requested_by: Requester of the restart; a limit with this text, from the script or
                restored, does not request another one at once. Empty if there was no request.
            in_vain: `restarts_in_vain` of the limit that requested it.
            futile: `Escalation.remembered` of that limit in the process before.
        """
        self._started_by = requested_by
        self._in_vain = in_vain
        self._futile = futile

    def _replace(self, metrics: Iterable[LimitMetric], specs: Iterable[LimitSpec]) -> None:
        known = self.limit_watches.all_watches()
        self.limit_watches.replace(metrics, specs)
        for watch in self.limit_watches.all_watches():
            if watch not in known and limit_text(watch.spec) == self._started_by:
                watch.started_again(_BEGAN_S, self._in_vain, self._futile)

    def _report_others(self, watch: LimitWatch, crossing: LimitCrossed) -> None:
        """Report that other processes took the memory, which no action of ours can free."""
        self._emit(msgspec.structs.replace(crossing, answered=False))
        self.reset_base(watch)
        text = (
            f"{limit_text(watch.spec)}: other processes used up the memory, and this run barely "
            f"grew; {crossing.action} was skipped because it would free little."
        )
        self._emit(Notice(t_s=self._now_s(), level="warning", code="others_took_it", text=text))

    def _answer(self, watch: LimitWatch, crossing: LimitCrossed) -> None:
        self._emit(crossing)
        if crossing.crossed and crossing.action == "restart" and watch.is_in_vain:
            text = f"triggers no more restarts until it is changed: {_IN_VAIN}."
            self._notify_once(watch.spec, "restarts_in_vain", text)
        if crossing.crossed and crossing.answered and crossing.action != "notify":
            action = cast("Action", crossing.action)
            requested_by = limit_text(watch.spec)
            is_accepted = self._request(
                ActionRequest(action, requested_by=requested_by, watch=watch, of="run")
            )
            if not is_accepted:
                # Another limit waits for the same action, which answers this one too.
                self.reset_base(watch)

    def _report_unbounded(self, watches: Iterable[LimitWatch], reading: BoundedReading) -> None:
        for watch in watches:
            if reading.value is not None and watch.threshold(reading.of) is None:
                why = (
                    f"is not monitored: the total for {watch.spec.metric} is unknown here, so a "
                    "percentage cannot be used. Set an absolute value instead."
                )
                self._notify_once(watch.spec, "limit_unbounded", why)

    def _report_too_large(self, specs: Iterable[LimitSpec]) -> None:
        """Report limits above their bound, of those just set or with a bound just read."""
        for spec in specs:
            of = self._bounds.get(spec.metric)
            if spec.value is not None and of is not None and spec.value > of:
                available = limit_amount_text(spec.metric, of)
                text = (
                    f"{limit_text(spec)} is above the {available} available to this run here, so"
                    " the run may fail before it reaches the limit. Set a lower limit, or a"
                    " percentage."
                )
                self._emit(
                    Notice(t_s=self._now_s(), level="warning", code="limit_too_large", text=text)
                )

    def _notify_once(self, spec: LimitSpec, code: str, text: str) -> None:
        if spec in self._unwatched:
            return
        self._unwatched.add(spec)
        text = f"{limit_text(spec)} {text}"
        self._emit(Notice(t_s=self._now_s(), level="warning", code=code, text=text))
