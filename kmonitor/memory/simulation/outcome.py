"""What a step takes, from several plays of it: no two runs of one step take the same."""

from dataclasses import dataclass
from math import comb
from random import Random
from typing import Final

from kmonitor.memory.simulation.executor import play_by_threads, play_in_turn
from kmonitor.memory.simulation.graph import ReadyGraph
from kmonitor.memory.simulation.graphs import Graphs
from kmonitor.memory.simulation.heap import NOTHING, Heap
from kmonitor.memory.simulation.step_simulation import Effects
from kmonitor_agent.wire.messages.step_program import StepProgram

PLAYS: Final = 5
_FETCHING: Final = 2
"""In so many more plays the next step's data are made beside each step, as by a data set that
fetches ahead: they lie between other tensors, so that the allocator's pieces differ too."""

_STEPS: Final = 4
_STEPS_SEEN: Final = 5
"""A training's peak is that of its highest step, and so many are looked at."""

_OPERATIONS: Final = 40_000
"""So many are played for one batch, at most: half a second. A longer step is played once."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One batch played through, bytes.

    Attributes:
        peak_bytes: Of the highest of some steps, on average over several plays, as data of whole
            batches are trained on.
        lowest_bytes: The lowest of them, of one with a single queue, and of one as data of an
            unknown batch are.
        highest_bytes: The highest of them, of that one, and of some beside which the next batch
            is made.
    """

    peak_bytes: int
    lowest_bytes: int
    highest_bytes: int


class Simulation:
    """Plays one program for any batch, and remembers what came out."""

    def __init__(
        self,
        program: StepProgram,
        unseen_below_bytes: int = 0,
        *,
        plays: int = PLAYS,
        graphs: Graphs | None = None,
    ) -> None:
        """`unseen_below_bytes`: smaller tensors are not counted, as by the meter of a CPU.

        `graphs` are the program's, where another simulation has them too.
        """
        self._plays = plays
        self.program = program
        self._unseen = unseen_below_bytes
        self._graphs = graphs or Graphs(program)
        self._outcomes: dict[int, Outcome] = {}

    def outcome(self, batch: int) -> Outcome:
        """What a step of a batch takes."""
        if batch not in self._outcomes:
            self._outcomes[batch] = self._played(batch)
        return self._outcomes[batch]

    def kept_bytes(self, batch: int) -> dict[str, int]:
        """What layers' forward operations made and backward ones need, by layer, at its most."""
        graph = self._graphs.of_fixed_batch(batch)
        heap = Heap(follows_forward=True)
        play_in_turn(graph, Effects(heap, _variables(self.program, heap)))
        found: dict[str, int] = {}
        for owner, n_bytes in heap.forward_parts():
            name = self.program.layers[owner // 4]
            found[name] = found.get(name, 0) + n_bytes
        return found

    def _played(self, batch: int) -> Outcome:
        graph = self._graphs.of_fixed_batch(batch)
        plays = _OPERATIONS // (_STEPS * max(1, len(graph.operations)))
        if self._plays == 1 or not plays:
            one = max(self._peaks(graph, 0, steps=2 if self._plays == 1 else 3))
            return Outcome(one, one, one)
        peaks = [self._peaks(graph, seed) for seed in range(min(self._plays, plays))]
        fetching = [self._peaks(graph, seed, fetches=True)
                    for seed in range(min(_FETCHING, plays - self._plays))]  # fmt: skip
        others = self._peaks(graph, None, steps=2)
        if plays > 1:  # else it would take too long
            others += self._peaks(self._graphs.of_open_batch(batch), 0, steps=2)
        highest = [max(each) for each in peaks + fetching]
        foretold = expected_highest([each for play in peaks for each in play])
        return Outcome(foretold, min(highest + others), max(highest + others[1:]))

    def _peaks(
        self, graph: ReadyGraph, seed: int | None, steps: int = _STEPS, *, fetches: bool = False
    ) -> list[int]:
        """Of several steps behind each other, without the first; None: with a single queue."""
        heap = Heap(self._unseen)
        effects = Effects(heap, _variables(self.program, heap))
        random, found = Random(seed), list[int]()  # noqa: S311 - no secret
        for step in range(steps):
            heap.forget_peak()
            if seed is None:
                play_in_turn(graph, effects)
            else:
                play_by_threads(graph, effects, random, fetches=fetches)
            if step:  # the first one finds the heap as no other does
                found.append(heap.peak_bytes)
        return found


def expected_highest(peaks: list[int]) -> int:
    """What the highest of five steps is on average, of steps that are as likely as each other."""
    seen = min(_STEPS_SEEN, len(peaks))
    ways = [comb(below, seen - 1) for below in range(len(peaks))]
    return sum(way * peak for way, peak in zip(ways, sorted(peaks), strict=True)) // sum(ways)


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
