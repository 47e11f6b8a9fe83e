"""Waits for input within TensorFlow's steps: when they are read, and what they add up to.

The times between elements are read a few times a second, and represent the whole epoch. A pause,
which is a step that takes far longer than others, is read by itself: its wait must represent no
other step. TensorFlow drops times of 10 s and more. If it did, the step would count as waiting, so
it is left out.

Nothing is requested after the last step of an epoch. It waited if it took far longer than the
typical time between elements: that was its wait alone.
"""

import math
from collections import deque
from statistics import median
from typing import Final, Protocol

from kmonitor_agent.frameworks.input_timing import (
    LONGEST_GAP_S,
    MOST_GAPS,
    TYPICAL_OF,
    TensorFlowInput,
)

_READ_EACH_S: Final = 0.25
"""Time between readings of TensorFlow's wait for data, seconds: each takes 20 to 100 us."""

_LAST_TIMES: Final = 3.0
_LAST_S: Final = 0.01
"""Minimum length of a last step that waited: times that of the work in a step, and seconds."""

_FEW_READ: Final = MOST_GAPS // 4
"""Elements below which another reading is planned: many steps may follow before one by time."""

_ENOUGH_READ: Final = 0.1
"""Minimum part of an epoch's elements that represents all of them."""


class Steps(Protocol):
    """Clock of the steps, as `StepClock` is."""

    @property
    def due(self) -> bool: ...

    @due.setter
    def due(self, value: bool) -> None: ...

    @property
    def is_last(self) -> bool: ...

    @property
    def steps(self) -> int: ...

    @property
    def steps_per_tick(self) -> int: ...

    @property
    def last_begin_s(self) -> float: ...

    def due_after(self, ticks: int) -> None: ...


class GraphWaits:
    """Waits of one fit's steps; owned by its training thread.

    Attributes:
        in_pauses_s: Wait for input in the epoch's pauses, seconds.
        reads_all: True to read often enough for no step to be left out.
    """

    def __init__(self, clock: Steps) -> None:
        self._clock = clock
        self._source: TensorFlowInput | None = None
        self._waited_a_step: float | None = None
        self.reads_all = False
        self._outside_s = deque[float](maxlen=TYPICAL_OF)
        self.begin_epoch()

    def follow(self, source: object) -> None:
        """Read from this input; other kinds than TensorFlow's are not read here."""
        self._source = source if isinstance(source, TensorFlowInput) else None
        if self._source is not None:
            self._source.per_execution = self._clock.steps_per_tick

    def note_times(self, outside_s: float, shortest_s: float) -> None:
        """Note times of executions, seconds.

        Args:
            outside_s: Time from the last timed one's end to the next one's begin.
            shortest_s: Time of the shortest one; 0: unknown.
        """
        if self._source is not None:
            self._outside_s.append(outside_s)
            self._source.outside_s = median(self._outside_s)
            self._source.shortest_s = shortest_s

    def begin_epoch(self) -> None:
        self.in_pauses_s = 0.0
        self._alone_s = 0.0
        self._is_pause_unread = self._is_pause_timed = False
        self._last_wait_s = 0.0
        self._read_s = 0.0
        self._is_read_again = False
        self._read_from = math.inf

    def begin_first_step(self, now_s: float) -> None:
        if self._source is not None:
            self._source.begin_epoch(0, now_s)
            self._read_s = now_s
            self._read_soon()  # the epoch may be over before it is read by time

    def leave_out_first_step(self, now_s: float, waited_s: float) -> None:
        """Begin behind the first step, which ended now.

        Args:
            waited_s: Wait in it as far as known otherwise, seconds.
        """
        if self._source is not None:
            self._source.begin_epoch(self._clock.steps, now_s, waited_s)

    def read_due(self, now_s: float) -> None:
        """Read if it is time to, at the begin of a step before the clock counts it."""
        source = self._source
        if source is None:
            return
        if self._is_due(now_s):
            self._read_s = now_s
            is_over = self._read_gaps(source, now_s) or self._clock.is_last
            self._is_read_again = self.reads_all or not is_over
            is_few = source.elements < _FEW_READ and not (source.absent or self._clock.is_last)
            self._read_from = self._clock.steps + MOST_GAPS // 2 if is_few else math.inf
            if self._is_read_again:
                self._read_soon()
        if self._read_from < math.inf:
            # Each step that is due for others makes the clock forget the plan.
            later = int(self._read_from) - self._clock.steps
            self._clock.due_after(later // self._clock.steps_per_tick)

    def _is_due(self, now_s: float) -> bool:
        is_planned = self._is_read_again or self._clock.steps >= self._read_from
        return self._clock.is_last or is_planned or now_s - self._read_s >= _READ_EACH_S

    def pass_long(
        self, seconds: float, *, is_pause: bool, is_timed: bool, is_gap_long: bool
    ) -> None:
        """Pass a long step that has ended, at the begin of the next one.

        Args:
            is_pause: True to read its wait by itself.
            is_timed: True if the step was timed: it is then no pause of the account.
            is_gap_long: True if much of it may be time between elements.
        """
        source = self._source
        if source is None or not (is_pause or seconds >= LONGEST_GAP_S):
            return
        ended_s = self._clock.last_begin_s
        newer = self._clock.steps_per_tick
        ended = self._clock.steps - newer
        self._read(source, ended - newer, ended_s - seconds, newer)
        if seconds < LONGEST_GAP_S:
            source.begin_again(ended - newer, ended_s - seconds)
            self._is_pause_unread = self._is_read_again = True
            self._is_pause_timed = is_timed
            self._clock.due = True
        elif is_gap_long:
            source.begin_again(ended, ended_s)
        else:
            source.check_gap(ended, ended_s)
            self._read_soon()

    def end_epoch(self, last_s: float, plain_s: float) -> None:
        """Read up to the last execution of the epoch, and how long that one waited.

        Args:
            last_s: Time of the last execution, seconds; 0: unknown, or it compiled.
            plain_s: Time of a plain one, seconds; 0: unknown.
        """
        source = self._source
        newer = self._clock.steps_per_tick
        if source is None or not source.is_held:
            return
        if newer <= MOST_GAPS // 2:
            self._read(source, self._clock.steps - newer, self._clock.last_begin_s, newer)
        work_s = plain_s
        if newer == 1:
            work_s = max(0.0, source.gap_s - source.outside_s)
        if work_s > 0.0 and last_s >= max(_LAST_S, _LAST_TIMES * work_s):
            source.waited_s += last_s - work_s
            self._alone_s += last_s - work_s

    def waited_s(self, first_wait_s: float) -> float | None:
        """Wait for input of the epoch's steps, seconds; None if unknown.

        Args:
            first_wait_s: Upper limit of the first step's wait.
        """
        if self._source is None:
            return None
        source = self._source
        steps = self._clock.steps
        alone_s = self.in_pauses_s + self._alone_s
        waited_s = max(0.0, source.waited_s - alone_s)
        first_s = min(first_wait_s, waited_s)
        if source.elements >= _ENOUGH_READ * steps > 0:
            self._waited_a_step = (waited_s - first_s) / source.elements
        if self._waited_a_step is None:
            return None
        return first_s + self._waited_a_step * steps + alone_s

    def _read_gaps(self, source: TensorFlowInput, now_s: float) -> bool:
        steps = self._clock.steps
        newer = self._clock.steps_per_tick
        if (self._clock.is_last and steps == newer) or newer > MOST_GAPS // 2:
            return self._read(source, steps, now_s, 0)
        return self._read(source, steps - newer, self._clock.last_begin_s, newer)

    def _read(self, source: TensorFlowInput, elements: int, at_s: float, newer: int) -> bool:
        before_s = source.waited_s
        is_read = source.read(elements, at_s, newer)
        if is_read:
            wait_s = source.waited_s - before_s
            if self._is_pause_unread:
                # The time of a hook at the pause's begin was taken from the steps before it.
                alone_s = max(0.0, wait_s + min(0.0, self._last_wait_s))
                if self._is_pause_timed:
                    self._alone_s += alone_s
                else:
                    self.in_pauses_s += alone_s
            self._last_wait_s = wait_s
        self._is_pause_unread = False
        return is_read

    def _read_soon(self) -> None:
        """Plan a reading before TensorFlow forgets gaps between elements from now on."""
        self._is_read_again = True
        self._clock.due_after(MOST_GAPS // 2 // self._clock.steps_per_tick)
