"""Step time from begin to begin, kept in a histogram: constant work and no memory per step."""

from bisect import bisect_left
from collections.abc import Callable
from gc import get_stats
from itertools import accumulate
from math import exp, log
from time import perf_counter
from typing import Any, Final, TypedDict

from kmonitor_agent.guard import is_from_signal_handler
from kmonitor_agent.wire.messages.events import StepTimes

_SHORTEST_S: Final = 1e-9
_LONGEST_S: Final = 1e5
_WIDTH: Final = 1.02
_PER_LOG: Final = 1.0 / log(_WIDTH)
_OFFSET: Final = -log(_SHORTEST_S) * _PER_LOG
_BUCKETS: Final = int(log(_LONGEST_S / _SHORTEST_S) * _PER_LOG) + 2
_LEAST_MEASURED: Final = 2
_LEAST_STEPS: Final = _LEAST_MEASURED + 2
"""Minimum number of steps: between begins there is one time less, and the first is excluded."""

_NEVER: Final = float("inf")

LONG_STEP_S: Final = 0.01
"""Length from which steps are timed one by one, seconds: timing takes 20 to 30 us of each."""

_MOST_COLLECTIONS: Final = 2
"""Most full garbage collections per step with some: more of them ran in short steps as well, so
they are not the reason why a step was long."""

SLOW_TIMES: Final = 3.0
"""Multiple of the median from which a step is slow."""

_BEHIND_STEPS: Final = 2.0
_BEHIND_S: Final = 0.02
_BEHIND_PART: Final = 0.1
"""A device is behind if it lags by this many steps, seconds and this part of an epoch at the last
step."""

Hook = Callable[..., None]


class _SlowSteps(TypedDict, total=False):
    """Arguments of `StepTimes` about slow steps."""

    slow: int
    slow_sum_s: float


class _CollectedSteps(TypedDict, total=False):
    """Arguments of `StepTimes` about steps with a full garbage collection."""

    collected: int
    collected_sum_s: float


class StepClock:
    """Times the steps of one fit, epoch by epoch.

    Owned by the training thread; `median_s` and `steps` may be read from another thread and are
    then at most one step old. `tick` is the only thing of ours that runs each step.

    Args:
        steps_per_execution: Number of steps between two ticks.
        on_due: Called at the begin of a step when `due`, and of the last planned step, before that
            step is timed. Our own code in it must not raise. None: no callback.
        on_long: Called with the time of each step above `LONG_STEP_S`, seconds, at the begin of
            the next step. Our own code in it must not raise. None: no callback.
        on_fault: Called with an exception raised at a step's begin; must not raise.

    Attributes:
        steps: Steps begun in the running epoch.
    """

    __slots__ = ("_collected", "_collected_sum", "_collections", "_collections_at_begin",
                 "_counts", "_due_at", "_first", "_last", "_last_tick", "_max", "_measured",
                 "_noted_from", "_on_due", "_on_fault", "_on_long", "_per_tick", "_sum",
                 "_ticks")  # fmt: skip

    def __init__(
        self,
        *,
        steps_per_execution: int = 1,
        on_due: Hook | None = None,
        on_long: Callable[[float], None] | None = None,
        on_fault: Callable[[Exception], None] | None = None,
    ) -> None:
        self._last_tick: float = _NEVER
        self._due_at: float = _NEVER
        self._on_due = on_due
        self._on_long = on_long
        self._on_fault = on_fault
        self._per_tick = max(1, steps_per_execution)
        self.begin_epoch()

    @property
    def due(self) -> bool:
        """True if `on_due` is to be called at the next step's begin; set by any thread."""
        return self._due_at == 0

    @due.setter
    def due(self, value: bool) -> None:
        # One number is compared at each step. An epoch may have more than were planned.
        self._due_at = 0 if value else self._planned_tick()

    @property
    def is_last(self) -> bool:
        """True if the step that begins next is the last planned one."""
        return self._ticks == self._last_tick

    @property
    def steps_per_tick(self) -> int:
        """Number of steps of one execution."""
        return self._per_tick

    def due_after(self, ticks: int) -> None:
        """Have `on_due` called after this many more ticks, if it is not due before."""
        later = self._ticks + max(1, ticks)
        self._due_at = min(self._due_at, self._planned_tick(), later)

    def _planned_tick(self) -> float:
        return self._last_tick if self._ticks < self._last_tick else _NEVER

    def plan(self, steps: int | None) -> None:
        """Have `on_due` called at the last step of the epoch.

        Args:
            steps: Number of steps in the epoch; None: unknown.
        """
        self._last_tick = _NEVER if not steps else max(0, -(-steps // self._per_tick) - 1)
        self.due = self.due

    @property
    def steps(self) -> int:
        """Steps begun in the running epoch."""
        return self._ticks * self._per_tick

    @property
    def last_begin_s(self) -> float:
        """Time at which the last step began, by `perf_counter`; 0: its time is left out."""
        return self._last

    def begin_epoch(self) -> None:
        """Start a new epoch without steps."""
        self._counts = [0] * _BUCKETS
        self._ticks = self._measured = 0
        self._sum = self._max = self._last = self._noted_from = self._collected_sum = 0.0
        self._first = -1.0
        self._collected = 0
        self._collections = self._collections_at_begin = _full_collections()

    def tick(self, batch: Any = None, logs: Any = None) -> None:
        """Count the begin of a step. Never raises an `Exception`: a fault goes to `on_fault`.

        Written flat: each call and each look-up here costs time at every step. A `try` is free.
        """
        if self._ticks >= self._due_at and self._on_due is not None:
            self._on_due()
        try:
            now_s = perf_counter()
            last = self._last
            self._last = now_s
            self._ticks += 1
            if last > 0.0:
                seconds = now_s - last
                if self._first < 0.0:
                    self._first = seconds
                    self._leave_out_collections()
                    return
                try:
                    self._counts[int(log(seconds) * _PER_LOG + _OFFSET)] += 1
                except (IndexError, ValueError):
                    self._counts[_BUCKETS - 1 if seconds > 1.0 else 0] += 1
                self._measured += 1
                self._sum += seconds
                if seconds > self._noted_from:
                    self._note(seconds)
        except Exception as exc:  # noqa: BLE001 - Keras calls this; counted by who made the clock
            self._failed(exc)

    def _note(self, seconds: float) -> None:
        """Note a step that is the longest so far, or a long one."""
        self._max = max(self._max, seconds)
        self._noted_from = min(self._max, LONG_STEP_S)
        before = self._collections
        self._collections = _full_collections()
        if seconds <= LONG_STEP_S:
            return
        if self._collections > before:
            self._collected += 1
            self._collected_sum += seconds
        if self._on_long is not None:
            self._on_long(seconds)

    def _failed(self, exc: Exception) -> None:
        if is_from_signal_handler(exc):
            raise exc
        if self._on_fault is not None:
            self._on_fault(exc)

    def leave_out(self, *, retraced: bool) -> None:
        """Leave out the time between the last step's begin and the next one's.

        Args:
            retraced: True if the next step traces again, so that it is left out too.
        """
        self._last = 0.0
        self._leave_out_collections()
        if retraced and self._first >= 0.0:
            self._first = -1.0

    def _leave_out_collections(self) -> None:
        """Leave out collections since the last noted step: they ran in no step that is timed."""
        before = self._collections
        self._collections = _full_collections()
        self._collections_at_begin += self._collections - before

    def median_s(self) -> float | None:
        """Median of the running epoch's steps so far; None below two measured; any thread."""
        measured = self._measured
        if measured < _LEAST_MEASURED:
            return None
        return self._at(self._counts[:], 0.5 * measured) / self._per_tick

    def why_untimed(self, planned_steps: int | None) -> str:
        """Reason why an epoch is too short to time its steps; empty if it is not, or unknown.

        Args:
            planned_steps: Number of steps in an epoch; None until known.
        """
        if planned_steps is None or -(-planned_steps // self._per_tick) >= _LEAST_STEPS:
            return ""
        noun = "step" if planned_steps == 1 else "steps"
        least = (_LEAST_STEPS - 1) * self._per_tick + 1
        return (
            f"an epoch of {planned_steps} {noun} is too short to time: {least} are needed, and"
            " the first is not counted"
        )

    def step_times(self, computed_s: float = 0.0) -> StepTimes | None:
        """Step times of the running epoch so far; None if fewer than two were measured.

        Args:
            computed_s: Time at which the last step's logs were available, by `perf_counter`; 0:
                unknown. If it is long after the step began, steps were handed to a device that was
                behind, and only their mean is known.
        """
        if self._measured < _LEAST_MEASURED:
            return None
        part = self._per_tick
        last_s = computed_s - self._last if self._last > 0.0 else 0.0
        mean_s = self._sum / self._measured
        if last_s - mean_s > max(_BEHIND_S, _BEHIND_STEPS * mean_s, _BEHIND_PART * self._sum):
            count = self._measured + 1
            first_s = self._first / part if self._first >= 0.0 else None
            mean_s = (self._sum + last_s) / count / part
            return StepTimes(count=count * part, mean_s=mean_s, first_s=first_s)
        counts = self._counts
        measured = self._measured
        median_s = self._at(counts, 0.50 * measured)
        return StepTimes(
            count=measured * part,
            mean_s=mean_s / part,
            p50_s=median_s / part,
            p95_s=self._at(counts, 0.95 * measured) / part,
            p99_s=self._at(counts, 0.99 * measured) / part,
            max_s=self._max / part,
            first_s=self._first / part if self._first >= 0.0 else None,
            **self._slow(counts, SLOW_TIMES * median_s),
            **self._with_collections(),
        )

    def _slow(self, counts: list[int], above_s: float) -> _SlowSteps:
        """Steps that took longer than `above_s`, as far as the buckets show."""
        first = max(0, int(log(max(above_s, _SHORTEST_S)) * _PER_LOG + _OFFSET) + 1)
        slow = sum(counts[first:])
        if not slow:
            return {}
        sum_s = sum(
            count * self._middle_s(bucket)
            for bucket, count in enumerate(counts[first:], first)
            if count
        )
        part = self._per_tick
        return {"slow": slow * part, "slow_sum_s": min(sum_s, self._sum)}

    def _with_collections(self) -> _CollectedSteps:
        """Long steps in which all objects were looked through for garbage."""
        n_collections = self._collections - self._collections_at_begin
        if not self._collected or n_collections > _MOST_COLLECTIONS * self._collected:
            return {}
        collected = self._collected * self._per_tick
        return {"collected": collected, "collected_sum_s": self._collected_sum}

    def _middle_s(self, bucket: int) -> float:
        return min(exp((bucket + 0.5 - _OFFSET) / _PER_LOG), self._max)

    def _at(self, counts: list[int], rank: float) -> float:
        """Middle of the bucket that holds the rank, never above the exact maximum."""
        bucket = bisect_left(list(accumulate(counts)), rank)
        return self._middle_s(bucket) if bucket < len(counts) else self._max


def _full_collections() -> int:
    """Number of full garbage collections of the process; it takes 1 us."""
    return get_stats()[-1]["collections"]
