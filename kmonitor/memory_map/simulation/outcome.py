"""What a step takes, from several plays of it: no two runs of one step take the same."""

from dataclasses import dataclass
from random import Random
from typing import Final

from kmonitor.memory_map.simulation.effects import Effects
from kmonitor.memory_map.simulation.executor import play_by_threads, play_in_turn
from kmonitor.memory_map.simulation.fixed_batch import (
    sums_in_need,
    with_constants,
    with_sums_in_turn,
)
from kmonitor.memory_map.simulation.heap import NOTHING, Heap
from kmonitor.memory_map.simulation.inlined import inlined
from kmonitor.memory_map.simulation.prepared import ReadyGraph, prepare
from kmonitor_agent.protocol.step_program import StepGraph, StepProgram

PLAYS: Final = 5
_STEPS: Final = 4
_OPERATIONS: Final = 40_000
"""So many are played for one batch, at most: half a second."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One batch played through, bytes.

    Attributes:
        peak_bytes: The mean of several plays, as data of whole batches are trained on.
        lowest_bytes: The lowest of them, of one with a single queue, and of one as data of an
            unknown batch are.
        highest_bytes: The highest of them, and of that one.
    """

    peak_bytes: int
    lowest_bytes: int
    highest_bytes: int


class Simulation:
    """Plays one program for any batch, and remembers what came out."""

    def __init__(
        self, program: StepProgram, unseen_below_bytes: int = 0, *, plays: int = PLAYS
    ) -> None:
        """`unseen_below_bytes`: smaller tensors are not counted, as by the meter of a CPU."""
        self._plays = plays
        self.program = program
        self._unseen = unseen_below_bytes
        self._open: StepGraph | None = None
        self._step_of_fixed_batch: StepGraph | None = None
        self._fixed: dict[frozenset[int], StepGraph] = {}
        self._outcomes: dict[int, Outcome] = {}

    def outcome(self, batch: int) -> Outcome:
        """What a step of a batch takes."""
        if batch not in self._outcomes:
            self._outcomes[batch] = self._played(batch)
        return self._outcomes[batch]

    def kept_bytes(self, batch: int) -> dict[str, int]:
        """What layers' forward operations made and backward ones need, by layer, at its most."""
        graph = self._prepared(batch)
        first = Heap()
        play_in_turn(graph, Effects(first, _variables(self.program, first)))
        again = Heap(stop_at=first.fullest_moment)
        play_in_turn(graph, Effects(again, _variables(self.program, again)))
        found: dict[str, int] = {}
        for owner, n_bytes in again.forward_parts:
            name = self.program.layers[owner // 4]
            found[name] = found.get(name, 0) + n_bytes
        return found

    def _played(self, batch: int) -> Outcome:
        graph = self._prepared_fixed(batch)
        if self._plays == 1:
            one = self._peak(graph, 0, steps=2)
            return Outcome(one, one, one)
        plays = _OPERATIONS // (_STEPS * max(1, len(graph.operations)))
        peaks = [self._peak(graph, seed) for seed in range(max(1, min(self._plays, plays)))]
        others = [self._peak(graph, None, steps=2)]
        if plays > 1:  # else it would take too long
            others.append(self._peak(self._prepared(batch), 0, steps=2))
        return Outcome(sum(peaks) // len(peaks), min(peaks + others), max(peaks + others[1:]))

    def _prepared(self, batch: int) -> ReadyGraph:
        """As for data whose batch is not known when the step is traced."""
        if self._open is None:
            self._open = inlined(self.program)
        return prepare(self._open, self.program.extents, batch)

    def _prepared_fixed(self, batch: int) -> ReadyGraph:
        """As for data in whole batches, which are known then: it mostly takes more."""
        sizes = [each.at(batch) for each in self.program.extents]
        step, above = self._step_of_fixed_batch, self.program.sums_above_bytes
        if step is None:
            step = with_constants(self.program.graphs[0], self.program.extents, batch)
            self._step_of_fixed_batch = step
        sums = frozenset[int]() if above is None else sums_in_need(step, sizes, above)
        if sums not in self._fixed:
            self._fixed[sums] = inlined(self.program, with_sums_in_turn(step, sums))
        return prepare(self._fixed[sums], self.program.extents, batch)

    def _peak(self, graph: ReadyGraph, seed: int | None, steps: int = _STEPS) -> int:
        """The highest of several steps behind each other; None: with a single queue."""
        heap = Heap(self._unseen)
        effects = Effects(heap, _variables(self.program, heap))
        random, found = Random(seed), 0  # noqa: S311 - no secret
        for step in range(steps):
            heap.forget_peak()
            if seed is None:
                play_in_turn(graph, effects)
            else:
                play_by_threads(graph, effects, random)
            if step:  # the first one finds the heap as no other does
                found = max(found, heap.peak_bytes)
        return found


def _variables(program: StepProgram, heap: Heap) -> list[int]:
    """Make the variables as Keras does: what is drawn is scaled and moved on the way."""
    made = [NOTHING] * len(program.variables)
    order = dict(program.made)
    order |= {place: False for place in range(len(made)) if place not in order}
    for place, is_drawn in order.items():
        size = program.variables[place]
        steps = [heap.new(size, 1, -1) for _ in range(2)] if is_drawn else []
        made[place] = heap.new(size, 1, -1)
        for each in reversed(steps):
            heap.hold(each, -1)
    return made
