"""A program's step as a graph that can be played, for one batch after the other."""

from kmonitor.memory.simulation.graph import ReadyGraph, prepare
from kmonitor.memory.simulation.grappler import (
    sums_in_need,
    with_constants,
    with_sums_in_turn,
)
from kmonitor.memory.simulation.inlined import inlined
from kmonitor_agent.wire.messages.step_program import StepGraph, StepProgram


class Graphs:
    """Makes them, and remembers the last of each kind: several are asked for the same one."""

    def __init__(self, program: StepProgram) -> None:
        self._program = program
        self._open: StepGraph | None = None
        self._step_of_fixed_batch: StepGraph | None = None
        self._fixed: dict[frozenset[int], StepGraph] = {}
        self._last: dict[bool, tuple[int, ReadyGraph]] = {}

    def of_open_batch(self, batch: int) -> ReadyGraph:
        """As for data whose batch is not known when the step is traced."""
        last = self._last.get(False)
        if last is None or last[0] != batch:
            if self._open is None:
                self._open = inlined(self._program)
            last = batch, prepare(self._open, self._program.extents, batch)
            self._last[False] = last
        return last[1]

    def of_fixed_batch(self, batch: int) -> ReadyGraph:
        """As for data in whole batches, which are known then: it mostly takes more."""
        last = self._last.get(True)
        if last is None or last[0] != batch:
            last = batch, self._with_batch(batch)
            self._last[True] = last
        return last[1]

    def _with_batch(self, batch: int) -> ReadyGraph:
        program = self._program
        sizes = [each.at(batch) for each in program.extents]
        step, above = self._step_of_fixed_batch, program.sums_above_bytes
        if step is None:
            step = with_constants(program.graphs[0], program.extents, batch)
            self._step_of_fixed_batch = step
        sums = frozenset[int]() if above is None else sums_in_need(step, sizes, above)
        if sums not in self._fixed:
            self._fixed[sums] = inlined(program, with_sums_in_turn(step, sums))
        return prepare(self._fixed[sums], program.extents, batch)
