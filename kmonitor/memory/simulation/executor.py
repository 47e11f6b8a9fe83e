"""A step played as TensorFlow's executor runs it: in the order of making, or by two threads.

Source: `tensorflow/core/common_runtime/executor.cc`, `ScheduleReady`: what is cheap runs where it
became ready; of the rest the last does too if nothing cheap did, and the others go to the
thread's own queue, newest first, where idle threads take the oldest.
"""

import heapq
from collections import deque
from random import Random
from typing import Final

from kmonitor.memory.simulation.graph import Ready, ReadyGraph, Way
from kmonitor.memory.simulation.heap import NOTHING, Value
from kmonitor.memory.simulation.step_simulation import Effects

_THREADS: Final = 2

_JITTER: Final = 0.3
"""Spread of the logarithm of what an operation takes."""


def play_in_turn(graph: ReadyGraph, effects: Effects) -> None:
    """One step with one queue, first in first out, as where all operations count as cheap."""
    run = _Run(graph, effects)
    queue = deque(run.first())
    while queue:
        place = queue.popleft()
        run.begin(place)
        queue.extend(run.end(place))
    run.finish()


def play_by_threads(
    graph: ReadyGraph, effects: Effects, random: Random, *, fetches: bool = False
) -> None:
    """One step with threads that take work from each other.

    `fetches`: whether the next step's data are made meanwhile, at any moment.
    """
    run = _Run(graph, effects)
    fetched_at = random.randrange(len(graph.operations)) if fetches else -1
    _Threads(run, random, fetched_at).play()


class _Run:
    """One step: what still waits, and the values so far."""

    def __init__(self, graph: ReadyGraph, effects: Effects) -> None:
        self.operations = graph.operations
        self.effects = effects
        self._readers = graph.readers
        self._waits = [each.waits for each in graph.operations]
        self._values: list[Value] = [NOTHING] * len(graph.readers)
        self._results = graph.results

    def first(self) -> list[int]:
        """What waits for nothing."""
        return [place for place, waits in enumerate(self._waits) if not waits]

    def begin(self, place: int) -> Ready:
        ready = self.operations[place]
        self.effects.begin(ready, self._values, self._readers)
        return ready

    def end(self, place: int) -> list[int]:
        """What can run now, in the order of making."""
        ready = self.operations[place]
        self.effects.end(ready, self._values, self._readers)
        found: list[int] = []
        for after in ready.next:
            self._waits[after] -= 1
            if not self._waits[after]:
                found.append(after)
        return found

    def fetch(self) -> None:
        """Make the next step's data."""
        self.effects.fetch(self._given())

    def finish(self) -> None:
        """Let go of results and of what was given."""
        for value in self._results:
            self.effects.release(self._values[value])
        for ready in self._given():
            self.effects.release(self._values[ready.outputs[0][0]])
        self.effects.end_step()

    def _given(self) -> list[Ready]:
        return [each for each in self.operations if each.way is Way.GIVEN]


class _Threads:
    def __init__(self, run: _Run, random: Random, fetched_at: int) -> None:
        """`fetched_at`: so many operations begin before the next data are made; negative: none."""
        self._run = run
        self._random = random
        self._until_fetched = fetched_at
        self._shared = deque(run.first())
        self._own: list[deque[int]] = [deque() for _ in range(_THREADS)]
        self._inline: list[deque[int]] = [deque() for _ in range(_THREADS)]
        self._idle = set(range(_THREADS))
        self._ends: list[tuple[float, int, int]] = []

    def play(self) -> None:
        self._wake(0.0)
        while self._ends:
            now, thread, place = heapq.heappop(self._ends)
            found = self._run.end(place)
            self._random.shuffle(found)  # a graph's edges have no order of their own
            self._schedule(thread, found)
            self._idle.add(thread)
            self._wake(now)
        self._run.finish()

    def _wake(self, now: float) -> None:
        for thread in sorted(self._idle):
            place = self._next(thread)
            if place is not None:
                self._idle.remove(thread)
                if not self._until_fetched:
                    self._run.fetch()
                self._until_fetched -= 1
                seconds = self._run.begin(place).seconds
                seconds *= self._random.lognormvariate(0.0, _JITTER)
                heapq.heappush(self._ends, (now + seconds, thread, place))

    def _next(self, thread: int) -> int | None:
        if self._inline[thread]:
            return self._inline[thread].popleft()
        if self._own[thread]:
            return self._own[thread].pop()
        if self._shared:
            return self._shared.popleft()
        for other in self._own:
            if other:
                return other.popleft()
        return None

    def _schedule(self, thread: int, found: list[int]) -> None:
        inline, last = self._inline[thread], None
        for place in found:
            if self._run.operations[place].is_cheap:
                inline.append(place)
            else:
                if last is not None:
                    self._own[thread].append(last)
                last = place
        if last is not None:
            (self._own[thread] if inline else inline).append(last)
